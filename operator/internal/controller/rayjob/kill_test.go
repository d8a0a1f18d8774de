package rayjob

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
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
	"github.com/raygate/raygate/pkg/validation"
)

var errKilled = errors.New("the operator was killed")

// stage is a RayJob without an API server, whose operator is killed after one of its writes, before it learns of its success. A
// request to a dashboard that changes something counts as a write. A stage lives in a bubble of testing/synctest: the clock moves
// when everybody waits.
type stage struct {
	t      *testing.T
	store  client.WithWatch // for the test itself
	dash   *dashboardfake.Dashboard
	r      *Reconciler
	cancel context.CancelFunc
	ended  chan struct{}
	change func(*Config) // nil for none

	mu     sync.Mutex
	writes int
	killAt int // the number of the write after which the operator dies; 0 for never
	dead   bool
	made   map[string]int // creations by kind and name
	log    []string
	events []string // their reasons
	uid    int
	// ownSubmitter says that the test plays the submitter, and incomplete that clusters have a head but are not ready.
	ownSubmitter, incomplete bool
}

// Eventf implements events.EventRecorder.
func (s *stage) Eventf(_, _ runtime.Object, _, reason, _, _ string, _ ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.events = append(s.events, reason)
}

// stageScheme knows the kinds of Kubernetes and of Ray.
var stageScheme = sync.OnceValues(func() (*runtime.Scheme, error) {
	scheme := runtime.NewScheme()
	return scheme, errors.Join(clientgoscheme.AddToScheme(scheme), rayv1.AddToScheme(scheme))
})

// stageStore is an API server of a stage.
func stageStore(t *testing.T, objects ...client.Object) client.WithWatch {
	t.Helper()
	scheme, err := stageScheme()
	if err != nil {
		t.Fatal(err)
	}
	return raytest.FakeClient(scheme).WithStatusSubresource(&rayv1.RayJob{}, &rayv1.RayCluster{}, &batchv1.Job{}, &corev1.Pod{}).WithObjects(objects...).Build()
}

func newStage(t *testing.T, killAt int, objects ...client.Object) *stage {
	t.Helper()
	st := &stage{t: t, dash: dashboardfake.New(clock.RealClock{}), killAt: killAt, made: map[string]int{}}
	st.store = stageStore(t, objects...)
	st.restart()
	t.Cleanup(func() { st.stop() })
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

func (s *stage) stop() {
	if s.cancel != nil {
		s.cancel()
		<-s.ended
		s.cancel = nil
	}
}

// restart replaces the operator by one that knows nothing.
func (s *stage) restart() {
	s.stop()
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
	config := Config{
		Client: c, Live: c, Recorder: s, Clock: clock.RealClock{}, Limits: jobplan.DefaultLimits(),
		Validation: validation.Options{Gates: map[validation.Gate]bool{validation.GateDeletionPolicy: true}},
		Connect:    func(dashboards.Address, dashboard.Token) (dashboard.Client, error) { return &mortal{s.dash, s}, nil },
	}
	if s.change != nil {
		s.change(&config)
	}
	s.r = New(config)
	var ctx context.Context
	ctx, s.cancel = context.WithCancel(context.Background())
	s.ended = make(chan struct{})
	go func(p *poller, ended chan struct{}) {
		defer close(ended)
		_ = p.Start(ctx)
	}(s.r.poller, s.ended)
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
	s.must(err)
	return j
}

// play reconciles, and restarts the operator when it is dead, until the story is over. Between two reconciles others act: the
// controller of RayClusters, the submitter, Ray and the user.
func (s *stage) play(user func(*rayv1.RayJob), over func(*rayv1.RayJob) bool, outcomes ...dashboard.Status) {
	s.t.Helper()
	for range 2000 {
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
		time.Sleep(time.Second)
	}
	s.t.Fatalf("the story does not end: %+v\n%s", s.get(), strings.Join(s.log, "\n"))
}

// others act as far as they can.
func (s *stage) others(j *rayv1.RayJob, outcomes []dashboard.Status) {
	s.t.Helper()
	ctx := context.Background()
	rc := &rayv1.RayCluster{}
	if err := s.store.Get(ctx, client.ObjectKey{Namespace: "default", Name: j.Status.RayClusterName}, rc); err != nil {
		return
	}
	if rc.Status.State != rayv1.ClusterStateReady {
		s.must(client.IgnoreAlreadyExists(s.store.Create(ctx, service.Head(rc, service.Options{}))))
		if j.Spec.SubmissionMode == rayv1.SidecarMode {
			head := pod.Head(rc, pod.Options{DeterministicHeadName: true})
			head.Name = rc.Name + "-head"
			s.must(client.IgnoreAlreadyExists(s.store.Create(ctx, head)))
		}
		if !s.incomplete {
			rc.Status.State = rayv1.ClusterStateReady
			s.must(s.store.Status().Update(ctx, rc))
		}
		return
	}
	submitter := &batchv1.Job{}
	hasJob := s.store.Get(ctx, demo, submitter) == nil
	sidecar := j.Spec.SubmissionMode == rayv1.SidecarMode && j.Status.JobDeploymentStatus == rayv1.JobDeploymentStatusRunning
	if (hasJob && !s.ownSubmitter || sidecar) && j.Status.JobStatus == "" {
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
		s.must(s.store.Status().Update(ctx, submitter))
	}
	if sidecar {
		head := &corev1.Pod{}
		s.must(s.store.Get(ctx, client.ObjectKey{Namespace: "default", Name: rc.Name + "-head"}, head))
		head.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: rayv1.ContainerJobSubmitter, State: corev1.ContainerState{
			Terminated: &corev1.ContainerStateTerminated{FinishedAt: metav1.Now()},
		}}}
		s.must(s.store.Status().Update(ctx, head))
	}
}

