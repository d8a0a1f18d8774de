package raycluster

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/internal/testing/raytest"
	"github.com/raygate/raygate/pkg/dashboard"
	"github.com/raygate/raygate/pkg/dashboard/dashboardfake"
)

// budgets are the names of the budgets of a cluster, with what they keep.
func (w *world) budgets(cluster string) string {
	w.T.Helper()
	var list policyv1.PodDisruptionBudgetList
	if err := w.Client.List(w.T.Context(), &list, client.InNamespace(w.Namespace), client.MatchingLabels{rayv1.LabelCluster: cluster}); err != nil {
		w.T.Fatal(err)
	}
	var all []string
	for _, b := range list.Items {
		all = append(all, fmt.Sprint(b.Name, " ", b.Spec.MinAvailable))
	}
	slices.Sort(all)
	return strings.Join(all, ", ")
}

func (w *world) eventuallyBudgets(cluster, want string) {
	w.T.Helper()
	w.Eventually("the budgets "+want, func() bool { return w.budgets(cluster) == want })
}

// TestBudgetsHoldPods: Kubernetes accepts the budgets and refuses evictions by them, and they follow the cluster and the use of its head.
func TestBudgetsHoldPods(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ray := dashboardfake.New(clock.RealClock{})
	ray.Put(dashboard.Job{SubmissionID: "train", Status: dashboard.Running})
	w.startOperator(connectTo(ray))
	w.Create(w.cluster("other", raytest.Workers("cpu", 2)))
	w.Create(w.cluster("demo", raytest.Workers("cpu", 3), raytest.Workers("gpu", 1), raytest.Annotations(map[string]string{
		rayv1.AnnotationDisruptionBudget: "1",
		// So that Ray is asked every two seconds.
		rayv1.AnnotationIdleTimeout: "10s", rayv1.AnnotationKeepUntil: time.Now().Add(time.Hour).Format(time.RFC3339),
	})))
	w.eventuallyReady("demo")
	w.eventuallyBudgets("demo", "demo-head 1, demo-workers-cpu 2")
	head := w.get("demo").Status.Head.PodName
	evict := func() error {
		meta := w.At(head)
		return w.Client.SubResource("eviction").Create(t.Context(), &corev1.Pod{ObjectMeta: meta}, &policyv1.Eviction{ObjectMeta: meta, DeleteOptions: &metav1.DeleteOptions{DryRun: []string{metav1.DryRunAll}}})
	}
	w.Eventually("Kubernetes to count the Pods", func() bool {
		b := &policyv1.PodDisruptionBudget{ObjectMeta: w.At("demo-workers-cpu")}
		return w.Read(b) && b.Status.ExpectedPods == 3 && b.Status.DisruptionsAllowed == 1
	})
	if err := evict(); !apierrors.HasStatusCause(err, policyv1.DisruptionBudgetCause) {
		t.Errorf("evicting the head: %v", err)
	}
	ray.Set("train", dashboard.Succeeded, "")
	w.eventuallyBudgets("demo", "demo-workers-cpu 2")
	w.Eventually("the head to be evictable", func() bool { return evict() == nil })
	w.ChangeCluster("demo", func(rc *rayv1.RayCluster) { rc.Spec.WorkerGroupSpecs[0].Replicas = new(int32(2)) })
	w.eventuallyBudgets("demo", "demo-workers-cpu 1")
	w.ChangeCluster("demo", func(rc *rayv1.RayCluster) { delete(rc.Annotations, rayv1.AnnotationDisruptionBudget) })
	w.eventuallyBudgets("demo", "")
	w.Eventually("events", func() bool {
		return len(w.Events("demo", "CreatedPodDisruptionBudget")) > 0 && len(w.Events("demo", "UpdatedPodDisruptionBudget")) > 0 && len(w.Events("demo", "DeletedPodDisruptionBudget")) > 0
	})
	if got := w.budgets("other"); got != "" {
		t.Errorf("a cluster without the annotation has the budgets %s", got)
	}
}

// TestUpgradeWaitsForABudget of somebody else, because the operator evicts workers.
func TestUpgradeWaitsForABudget(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	counted, _ := w.startOperator()
	w.Create(w.cluster("demo", raytest.Workers("cpu", 2), raytest.Annotations(map[string]string{
		rayv1.AnnotationDisruptionBudget: "100%", rayv1.AnnotationUpgradeStrategy: rayv1.UpgradeRollingUpdate,
	})))
	theirs := &policyv1.PodDisruptionBudget{ObjectMeta: w.At("theirs"), Spec: policyv1.PodDisruptionBudgetSpec{
		MinAvailable: new(intstr.FromInt32(2)),
		Selector:     &metav1.LabelSelector{MatchLabels: map[string]string{rayv1.LabelCluster: "demo", rayv1.LabelNodeType: string(rayv1.WorkerNode)}},
	}}
	w.Create(theirs)
	w.eventuallyReady("demo")
	w.Eventually("Kubernetes to count the Pods", func() bool { return w.Read(theirs) && theirs.Status.CurrentHealthy == 2 })
	w.ChangeCluster("demo", func(rc *rayv1.RayCluster) {
		rc.Spec.WorkerGroupSpecs[0].Template.Spec.Containers[0].Image = "ray:next"
	})
	w.Eventually("the upgrade to wait", func() bool {
		return strings.Contains(w.condition("demo", rayv1.RayClusterUpgradeInProgress).Message, "a PodDisruptionBudget does not allow")
	})
	next := func() (n int) {
		for _, p := range w.pods("demo") {
			if !isHead(&p) && p.Spec.Containers[0].Image == "ray:next" && podReady(&p) {
				n++
			}
		}
		return n
	}
	if n := next(); n != 0 {
		t.Errorf("%d workers were replaced", n)
	}
	if err := w.Client.Delete(t.Context(), theirs); err != nil {
		t.Fatal(err)
	}
	w.Eventually("the upgrade", func() bool { return next() == 2 })
	if evictions := named(counted.seen(), "/eviction"); evictions < 3 {
		t.Errorf("%d evictions", evictions)
	}
	for _, request := range counted.seen() {
		if strings.HasPrefix(request, "DELETE ") && strings.Contains(request, "/pods/") {
			t.Errorf("%s", request)
		}
	}
}
