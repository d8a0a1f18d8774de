package raycluster

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/internal/testing/raytest"
)

// problem is the message of the condition BatchSchedulerProblem, empty if there is none.
func (w *world) problem(name string) string {
	c := meta.FindStatusCondition(w.get(name).Status.Conditions, rayv1.RayClusterBatchSchedulerProblem)
	if c == nil {
		return ""
	}
	return c.Message
}

func gangLabels(pairs ...string) raytest.ClusterOption {
	kv := map[string]string{}
	for i := 0; i+1 < len(pairs); i += 2 {
		kv[pairs[i]] = pairs[i+1]
	}
	return raytest.Labels(kv)
}

func replicas(n int32) func(*rayv1.RayCluster) {
	return func(rc *rayv1.RayCluster) { rc.Spec.WorkerGroupSpecs[0].Replicas = &n }
}

func TestVolcanoPodGroupFollowsTheCluster(t *testing.T) {
	w := newWorld(t)
	w.install("volcano")
	counted, _ := w.startOperator(batchScheduler("volcano"))
	w.Create(w.cluster("demo", raytest.Workers("cpu", 2), gangLabels(rayv1.LabelVolcanoQueueName, "research")))
	minMember := []string{"spec", "minMember"}
	group := w.eventuallyNumber(volcanoGroup, "ray-demo-pg", 3, minMember...)
	if !metav1.IsControlledBy(group, w.get("demo")) {
		t.Errorf("owners %v, want the cluster as controller", group.GetOwnerReferences())
	}
	w.Eventually("3 Pods", func() bool { return len(w.pods("demo")) == 3 })
	for _, p := range w.pods("demo") {
		if p.Spec.SchedulerName != "volcano" || p.Annotations["scheduling.k8s.io/group-name"] != "ray-demo-pg" ||
			p.Annotations["volcano.sh/task-spec"] != p.Labels[rayv1.LabelGroup] || p.Labels[rayv1.LabelVolcanoQueueName] != "research" {
			t.Errorf("Pod %s: scheduler %q, annotations %v", p.Name, p.Spec.SchedulerName, p.Annotations)
		}
	}
	list := counted.seen()
	if first, pod := position(list, "podgroups"), position(list, "/pods"); first > pod {
		t.Errorf("the first Pod came before its PodGroup:\n%s", strings.Join(list, "\n"))
	}

	// Values of the scheduler and defaults of the API server stay.
	if err := unstructured.SetNestedField(group.Object, "Running", "status", "phase"); err != nil {
		t.Fatal(err)
	}
	if err := w.Client.Status().Update(t.Context(), group); err != nil {
		t.Fatal(err)
	}
	for _, n := range []int32{5, 0, 1} {
		w.ChangeCluster("demo", replicas(n))
		group = w.eventuallyNumber(volcanoGroup, "ray-demo-pg", int64(n)+1, minMember...)
	}
	got, _, _ := unstructured.NestedMap(group.Object, "spec")
	want := map[string]any{"minMember": int64(2), "minResources": map[string]any{"cpu": "2", "memory": "3Gi"}, "queue": "research"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("spec (-want +got):\n%s", diff)
	}
	if phase, _, _ := unstructured.NestedString(group.Object, "status", "phase"); phase != "Running" {
		t.Errorf("phase %q, want what the scheduler wrote", phase)
	}
	if got := named(counted.seen(), "podgroups"); got != 4 {
		t.Errorf("wrote PodGroups %d times, want one create and 3 updates:\n%s", got, strings.Join(counted.seen(), "\n"))
	}

	// Deleted or changed by somebody, it comes back.
	if err := w.Client.Delete(t.Context(), group); err != nil {
		t.Fatal(err)
	}
	w.Eventually("a new PodGroup", func() bool {
		u := w.foreign(volcanoGroup, "ray-demo-pg")
		return u != nil && u.GetUID() != group.GetUID()
	})
	group = w.foreign(volcanoGroup, "ray-demo-pg")
	if err := unstructured.SetNestedField(group.Object, int64(99), minMember...); err != nil {
		t.Fatal(err)
	}
	if err := w.Client.Update(t.Context(), group); err != nil {
		t.Fatal(err)
	}
	w.eventuallyNumber(volcanoGroup, "ray-demo-pg", 2, minMember...)
	if got := w.problem("demo"); got != "" {
		t.Errorf("problem %q", got)
	}
}

// position is where the first request with the text stands.
func position(list []string, text string) int {
	for i, r := range list {
		if strings.Contains(r, text) {
			return i
		}
	}
	return len(list)
}

func TestKAIWithoutAQueueSaysSo(t *testing.T) {
	w := newWorld(t)
	w.startOperator(batchScheduler("kai-scheduler"))
	w.Create(w.cluster("demo"))
	w.Eventually("the condition", func() bool { return strings.Contains(w.problem("demo"), rayv1.LabelKAIQueue) })
	w.oneEvent("demo", rayv1.ReasonBatchSchedulerProblem)
	w.Eventually("the head", func() bool { return len(w.pods("demo")) == 1 })
	w.ChangeCluster("demo", func(rc *rayv1.RayCluster) { rc.Labels = map[string]string{rayv1.LabelKAIQueue: "research"} })
	w.Eventually("the end of the condition", func() bool { return w.problem("demo") == "" })
}

// TestPodGroupsOfKubeRayAreTakenOver: what KubeRay made for a running cluster is found right, and not written again.
func TestPodGroupsOfKubeRayAreTakenOver(t *testing.T) {
	w := newWorld(t)
	w.install("volcano")
	rc := w.cluster("demo", raytest.Workers("cpu", 2), gangLabels(rayv1.LabelVolcanoQueueName, "research"), raytest.Suspend(true))
	w.Create(rc)
	group := &unstructured.Unstructured{Object: map[string]any{
		"spec": map[string]any{
			"minMember": int64(3), "minResources": map[string]any{"cpu": "3000m", "memory": "4Gi"}, "queue": "research",
		},
		"status": map[string]any{"phase": "Running"},
	}}
	group.SetGroupVersionKind(volcanoGroup)
	group.SetNamespace(w.Namespace)
	group.SetName("ray-demo-pg")
	group.SetOwnerReferences([]metav1.OwnerReference{*metav1.NewControllerRef(rc, rayv1.GroupVersion.WithKind("RayCluster"))})
	w.Create(group)
	w.ChangeCluster("demo", func(rc *rayv1.RayCluster) { rc.Spec.Suspend = new(false) })
	counted, _ := w.startOperator(batchScheduler("volcano"))
	w.Eventually("3 Pods", func() bool { return len(w.pods("demo")) == 3 })
	if got := named(counted.seen(), "podgroups"); got != 0 || w.problem("demo") != "" {
		t.Errorf("wrote the PodGroup %d times, problem %q", got, w.problem("demo"))
	}
}