// look has the operator reconcile once.
func (s *stage) look() {
	s.t.Helper()
	_, err := s.r.Reconcile(context.Background(), ctrl.Request{NamespacedName: demo})
	s.must(err)
}

func (s *stage) endSubmitter(how batchv1.JobConditionType, at time.Time) {
	s.t.Helper()
	submitter := &batchv1.Job{}
	s.must(s.store.Get(s.t.Context(), demo, submitter))
	submitter.Status.Conditions = []batchv1.JobCondition{{Type: how, Status: corev1.ConditionTrue, LastTransitionTime: metav1.NewTime(at)}}
	s.must(s.store.Status().Update(s.t.Context(), submitter))
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

// jobStory is what happens to a RayJob.
type jobStory struct {
	mode     rayv1.JobSubmissionMode
	spec     func(*rayv1.RayJobSpec)
	user     func(*stage) func(*rayv1.RayJob) // nil for one who only watches
	ready    func(*stage) bool                // nil, or when Ray begins to end the job
	outcomes []dashboard.Status               // of the attempts; none if Ray never ends it
	deleted  bool
	want     rayv1.JobDeploymentStatus
	reason   rayv1.JobFailedReason
	attempts int
	failed   int32
}

// killStories are by name and mode.
func killStories() map[string]jobStory {
	all := map[string]jobStory{}
	for name, story := range map[string]jobStory{
		"success":         {outcomes: []dashboard.Status{dashboard.Succeeded}, want: rayv1.JobDeploymentStatusComplete, attempts: 1},
		"success at last": {outcomes: []dashboard.Status{dashboard.Failed, dashboard.Succeeded}, want: rayv1.JobDeploymentStatusComplete, attempts: 2, failed: 1},
		"failure":         {outcomes: []dashboard.Status{dashboard.Failed}, want: rayv1.JobDeploymentStatusFailed, reason: rayv1.AppFailed, attempts: 2, failed: 2},
		"suspension":      {user: suspendOnce, ready: resumed, outcomes: []dashboard.Status{dashboard.Succeeded}, want: rayv1.JobDeploymentStatusComplete, attempts: 2},
		"deletion":        {user: deleteWhenRunning, deleted: true, attempts: 1},
		"deadline": {
			spec: func(s *rayv1.RayJobSpec) { s.ActiveDeadlineSeconds = new(int32(60)) },
			want: rayv1.JobDeploymentStatusFailed, reason: rayv1.DeadlineExceeded, attempts: 1, failed: 1,
		},
	} {
		for _, mode := range []rayv1.JobSubmissionMode{rayv1.K8sJobMode, rayv1.HTTPMode, rayv1.SidecarMode} {
			if mode != rayv1.SidecarMode || story.attempts == 1 { // a second attempt is as in K8sJobMode
				story.mode = mode
				all[name+" in "+string(mode)] = story
			}
		}
	}
	return all
}

// TestOperatorIsKilledAnywhere plays each story with an operator that lives, and then as often as that one wrote in it, killed each time after
// another write; with -short after each third, which are others for each story.
func TestOperatorIsKilledAnywhere(t *testing.T) {
	stories := killStories()
	for i, name := range slices.Sorted(maps.Keys(stories)) {
		story := stories[name]
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			total := story.live(t, 0)
			step := 1
			if testing.Short() {
				step = 3
			}
			for killAt := 1 + i%step; killAt <= total && !t.Failed(); killAt += step {
				story.live(t, killAt)
			}
			t.Logf("%d writes", total)
		})
	}
}

