package rayjob

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/internal/testing/raytest"
	"github.com/raygate/raygate/operator/internal/build/pod"
	"github.com/raygate/raygate/operator/internal/build/service"
	"github.com/raygate/raygate/operator/internal/dashboards"
	"github.com/raygate/raygate/operator/internal/jobplan"
	"github.com/raygate/raygate/pkg/dashboard"
	"github.com/raygate/raygate/pkg/dashboard/dashboardfake"
	"github.com/raygate/raygate/test/controlplane"
)

var errKilled = errors.New("the operator was killed")

// stage is a RayJob without an API server, whose operator is killed after one of its writes, before it learns of its success. A
// request to a dashboard that changes something counts as a write.
type stage struct {
	t      *testing.T
	store  client.WithWatch // for the test itself
	dash   *dashboardfake.Dashboard
	r      *Reconciler
	cancel context.CancelFunc

	mu     sync.Mutex
	writes int
	killAt int // the number of the write after which the operator dies; 0 for never
	dead   bool
	made   map[string]int // creations by kind and name
	log    []string
	uid    int
}

// Eventf implements events.EventRecorder.
func (*stage) Eventf(_, _ runtime.Object, _, _, _, _ string, _ ...any) {}

func newStage(t *testing.T, killAt int, objects ...client.Object) *stage {
	t.Helper()
	st := &stage{t: t, dash: dashboardfake.New(clock.RealClock{}), killAt: killAt, made: map[string]int{}}
	st.store = raytest.FakeClient(controlplane.Scheme(t)).
		WithStatusSubresource(&rayv1.RayJob{}, &rayv1.RayCluster{}, &batchv1.Job{}, &corev1.Pod{}).WithObjects(objects...).Build()
	st.restart()
	t.Cleanup(func() { st.cancel() })
	return st
}

// write is one write of the operator.
func (s *stage) write(what string, do func() error) error {
	s.mu.Lock()
	if s.dead {
		s.mu.Unlock()
		return errKilled
	}
	s.writes++
	now := s.writes == s.killAt
	if now {
		s.dead = true
		what += " (killed)"
	}
	s.log = append(s.log, what)
	s.mu.Unlock()
	err := do()
	if now {
		return errKilled
	}
	return err
}

// restart replaces the operator by one that knows nothing.
func (s *stage) restart() {
	if s.cancel != nil {
		s.cancel()
	}
	s.mu.Lock()
	s.dead = false
	s.mu.Unlock()
	what := func(verb string, o client.Object) string { return fmt.Sprintf("%s %T %s", verb, o, o.GetName()) }
	c := interceptor.NewClient(s.store, interceptor.Funcs{
		Create: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.CreateOption) error {
			return s.write(what("create", o), func() error {
				s.mu.Lock()
				s.uid++
				o.SetUID(types.UID(fmt.Sprint("uid-", s.uid)))
				o.SetCreationTimestamp(metav1.Now())
				s.mu.Unlock()
				err := c.Create(ctx, o, opts...)
				if err == nil {
					s.mu.Lock()
					s.made[fmt.Sprintf("%T", o)]++
					s.mu.Unlock()
				}
				return err
			})
		},
		Delete: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.DeleteOption) error {
			return s.write(what("delete", o), func() error { return c.Delete(ctx, o) })
		},
		Patch: func(ctx context.Context, c client.WithWatch, o client.Object, p client.Patch, opts ...client.PatchOption) error {
			return s.write(what("patch", o), func() error { return c.Patch(ctx, o, p, opts...) })
		},
		SubResourceUpdate: func(ctx context.Context, c client.Client, sub string, o client.Object, opts ...client.SubResourceUpdateOption) error {
			return s.write(what("update "+sub, o), func() error { return c.SubResource(sub).Update(ctx, o, opts...) })
		},
	})
	limits := jobplan.DefaultLimits()
	limits.Retry = time.Millisecond
	s.r = New(Config{
		Client: c, Live: c, Recorder: s, Clock: clock.RealClock{}, PollInterval: 2 * time.Millisecond, Limits: limits,
		Connect: func(dashboards.Address, dashboard.Token) (dashboard.Client, error) { return &mortal{s.dash, s}, nil },
	})
	var ctx context.Context
	ctx, s.cancel = context.WithCancel(context.Background())
	go func(p *poller) { _ = p.Start(ctx) }(s.r.poller)
}

// mortal counts what a dashboard is asked to do.
type mortal struct {
	*dashboardfake.Dashboard
	stage *stage
}

// SubmitJob implements dashboard.Client.
func (m *mortal) SubmitJob(ctx context.Context, sub dashboard.Submission) (id string, err error) {
	err = m.stage.write("submit "+sub.SubmissionID, func() (err error) {
		id, err = m.Dashboard.SubmitJob(ctx, sub)
		return err
	})
	return id, err
}

// StopJob implements dashboard.Client.
func (m *mortal) StopJob(ctx context.Context, id string) (stopped bool, err error) {
	err = m.stage.write("stop "+id, func() (err error) {
		stopped, err = m.Dashboard.StopJob(ctx, id)
		return err
	})
	return stopped, err
}

