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
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/internal/testing/raytest"
	"github.com/raygate/raygate/internal/testing/testclient"
	"github.com/raygate/raygate/operator/internal/build/pod"
	"github.com/raygate/raygate/operator/internal/build/service"
	"github.com/raygate/raygate/operator/internal/dashboards"
	"github.com/raygate/raygate/operator/internal/jobplan"
	"github.com/raygate/raygate/pkg/dashboard"
	"github.com/raygate/raygate/pkg/dashboard/dashboardfake"
	"github.com/raygate/raygate/pkg/validation"
)

// stage is a RayJob without an API server. It lives in a bubble of testing/synctest: the clock moves when everybody waits. What an operator that is
// killed amid its writes makes of a RayJob is shown by operator/simulation.
type stage struct {
	t      *testing.T
	store  client.WithWatch // for the test itself
	dash   *dashboardfake.Dashboard
	r      *Reconciler
	asking raytest.Background // the poller
	change func(*Config)      // nil for none

	mu     sync.Mutex
	made   map[string]int // creations by kind
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
	return testclient.Fake(scheme).WithStatusSubresource(&rayv1.RayJob{}, &rayv1.RayCluster{}, &batchv1.Job{}, &corev1.Pod{}).WithObjects(objects...).Build()
}

func newStage(t *testing.T, objects ...client.Object) *stage {
	t.Helper()
	st := &stage{t: t, dash: dashboardfake.New(clock.RealClock{}), made: map[string]int{}}
	st.store = stageStore(t, objects...)
	st.restart()
	t.Cleanup(st.asking.Stop)
	return st
}

// note notes a write of the operator. A request to a dashboard that changes something is one.
func (s *stage) note(what string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.log = append(s.log, what)
}

// restart replaces the operator by one that knows nothing.
func (s *stage) restart() {
	s.asking.Stop()
	c := testclient.Around(s.store, func(verb string, o client.Object, write func() error) error {
		s.note(fmt.Sprintf("%s %T %s", verb, o, o.GetName()))
		if verb != "create" {
			return write()
		}
		s.mu.Lock()
		s.uid++
		o.SetUID(types.UID(fmt.Sprint("uid-", s.uid)))
		o.SetCreationTimestamp(metav1.Now())
		s.mu.Unlock()
		err := write()
		if err == nil {
			s.mu.Lock()
			s.made[fmt.Sprintf("%T", o)]++
			s.mu.Unlock()
		}
		return err
	})
	config := Config{
		Client: c, Live: c, Recorder: s, Clock: clock.RealClock{}, Limits: jobplan.DefaultLimits(),
		Validation: validation.Options{Gates: map[validation.Gate]bool{validation.GateDeletionPolicy: true}},
		Connect:    func(dashboards.Address, dashboard.Token) (dashboard.Client, error) { return &noted{s.dash, s}, nil },
	}
	if s.change != nil {
		s.change(&config)
	}
	s.r = New(config)
	s.asking.Start(s.r.tracker.poller.Start)
}

// noted notes what a dashboard is asked to do.
type noted struct {
	*dashboardfake.Dashboard
	stage *stage
}

// SubmitJob implements dashboard.Client.
func (n *noted) SubmitJob(ctx context.Context, sub dashboard.Submission) (id string, err error) {
	n.stage.note("submit " + sub.SubmissionID)
	return n.Dashboard.SubmitJob(ctx, sub)
}

// StopJob implements dashboard.Client.
func (n *noted) StopJob(ctx context.Context, id string) (stopped bool, err error) {
	n.stage.note("stop " + id)
	return n.Dashboard.StopJob(ctx, id)
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

// play reconciles until the story is over. Between two reconciles others act: the controller of RayClusters, the submitter, Ray and the user.
func (s *stage) play(user func(*rayv1.RayJob), over func(*rayv1.RayJob) bool, outcomes ...dashboard.Status) {
	s.t.Helper()
	for range 2000 {
		j := s.get()
		if over(j) {
			return
		}
		if _, err := s.r.Reconcile(context.Background(), ctrl.Request{NamespacedName: demo}); err != nil {
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

// onlooker is a user who changes nothing.
func onlooker(*rayv1.RayJob) {}

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
