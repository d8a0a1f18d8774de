package simulation

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
)

var kindBudget = policyv1.SchemeGroupVersion.WithKind("PodDisruptionBudget").GroupKind()

// budgets gives the object budgets, and drains nodes that heed them.
func (s *scenario) budgets(r *rand.Rand) {
	o := s.objects[0]
	annotations := o.GetAnnotations()
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[rayv1.AnnotationDisruptionBudget] = []string{"1", "2", "50%", "none"}[r.IntN(4)]
	o.SetAnnotations(annotations)
	kind, gk := "RayCluster", kindCluster
	if s.topic == "service" {
		kind, gk = "RayService", kindRayService
	}
	if r.IntN(3) == 0 {
		s.add(r, "the budget is removed from the "+kind, edit(gk, o.GetName(), func(o client.Object) {
			annotations := o.GetAnnotations()
			delete(annotations, rayv1.AnnotationDisruptionBudget)
			o.SetAnnotations(annotations)
		}))
	}
	for range r.IntN(3) {
		node := []rayv1.RayNodeType{rayv1.WorkerNode, rayv1.WorkerNode, rayv1.HeadNode}[r.IntN(3)]
		s.add(r, fmt.Sprintf("a drain evicts a %s", node), onPod(node, r.IntN(4), (*nodes).drain))
	}
}

// drain evicts a Pod as soon as its budget allows that, for some minutes.
func (n *nodes) drain(p *corev1.Pod) {
	const every, tries = 5 * time.Second, 24
	left := tries
	var try func()
	try = func() {
		err := n.world.store.Evict(actorNode, p, client.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &p.UID}})
		n.world.log("a drain evicts %s: %v", p.Name, err)
		if left--; err != nil && left > 0 {
			n.world.begins(faultNodeDrain, p.Name, 1, every+time.Second)
			n.world.after(every, "eviction of "+p.Name, try)
		}
	}
	try()
}

// clusterHasBudgets is about the budgets of a cluster, which are those of its annotation.
func clusterHasBudgets(w *world, rc *rayv1.RayCluster) (string, bool) {
	want, got := []string{}, []string{}
	if budget := rayv1.DisruptionBudgetOf(rc.Annotations); budget != nil && !isSuspended(rc) {
		if h := w.rays.of(rc.Name); h != nil && h.isUsed() {
			want = append(want, rc.Name+"-head 1")
		}
		for _, g := range rc.Spec.WorkerGroupSpecs {
			n := int(replicasOf(&g))
			if stay := n - rayv1.Disruptions(budget, n); stay > 0 && !ptr.Deref(g.Suspend, false) {
				want = append(want, fmt.Sprintf("%s-workers-%s %d", rc.Name, g.GroupName, stay))
			}
		}
	}
	for _, o := range w.store.All(kindBudget) {
		if b := o.(*policyv1.PodDisruptionBudget); rc.Owns(b) {
			got = append(got, b.Name+" "+b.Spec.MinAvailable.String())
		}
	}
	a, b := strings.Join(want, ", "), strings.Join(got, ", ")
	return fmt.Sprintf("has the budgets %q and not %q", b, a), a != b
}