var demo = types.NamespacedName{Namespace: "default", Name: "demo"}

// get is nil for a RayJob that is gone.
func (s *stage) get() *rayv1.RayJob {
	s.t.Helper()
	j := &rayv1.RayJob{}
	err := s.store.Get(context.Background(), demo, j)
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		s.t.Fatal(err)
	}
	return j
}

// play reconciles, and restarts the operator when it is dead, until the story is over. Between two reconciles others act: the
// controller of RayClusters, the submitter, Ray and the user.
func (s *stage) play(user func(*rayv1.RayJob), over func(*rayv1.RayJob) bool, outcomes ...dashboard.Status) {
	s.t.Helper()
	for range 4000 {
		j := s.get()
		if over(j) {
			return
		}
		_, err := s.r.Reconcile(context.Background(), ctrl.Request{NamespacedName: demo})
		s.mu.Lock()
		dead := s.dead
		s.mu.Unlock()
		if dead {
			s.restart()
		} else if err != nil {
			s.t.Fatalf("reconcile: %v\n%s", err, strings.Join(s.log, "\n"))
		}
		if j = s.get(); j != nil {
			s.others(j, outcomes)
			user(j)
		}
		time.Sleep(time.Millisecond)
	}
	s.t.Fatalf("the story does not end: %+v\n%s", s.get(), strings.Join(s.log, "\n"))
}

// others act as far as they can.
func (s *stage) others(j *rayv1.RayJob, outcomes []dashboard.Status) {
	s.t.Helper()
	ctx, must := context.Background(), func(err error) {
		if err != nil {
			s.t.Fatal(err)
		}
	}
	rc := &rayv1.RayCluster{}
	if err := s.store.Get(ctx, client.ObjectKey{Namespace: "default", Name: j.Status.RayClusterName}, rc); err != nil {
		return
	}
	if rc.Status.State != rayv1.ClusterStateReady {
		must(client.IgnoreAlreadyExists(s.store.Create(ctx, service.Head(rc, service.Options{}))))
		if j.Spec.SubmissionMode == rayv1.SidecarMode {
			head := pod.Head(rc, pod.Options{DeterministicHeadName: true})
			head.Name = rc.Name + "-head"
			must(client.IgnoreAlreadyExists(s.store.Create(ctx, head)))
		}
		rc.Status.State = rayv1.ClusterStateReady
		must(s.store.Status().Update(ctx, rc))
		return
	}
	submitter := &batchv1.Job{}
	hasJob := s.store.Get(ctx, demo, submitter) == nil
	sidecar := j.Spec.SubmissionMode == rayv1.SidecarMode && j.Status.JobDeploymentStatus == rayv1.JobDeploymentStatusRunning
	if hasJob || sidecar {
		_, _ = s.dash.SubmitJob(ctx, dashboard.Submission{Entrypoint: "x", SubmissionID: j.Status.JobId}) // if it has not
	}
	s.dash.Set(j.Status.JobId, dashboard.Running, "")
	if j.Status.JobStatus != rayv1.JobStatusRunning || len(outcomes) == 0 {
		return
	}
	attempt := 0
	if j.Status.Failed != nil {
		attempt = int(*j.Status.Failed)
	}
	s.dash.Set(j.Status.JobId, outcomes[min(attempt, len(outcomes)-1)], "the end")
	if hasJob {
		submitter.Status.Conditions = []batchv1.JobCondition{{Type: batchv1.JobComplete, Status: corev1.ConditionTrue, LastTransitionTime: metav1.Now()}}
		must(s.store.Status().Update(ctx, submitter))
	}
	if sidecar {
		head := &corev1.Pod{}
		must(s.store.Get(ctx, client.ObjectKey{Namespace: "default", Name: rc.Name + "-head"}, head))
		head.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: rayv1.ContainerJobSubmitter, State: corev1.ContainerState{
			Terminated: &corev1.ContainerStateTerminated{FinishedAt: metav1.Now()},
		}}}
		must(s.store.Status().Update(ctx, head))
	}
}

func (s *stage) clusters() int {
	s.t.Helper()
	var list rayv1.RayClusterList
	if err := s.store.List(context.Background(), &list); err != nil {
		s.t.Fatal(err)
	}
	return len(list.Items)
}

func storyJob(m rayv1.JobSubmissionMode) *rayv1.RayJob {
	return &rayv1.RayJob{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "demo", UID: "job", Generation: 1},
		Spec: rayv1.RayJobSpec{
			Entrypoint: "x", SubmissionMode: m, ShutdownAfterJobFinishes: true, BackoffLimit: new(int32(1)),
			RayClusterSpec: &raytest.RayCluster("x/y").Spec,
		},
	}
}

func finished(j *rayv1.RayJob) bool { return j.Status.JobDeploymentStatus.IsTerminal() }

