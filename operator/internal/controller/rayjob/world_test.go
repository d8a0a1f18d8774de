package rayjob

import (
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/internal/testing/raytest"
	"github.com/raygate/raygate/internal/testing/testclient"
	"github.com/raygate/raygate/operator/internal/build/service"
	"github.com/raygate/raygate/operator/internal/dashboards"
	"github.com/raygate/raygate/operator/internal/jobplan"
	"github.com/raygate/raygate/pkg/dashboard"
	"github.com/raygate/raygate/pkg/dashboard/dashboardfake"
	"github.com/raygate/raygate/pkg/validation"
	"github.com/raygate/raygate/test/controlplane"
)

// controlPlane has no nodes: tests decide what becomes of Pods. It has the full definitions, which refuse a status that they do not allow.
var controlPlane = controlplane.Share(controlplane.Options{Nodes: -1, WithoutScheduler: true})

func TestMain(m *testing.M) { controlPlane.Main(m) }

// world is a namespace with a dashboard that all clusters in it share. The test plays the controller of RayClusters.
type world struct {
	*controlplane.World
	dash *dashboardfake.Dashboard

	mu      sync.Mutex
	writes  []string // to the API server, by the operator
	dialed  []string
	refused string // kind whose patches fail
}

func newWorld(t *testing.T) *world {
	t.Helper()
	return &world{World: controlPlane.Env(t).World(t, "rayjob-"), dash: dashboardfake.New(clock.RealClock{})}
}

func (w *world) connect(a dashboards.Address, token dashboard.Token) (dashboard.Client, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.dialed = append(w.dialed, a.HostPort+" "+string(token))
	return w.dash, nil
}

func (w *world) config(c client.Client, live client.Reader, changes ...func(*Config)) Config {
	config := Config{
		Client: c, Live: live, Clock: clock.RealClock{}, Connect: w.connect, Limits: jobplan.DefaultLimits(), PollInterval: 200 * time.Millisecond,
		Validation: validation.Options{Gates: map[validation.Gate]bool{validation.GateDeletionPolicy: true}},
	}
	config.Limits.Retry = 10 * time.Millisecond
	for _, change := range changes {
		change(&config)
	}
	return config
}

// startOperator starts the controller. The returned function ends it.
func (w *world) startOperator(changes ...func(*Config)) (stop func()) {
	w.T.Helper()
	mgr := w.Manager(nil, nil)
	c := w.config(w.counted(mgr.GetClient()), mgr.GetAPIReader(), changes...)
	c.Recorder = mgr.GetEventRecorder(EventSource)
	if err := New(c).SetupWithManager(w.T.Context(), mgr, controller.Options{SkipNameValidation: new(true), MaxConcurrentReconciles: 4}); err != nil {
		w.T.Fatal(err)
	}
	return w.Start(mgr)
}

// refuse has patches of a kind fail.
func (w *world) refuse(kind string, yes bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.refused = ""; yes {
		w.refused = kind
	}
}

func (w *world) refuses(o client.Object) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.refused != "" && o.GetObjectKind().GroupVersionKind().Kind == w.refused
}

func (w *world) note(verb string, o client.Object) {
	w.mu.Lock()
	defer w.mu.Unlock()
	kind := "other"
	switch o.(type) {
	case *rayv1.RayJob:
		kind = "RayJob"
	case *rayv1.RayCluster:
		kind = "RayCluster"
	case *batchv1.Job:
		kind = "Job"
	case *corev1.Service:
		kind = "Service"
	}
	w.writes = append(w.writes, verb+" "+kind+" "+o.GetName())
}

// fence returns when the operator has done about a RayJob what it does now.
func (w *world) fence(name string) {
	w.T.Helper()
	w.Fence(&rayv1.RayJob{ObjectMeta: w.At(name)})
}

// oneEvent waits for events about a RayJob, and fails when one comes more than once.
func (w *world) oneEvent(name string, reasons ...string) {
	w.T.Helper()
	w.Once(&rayv1.RayJob{ObjectMeta: w.At(name)}, reasons...)
}

// counted notes writes.
func (w *world) counted(c client.Client) client.Client {
	return testclient.Around(w.Looking(c), func(verb string, o client.Object, write func() error) error {
		w.note(verb, o)
		if verb == "patch" && w.refuses(o) {
			return apierrors.NewForbidden(schema.GroupResource{Resource: "tests"}, o.GetName(), errors.New("the test says no"))
		}
		return write()
	})
}

func (w *world) written(prefix string) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	n := 0
	for _, line := range w.writes {
		if strings.HasPrefix(line, prefix) {
			n++
		}
	}
	return n
}

