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
	"github.com/raygate/raygate/operator/internal/optionalapi"
	"github.com/raygate/raygate/pkg/dashboard"
)

var volcanoGroup = schema.GroupVersionKind{Group: "scheduling.volcano.sh", Version: "v1beta1", Kind: "PodGroup"}

// startWithScheduler starts the controller with a batch scheduler.
func (w *world) startWithScheduler(name string) {
	w.T.Helper()
	mgr := w.Manager(nil, nil)
	kinds, err := optionalapi.New(mgr, w.Namespaces(), clock.RealClock{})
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

// TestVolcano serves the kind of Volcano once: it is there for all namespaces.
func TestVolcano(t *testing.T) {
	t.Parallel()
	newWorld(t).Install(volcanoGroup)
	for name, test := range map[string]func(*world){
		"knows the gang before the cluster": knowsTheGang, "releases a suspended job when it can be reached": releasesSuspended,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.startWithScheduler("volcano")
			test(w)
		})
	}
}

func knowsTheGang(w *world) {
	t := w.T
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

// TestRefusalOfTheSchedulerIsTold is about schedulers that cannot place a RayJob, or not in this mode. KubeRay retries in silence.
func TestRefusalOfTheSchedulerIsTold(t *testing.T) {
	t.Parallel()
	for _, scheduler := range []string{"kai-scheduler", "scheduler-plugins"} {
		t.Run(scheduler, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.startWithScheduler(scheduler)
			w.Create(w.job("demo"))
			w.Eventually("the refusal", func() bool {
				st := w.get("demo").Status
				return st.JobDeploymentStatus == rayv1.JobDeploymentStatusInitializing && st.Message != ""
			})
			w.oneEvent("demo", rayv1.ReasonBatchSchedulerProblem)
			if n := w.written("create RayCluster"); n != 0 {
				t.Errorf("%d clusters", n)
			}
		})
	}
}

// TestKAIPlacesOtherModes takes the queue of the RayJob over to its cluster, whose Pods the controller of RayClusters sees to.
func TestKAIPlacesOtherModes(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.startWithScheduler("kai-scheduler")
	w.Create(w.job("demo", inMode(rayv1.HTTPMode), func(j *rayv1.RayJob) { j.Labels = map[string]string{"kai.scheduler/queue": "q"} }))
	if rc := w.clusterOf("demo"); rc.Labels["kai.scheduler/queue"] != "q" {
		t.Errorf("labels of the cluster: %v", rc.Labels)
	}
	if notes := w.Events("demo", rayv1.ReasonBatchSchedulerProblem); len(notes) > 0 {
		t.Errorf("events: %v", notes)
	}
}

// releasesSuspended gives back what was reserved. A scheduler that cannot be reached holds a suspension, which gives room to others, and not the end of a job.
func releasesSuspended(w *world) {
	t := w.T
	w.Create(w.job("suspended", inMode(rayv1.HTTPMode)))
	w.Create(w.job("ended", inMode(rayv1.HTTPMode)))
	w.runs("suspended")
	j := w.runs("ended")
	w.Eventually("the submission", func() bool { return w.dash.Submissions(j.Status.JobId) == 1 })
	w.refuse("PodGroup", true)
	w.dash.Set(j.Status.JobId, dashboard.Succeeded, "")
	w.change("suspended", func(j *rayv1.RayJob) { j.Spec.Suspend = true })
	w.eventuallyIn("ended", rayv1.JobDeploymentStatusComplete)
	w.eventuallyIn("suspended", rayv1.JobDeploymentStatusSuspending)
	w.oneEvent("suspended", "FailedToCleanupBatchScheduler")
	w.gone(&rayv1.RayCluster{ObjectMeta: w.At(j.Status.RayClusterName)})
	if st := w.get("suspended").Status.JobDeploymentStatus; st != rayv1.JobDeploymentStatusSuspending {
		t.Errorf("%s before the scheduler has given back what it had reserved", st)
	}
	w.refuse("PodGroup", false)
	w.eventuallyIn("suspended", rayv1.JobDeploymentStatusSuspended)
	if n := w.members("ray-suspended-pg"); n != 0 {
		t.Errorf("%d members of a suspended job", n)
	}
	w.oneEvent("suspended", "BatchSchedulerCleanedUp")
	w.change("suspended", func(j *rayv1.RayJob) { j.Spec.Suspend = false })
	w.clusterOf("suspended")
	if n := w.members("ray-suspended-pg"); n != 2 {
		t.Errorf("%d members of a job that is resumed, want a head and a worker", n)
	}
}