// TestOperatorIsKilledAnywhere plays each story with an operator that lives, and then as often as that one wrote in it, killed each time after
// another write.
func TestOperatorIsKilledAnywhere(t *testing.T) {
	modes := []rayv1.JobSubmissionMode{rayv1.K8sJobMode, rayv1.HTTPMode, rayv1.SidecarMode}
	nothing := func(*stage) func(*rayv1.RayJob) { return func(*rayv1.RayJob) {} }
	stories := map[string]struct {
		user     func(*stage) func(*rayv1.RayJob)
		outcomes []dashboard.Status
		deleted  bool
		want     rayv1.JobDeploymentStatus
		attempts int
		failed   int32
	}{
		"success":         {user: nothing, outcomes: []dashboard.Status{dashboard.Succeeded}, want: rayv1.JobDeploymentStatusComplete, attempts: 1},
		"success at last": {user: nothing, outcomes: []dashboard.Status{dashboard.Failed, dashboard.Succeeded}, want: rayv1.JobDeploymentStatusComplete, attempts: 2, failed: 1},
		"failure":         {user: nothing, outcomes: []dashboard.Status{dashboard.Failed}, want: rayv1.JobDeploymentStatusFailed, attempts: 2, failed: 2},
		"suspension":      {user: suspendOnce, outcomes: []dashboard.Status{dashboard.Succeeded}, want: rayv1.JobDeploymentStatusComplete, attempts: 2},
		"deletion":        {user: deleteWhenRunning, deleted: true, attempts: 1},
	}
	for name, story := range stories {
		for _, mode := range modes {
			if mode == rayv1.SidecarMode && story.attempts > 1 {
				continue // a second attempt is as in K8sJobMode
			}
			t.Run(name+" in "+string(mode), func(t *testing.T) {
				t.Parallel()
				over := func(s *stage) func(*rayv1.RayJob) bool {
					return func(j *rayv1.RayJob) bool {
						if story.deleted {
							return j == nil
						}
						return finished(j) && s.clusters() == 0
					}
				}
				total := 0
				for killAt := 0; killAt <= total; killAt++ {
					s := newStage(t, killAt, storyJob(mode))
					outcomes := story.outcomes
					if name == "suspension" {
						outcomes = nil // until it is resumed
					}
					user := story.user(s)
					if name == "suspension" {
						s.play(user, func(*rayv1.RayJob) bool { return s.r == nil || resumed(s) })
						outcomes = story.outcomes
					}
					s.play(user, over(s), outcomes...)
					if killAt == 0 {
						total = s.writes
					}
					what := fmt.Sprintf("killed after write %d:\n%s", killAt, strings.Join(s.log, "\n"))
					if j := s.get(); j != nil && (j.Status.JobDeploymentStatus != story.want || *j.Status.Failed != story.failed) {
						t.Fatalf("%s, failed %d, want %s and %d; %s", j.Status.JobDeploymentStatus, *j.Status.Failed, story.want, story.failed, what)
					}
					if got := s.made["*v1.RayCluster"]; got != story.attempts {
						t.Fatalf("%d clusters, want %d; %s", got, story.attempts, what)
					}
					wantJobs := story.attempts
					if mode != rayv1.K8sJobMode {
						wantJobs = 0
					}
					if got := s.made["*v1.Job"]; got != wantJobs {
						t.Fatalf("%d Jobs, want %d; %s", got, wantJobs, what)
					}
					jobs, err := s.dash.ListJobs(t.Context())
					if err != nil || len(jobs) != story.attempts {
						t.Fatalf("%d Ray jobs, want %d; %s", len(jobs), story.attempts, what)
					}
					for _, ray := range jobs {
						if n := s.dash.Submissions(ray.SubmissionID); n != 1 || !ray.Status.Final() {
							t.Fatalf("Ray job %s is %s and was submitted %d times; %s", ray.SubmissionID, ray.Status, n, what)
						}
					}
				}
				t.Logf("%d writes", total)
			})
		}
	}
}

const resumedLabel = "resumed"

func resumed(s *stage) bool {
	j := s.get()
	return j != nil && j.Labels[resumedLabel] != ""
}

// suspendOnce suspends the job when it runs, and resumes it when it is suspended.
func suspendOnce(s *stage) func(*rayv1.RayJob) {
	return func(j *rayv1.RayJob) {
		switch {
		case !resumed(s) && !j.Spec.Suspend && j.Status.JobStatus == rayv1.JobStatusRunning:
			j.Spec.Suspend = true
		case j.Status.JobDeploymentStatus == rayv1.JobDeploymentStatusSuspended && j.Spec.Suspend:
			j.Spec.Suspend = false
			j.Labels = map[string]string{resumedLabel: "yes"}
		default:
			return
		}
		if err := s.store.Update(context.Background(), j); err != nil {
			s.t.Fatal(err)
		}
	}
}

// deleteWhenRunning deletes the RayJob when Ray runs it. Its children would be collected.
func deleteWhenRunning(s *stage) func(*rayv1.RayJob) {
	return func(j *rayv1.RayJob) {
		if j.DeletionTimestamp == nil && j.Status.JobStatus == rayv1.JobStatusRunning {
			if err := s.store.Delete(context.Background(), j); err != nil {
				s.t.Fatal(err)
			}
		}
	}
}
