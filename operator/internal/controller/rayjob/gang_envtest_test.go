package rayjob

import (
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/controller"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/operator/internal/gang/registry"
	"github.com/raygate/raygate/operator/internal/served"
	"github.com/raygate/raygate/pkg/dashboard"
)

var volcanoGroup = schema.GroupVersionKind{Group: "scheduling.volcano.sh", Version: "v1beta1", Kind: "PodGroup"}

// startWithScheduler starts the controller with a batch scheduler.
func (w *world) startWithScheduler(name string) {
	w.T.Helper()
	mgr := w.Manager(nil, nil)
	kinds, err := served.New(mgr, w.Namespaces(), clock.RealClock{})
	if err != nil {
		w.T.Fatal(err)
	}
	c := w.config(w.counted(mgr.GetClient()), mgr.GetAPIReader())
	c.Recorder, c.APIs, c.Scheduler = mgr.GetEventRecorder(EventSource), kinds, registry.Find(name)
	if err := New(c).SetupWithManager(w.T.Context(), mgr, controller.Options{SkipNameValidation: new(true)}); err != nil {
		w.T.Fatal(err)
	}
	w.Start(mgr)
}

// members is how many Pods Volcano is to place together; -1 without a PodGroup.
func (w *world) members(name string) int64 {
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(volcanoGroup)
	u.SetNamespace(w.Namespace)
	u.SetName(name)
	if !w.Read(u) {
		return -1
	}
	n, _, _ := unstructured.NestedInt64(u.Object, "spec", "minMember")
	return n
}

func TestVolcanoKnowsTheGangBeforeTheCluster(t *testing.T) {
	w := newWorld(t)
	w.Install(volcanoGroup)
	w.startWithScheduler("volcano")
	w.Create(w.job("demo", func(j *rayv1.RayJob) { j.Labels = map[string]string{rayv1.LabelVolcanoQueueName: "q"} }))
	rc := w.clusterOf("demo")
	if n := w.members("ray-demo-pg"); n != 2 {
		t.Errorf("%d members, want a head and a worker", n)
	}
	w.ready(rc)
	j := w.eventuallyIn("demo", rayv1.JobDeploymentStatusRunning)
	submitter := &batchv1.Job{ObjectMeta: w.At("demo")}
	w.Read(submitter)
	if p := submitter.Spec.Template; p.Spec.SchedulerName != "volcano" || p.Annotations["scheduling.k8s.io/group-name"] != "ray-demo-pg" ||
		p.Annotations["volcano.sh/task-spec"] != rayv1.SubmitterGroupName || p.Labels[rayv1.LabelVolcanoQueueName] != "q" {
		t.Errorf("submitter %+v by %s", p.ObjectMeta, p.Spec.SchedulerName)
	}
	w.submits(j)
	w.dash.Set(j.Status.JobId, dashboard.Succeeded, "")
	w.endSubmitter("demo", corev1.PodSucceeded)
	w.eventuallyIn("demo", rayv1.JobDeploymentStatusComplete)
	w.Eventually("the gang to be released", func() bool { return w.members("ray-demo-pg") == 0 })
}

func TestRefusalOfTheSchedulerIsTold(t *testing.T) {
	w := newWorld(t)
	w.startWithScheduler("kai-scheduler")
	w.Create(w.job("demo"))
	w.Eventually("the refusal", func() bool {
		st := w.get("demo").Status
		return st.JobDeploymentStatus == rayv1.JobDeploymentStatusInitializing && st.Message != ""
	})
	w.Eventually("the event", func() bool { return len(w.Events("demo", rayv1.ReasonBatchSchedulerProblem)) == 1 })
	if n := w.written("create RayCluster"); n != 0 {
		t.Errorf("%d clusters", n)
	}
}