type jobOption func(*rayv1.RayJob)

func inMode(m rayv1.JobSubmissionMode) jobOption {
	return func(j *rayv1.RayJob) { j.Spec.SubmissionMode = m }
}

func withSpec(change func(*rayv1.RayJobSpec)) jobOption {
	return func(j *rayv1.RayJob) { change(&j.Spec) }
}

// job is a RayJob that is shut down at its end.
func (w *world) job(name string, opts ...jobOption) *rayv1.RayJob {
	j := &rayv1.RayJob{
		ObjectMeta: w.At(name),
		Spec: rayv1.RayJobSpec{
			Entrypoint: "python -c 1", ShutdownAfterJobFinishes: true,
			RayClusterSpec: &raytest.RayCluster("x/y", raytest.Workers("cpu", 1)).Spec,
		},
	}
	for _, opt := range opts {
		opt(j)
	}
	return j
}

func (w *world) get(name string) *rayv1.RayJob {
	w.T.Helper()
	j := &rayv1.RayJob{ObjectMeta: w.At(name)}
	w.Read(j)
	return j
}

func (w *world) change(name string, do func(*rayv1.RayJob)) {
	w.T.Helper()
	w.Eventually("a change of "+name, func() bool {
		j := w.get(name)
		do(j)
		return w.Client.Update(w.T.Context(), j) == nil
	})
}

func (w *world) eventuallyIn(name string, states ...rayv1.JobDeploymentStatus) *rayv1.RayJob {
	w.T.Helper()
	var j *rayv1.RayJob
	defer func() {
		if w.T.Failed() {
			w.T.Logf("%s: state %s, job %s, reason %s: %s", name, j.Status.JobDeploymentStatus, j.Status.JobStatus, j.Status.Reason, j.Status.Message)
		}
	}()
	w.Eventually(name+" to be "+string(states[0]), func() bool {
		j = w.get(name)
		return slices.Contains(states, j.Status.JobDeploymentStatus)
	})
	return j
}

// clusterOf waits for the cluster of the attempt.
func (w *world) clusterOf(name string) *rayv1.RayCluster {
	w.T.Helper()
	rc := &rayv1.RayCluster{}
	w.Eventually("the cluster of "+name, func() bool {
		st := w.get(name).Status
		rc.ObjectMeta = w.At(st.RayClusterName)
		return st.RayClusterName != "" && w.Read(rc) && rc.DeletionTimestamp == nil
	})
	return rc
}

// ready plays the controller of RayClusters until the cluster is ready.
func (w *world) ready(rc *rayv1.RayCluster) {
	w.T.Helper()
	if err := w.Client.Create(w.T.Context(), service.Head(rc, service.Options{})); err != nil {
		w.T.Fatal(err)
	}
	w.Eventually("the status of "+rc.Name, func() bool {
		if !w.Read(rc) {
			return false
		}
		rc.Status.State = rayv1.ClusterStateReady
		rc.Status.LastUpdateTime = &metav1.Time{Time: time.Now()}
		return w.Client.Status().Update(w.T.Context(), rc) == nil
	})
}

// runs waits until the job runs on a cluster that is ready.
func (w *world) runs(name string) *rayv1.RayJob {
	w.T.Helper()
	w.ready(w.clusterOf(name))
	return w.eventuallyIn(name, rayv1.JobDeploymentStatusRunning)
}

// submits plays the submitter: Ray gets the job.
func (w *world) submits(j *rayv1.RayJob) {
	if _, err := w.dash.SubmitJob(w.T.Context(), dashboard.Submission{Entrypoint: j.Spec.Entrypoint, SubmissionID: j.Status.JobId}); err != nil {
		w.T.Fatal(err)
	}
	w.dash.Set(j.Status.JobId, dashboard.Running, "it runs")
}

// endSubmitter ends the Pod of the Kubernetes Job.
func (w *world) endSubmitter(name string, phase corev1.PodPhase) {
	w.T.Helper()
	w.Eventually("the Pod of the submitter", func() bool {
		var pods corev1.PodList
		if err := w.Client.List(w.T.Context(), &pods, client.InNamespace(w.Namespace), client.MatchingLabels{batchv1.JobNameLabel: name}); err != nil {
			w.T.Fatal(err)
		}
		for i := range pods.Items {
			p := &pods.Items[i]
			if p.Status.Phase != corev1.PodPending {
				continue
			}
			p.Status.Phase = phase
			return w.Client.Status().Update(w.T.Context(), p) == nil
		}
		return false
	})
}

func (w *world) gone(o client.Object) {
	w.T.Helper()
	w.Eventually(o.GetName()+" to be gone", func() bool { return !w.Read(o) })
}