// live plays a story, and returns the number of writes.
func (story jobStory) live(t *testing.T, killAt int) (writes int) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		j := storyJob(story.mode)
		if story.spec != nil {
			story.spec(&j.Spec)
		}
		s := newStage(t, killAt, j)
		user := onlooker
		if story.user != nil {
			user = story.user(s)
		}
		if story.ready != nil {
			s.play(user, func(*rayv1.RayJob) bool { return story.ready(s) })
		}
		s.play(user, func(j *rayv1.RayJob) bool {
			if story.deleted {
				return j == nil
			}
			return finished(j) && s.clusters() == 0
		}, story.outcomes...)
		writes = s.writes
		story.check(s, fmt.Sprintf("killed after write %d:\n%s", killAt, strings.Join(s.log, "\n")))
	})
	return writes
}

// check looks at the end of a story.
func (story jobStory) check(s *stage, what string) {
	s.t.Helper()
	if j := s.get(); j != nil {
		if st := &j.Status; st.JobDeploymentStatus != story.want || st.Reason != story.reason || *st.Failed != story.failed {
			s.t.Errorf("%s for %q, failed %d, want %s for %q and %d; %s", st.JobDeploymentStatus, st.Reason, *st.Failed, story.want, story.reason, story.failed, what)
		}
		svc := &corev1.Service{}
		if err := s.store.Get(s.t.Context(), client.ObjectKey{Namespace: "default", Name: "demo-head-svc"}, svc); err != nil ||
			svc.Spec.Selector[rayv1.LabelCluster] != j.Status.RayClusterName {
			s.t.Errorf("the Service of the job leads to %v, want the last cluster, %s: %v; %s", svc.Spec.Selector, j.Status.RayClusterName, err, what)
		}
	}
	if got := s.made["*v1.RayCluster"]; got != story.attempts {
		s.t.Errorf("%d clusters, want %d; %s", got, story.attempts, what)
	}
	wantJobs := story.attempts
	if story.mode != rayv1.K8sJobMode {
		wantJobs = 0
	}
	if got := s.made["*v1.Job"]; got != wantJobs {
		s.t.Errorf("%d Jobs, want %d; %s", got, wantJobs, what)
	}
	if story.mode == rayv1.K8sJobMode && story.failed > 0 && story.attempts == 2 && s.killAt == 0 { // the old attempt goes before the next
		var order []string
		for _, line := range s.log {
			if verb, o, _ := strings.Cut(line, " "); strings.HasPrefix(o, "*v1.RayCluster") || strings.HasPrefix(o, "*v1.Job") {
				order = append(order, verb+" "+strings.Fields(o)[0])
			}
		}
		const one, gone = "create *v1.RayCluster, create *v1.Job, ", "delete *v1.RayCluster, delete *v1.Job, "
		if got := strings.Join(order, ", "); !strings.HasPrefix(got, one+gone+one) {
			s.t.Errorf("writes %s", got)
		}
	}
	jobs, err := s.dash.ListJobs(s.t.Context())
	if err != nil || len(jobs) != story.attempts {
		s.t.Errorf("%d Ray jobs, want %d; %s", len(jobs), story.attempts, what)
	}
	for _, ray := range jobs {
		if n := s.dash.Submissions(ray.SubmissionID); n != 1 || !ray.Status.Final() {
			s.t.Errorf("Ray job %s is %s and was submitted %d times; %s", ray.SubmissionID, ray.Status, n, what)
		}
	}
}

// onlooker is a user who changes nothing.
func onlooker(*rayv1.RayJob) {}

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
