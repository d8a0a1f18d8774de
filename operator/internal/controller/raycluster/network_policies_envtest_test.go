package raycluster

import (
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/internal/testing/raytest"
	"github.com/raygate/raygate/operator/internal/build/netpol"
)

func (w *world) fenced(name string) *rayv1.RayCluster {
	rc := raytest.RayCluster(w.Namespace+"/"+name, raytest.Workers("a", 1), raytest.Workers("b", 1),
		raytest.Spec(func(s *rayv1.RayClusterSpec) { s.NetworkPolicy = &rayv1.NetworkPolicyConfig{} }))
	rc.UID, rc.Generation = "", 0
	return rc
}

// policies are the names of all policies of the namespace.
func (w *world) policies() string {
	w.T.Helper()
	var list networkingv1.NetworkPolicyList
	if err := w.Client.List(w.T.Context(), &list, client.InNamespace(w.Namespace)); err != nil {
		w.T.Fatal(err)
	}
	var names []string
	for _, p := range list.Items {
		names = append(names, p.Name)
	}
	slices.Sort(names)
	return strings.Join(names, " ")
}

func (w *world) eventuallyPolicies(want string) {
	w.T.Helper()
	w.Eventually("the policies "+want, func() bool { return w.policies() == want })
}

func TestPoliciesFollowTheSpec(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.startOperator(withNetworkPolicies)
	w.Create(w.fenced("demo"))
	w.eventuallyPolicies("demo-head demo-workers-a demo-workers-b")
	head := &networkingv1.NetworkPolicy{ObjectMeta: w.At("demo-head")}
	w.Read(head)
	if err := w.Client.Delete(t.Context(), head); err != nil {
		t.Fatal(err)
	}
	w.eventuallyPolicies("demo-head demo-workers-a demo-workers-b")
	w.Read(head)
	head.Spec.Ingress = append(head.Spec.Ingress, networkingv1.NetworkPolicyIngressRule{})
	if err := w.Client.Update(t.Context(), head); err != nil {
		t.Fatal(err)
	}
	w.Eventually("the hole to be closed", func() bool { return w.Read(head) && len(head.Spec.Ingress) == 1 })
	w.ChangeCluster("demo", func(rc *rayv1.RayCluster) {
		rc.Spec.NetworkPolicy.Mode = new(rayv1.NetworkPolicyDenyAllEgress)
	})
	w.Eventually("the other mode", func() bool { return w.Read(head) && len(head.Spec.PolicyTypes) == 1 && len(head.Spec.Ingress) == 0 })
	w.ChangeCluster("demo", func(rc *rayv1.RayCluster) { rc.Spec.NetworkPolicy = nil })
	w.eventuallyPolicies("")
	for _, reason := range []string{"CreatedNetworkPolicy", "UpdatedNetworkPolicy", "DeletedNetworkPolicy"} {
		w.Eventually("event "+reason, func() bool { return len(w.Events("demo", reason)) > 0 })
	}
}

func TestPolicyOfARemovedGroupStaysWithItsPods(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.startOperator(withNetworkPolicies)
	w.Create(w.fenced("demo"))
	w.eventuallyPolicies("demo-head demo-workers-a demo-workers-b")
	late := &corev1.Pod{}
	w.Eventually("a worker of b", func() bool {
		for _, p := range w.pods("demo") {
			if p.Labels[rayv1.LabelGroup] == "b" {
				late = &p
			}
		}
		return late.Name != ""
	})
	finalizers := func(list ...string) {
		t.Helper()
		w.Read(late)
		before := late.DeepCopy()
		late.Finalizers = list
		if err := w.Client.Patch(t.Context(), late, client.MergeFrom(before)); err != nil {
			t.Fatal(err)
		}
	}
	finalizers("example.com/wait")
	w.ChangeCluster("demo", func(rc *rayv1.RayCluster) { rc.Spec.WorkerGroupSpecs = rc.Spec.WorkerGroupSpecs[:1] })
	w.Eventually("the worker to be deleted", func() bool { return w.Read(late) && late.DeletionTimestamp != nil })
	if got := w.policies(); got != "demo-head demo-workers-a demo-workers-b" {
		t.Errorf("policies %s while a Pod of group b runs", got)
	}
	finalizers()
	w.eventuallyPolicies("demo-head demo-workers-a")
}

func TestWithTheGateOffOnlyWhatNobodyWantsGoes(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.startOperator()
	for _, name := range []string{"wants", "has"} {
		rc := w.fenced(name)
		if name == "has" {
			rc.Spec.NetworkPolicy = nil
		}
		w.Create(rc)
		w.Create(netpol.Head(rc))
	}
	w.ChangeCluster("has", func(rc *rayv1.RayCluster) { rc.Labels = map[string]string{"touched": "yes"} })
	w.eventuallyPolicies("wants-head")
}

// TestPolicyExistsBeforeTheFirstPod: a Pod must not run, however shortly, without the fence that the spec asks for.
func TestPolicyExistsBeforeTheFirstPod(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	counted, _ := w.startOperator(withNetworkPolicies)
	w.Create(w.fenced("demo"))
	w.eventuallyReady("demo")
	policies := 0
	for _, request := range counted.seen() {
		switch {
		case strings.HasPrefix(request, "POST") && strings.HasSuffix(request, "/networkpolicies"):
			policies++
		case strings.HasPrefix(request, "POST") && strings.HasSuffix(request, "/pods") && policies < 3:
			t.Fatalf("a Pod was created after %d policies", policies)
		}
	}
	if policies != 3 {
		t.Errorf("%d policies", policies)
	}
}
