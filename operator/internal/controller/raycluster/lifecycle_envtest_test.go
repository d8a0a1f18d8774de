package raycluster

import (
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/internal/testing/raytest"
)

func (w *world) cluster(name string, opts ...raytest.ClusterOption) *rayv1.RayCluster {
	rc := raytest.RayCluster(w.Namespace+"/"+name, opts...)
	rc.UID, rc.Generation = "", 0
	return rc
}

func TestSmallClusterBecomesReadyWithFewWrites(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	counted, _ := w.startOperator()
	w.Create(w.cluster("demo", raytest.Workers("cpu", 3)))
	rc := w.eventuallyReady("demo")
	time.Sleep(2 * settleTime) // progress is gathered so long
	w.fence("demo")
	// Statuses are not counted: each Pod that becomes ready a while after the last one is one more.
	list := slices.DeleteFunc(counted.seen(), func(request string) bool { return strings.HasSuffix(request, "/status") })
	if len(list) > 6 {
		t.Errorf("wrote %d times, want at most 6:\n%s", len(list), strings.Join(list, "\n"))
	}
	if got := named(list, "/pods"); got != 4 {
		t.Errorf("sent %d requests for Pods, want 4", got)
	}
	if rc.Status.ReadyWorkerReplicas != 3 || rc.Status.DesiredWorkerReplicas != 3 || rc.Status.ObservedGeneration != rc.Generation {
		t.Errorf("status counts: %+v", rc.Status)
	}
	if rc.Status.Head.PodIP == "" || rc.Status.Head.ServiceName != "demo-head-svc" || rc.Status.Endpoints["client"] != "10001" {
		t.Errorf("head %+v, endpoints %v", rc.Status.Head, rc.Status.Endpoints)
	}
	if got := w.Events("demo", "CreatedHeadPod"); len(got) != 1 || !strings.Contains(got[0], "3 worker Pods in group cpu") {
		t.Errorf("events of creation: %q", got)
	}
	if rc.Status.StateTransitionTimes[rayv1.ClusterStateReady] == nil || rc.Status.LastUpdateTime == nil {
		t.Error("times are missing in the status")
	}
}

func TestInvalidSpecIsReportedOnceAndCanBeRepaired(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	_, stop := w.startOperator()
	rc := w.cluster("demo", raytest.Workers("cpu", 1))
	rc.Spec.HeadGroupSpec.Template.Labels = map[string]string{"a b": "c"} // which the CRD cannot refuse
	w.Create(rc)
	refused := func() bool {
		return meta.IsStatusConditionTrue(w.get("demo").Status.Conditions, rayv1.RayClusterInvalidSpec)
	}
	w.Eventually("the refusal", refused)
	w.Eventually("the event", func() bool { return len(w.Events("demo", "InvalidRayClusterSpec")) > 0 })
	stop() // a new operator has seen it before, too
	w.startOperator()
	w.oneEvent("demo", "InvalidRayClusterSpec")
	if got := len(w.pods("demo")); got != 0 {
		t.Errorf("%d Pods were made from an invalid spec", got)
	}
	w.ChangeCluster("demo", func(rc *rayv1.RayCluster) { rc.Spec.HeadGroupSpec.Template.Labels = nil })
	w.eventuallyReady("demo")
	if refused() {
		t.Error("the repaired cluster still says that it is invalid")
	}
	// A rule that KubeRay lacks is reported, but does not stop the reconcile of a running cluster.
	w.ChangeCluster("demo", func(rc *rayv1.RayCluster) {
		rc.Spec.HeadGroupSpec.Template.Labels = map[string]string{"a b": "c"}
		rc.Spec.WorkerGroupSpecs[0].Replicas = new(int32(2))
	})
	w.Eventually("the complaint", refused)
	w.Eventually("the second worker", func() bool { return len(w.pods("demo")) == 3 })
	w.eventuallyReady("demo")
	if c := meta.FindStatusCondition(w.get("demo").Status.Conditions, rayv1.RayClusterInvalidSpec); c == nil || c.Reason != rayv1.ReasonToleratedRayClusterSpec {
		t.Errorf("condition %v, want the reason %s", c, rayv1.ReasonToleratedRayClusterSpec)
	}
	// One that KubeRay has, too, stops everything but the deletion.
	w.ChangeCluster("demo", func(rc *rayv1.RayCluster) {
		rc.Spec.HeadGroupSpec.Template.Spec.Containers[0].Env = []corev1.EnvVar{{Name: "RAY_REDIS_ADDRESS", Value: "redis:6379"}}
		rc.Spec.WorkerGroupSpecs[0].Replicas = new(int32(1))
	})
	w.Eventually("the refusal", func() bool {
		c := meta.FindStatusCondition(w.get("demo").Status.Conditions, rayv1.RayClusterInvalidSpec)
		return c != nil && c.Reason == rayv1.ReasonInvalidRayClusterSpec
	})
	if got := len(w.pods("demo")); got != 3 {
		t.Errorf("%d Pods run after the spec became invalid, want the 3 from before", got)
	}
	if err := w.Client.Delete(t.Context(), w.get("demo")); err != nil {
		t.Fatal(err)
	}
	w.Eventually("the object to go", func() bool {
		err := w.Client.Get(t.Context(), client.ObjectKey{Namespace: w.Namespace, Name: "demo"}, &rayv1.RayCluster{})
		return apierrors.IsNotFound(err)
	})
}
