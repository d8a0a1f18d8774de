package networkpolicy

import (
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/operator/internal/build/netpol"
	"github.com/raygate/raygate/pkg/validation"
	"github.com/raygate/raygate/test/envtest"
	"github.com/raygate/raygate/test/raytest"
)

var controlPlane = envtest.Share(envtest.Options{Nodes: -1, WithoutScheduler: true})

func TestMain(m *testing.M) { controlPlane.Main(m) }

// world is a namespace of a real control plane in which the controller runs.
type world struct{ *envtest.World }

func newWorld(t *testing.T, change ...func(*Config)) *world {
	t.Helper()
	w := &world{controlPlane.Env(t).World(t, "netpol-")}
	mgr := w.Manager(nil, CacheByObject())
	config := Config{
		Client:     mgr.GetClient(),
		Live:       mgr.GetAPIReader(),
		Recorder:   mgr.GetEventRecorder(EventSource),
		Validation: validation.Options{Gates: map[validation.Gate]bool{validation.GateNetworkPolicy: true}},
		Enabled:    true,
	}
	for _, do := range change {
		do(&config)
	}
	if err := New(config).SetupWithManager(mgr, controller.Options{SkipNameValidation: new(true)}); err != nil {
		t.Fatal(err)
	}
	w.Start(mgr)
	return w
}

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
	w := newWorld(t)
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
	w := newWorld(t)
	w.Create(w.fenced("demo"))
	w.eventuallyPolicies("demo-head demo-workers-a demo-workers-b")
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: "late", Labels: map[string]string{
			rayv1.LabelCluster: "demo", rayv1.LabelNodeType: string(rayv1.WorkerNode), rayv1.LabelGroup: "b",
		}},
		Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "i"}}},
	}
	w.Create(pod)
	time.Sleep(time.Second) // the cache has to show the Pod before the spec changes
	w.ChangeCluster("demo", func(rc *rayv1.RayCluster) { rc.Spec.WorkerGroupSpecs = rc.Spec.WorkerGroupSpecs[:1] })
	time.Sleep(time.Second)
	if got := w.policies(); got != "demo-head demo-workers-a demo-workers-b" {
		t.Errorf("policies %s while a Pod of group b runs", got)
	}
	if err := w.Client.Delete(t.Context(), pod, client.GracePeriodSeconds(0)); err != nil {
		t.Fatal(err)
	}
	w.eventuallyPolicies("demo-head demo-workers-a")
}

func TestForeignPolicyIsLeftAlone(t *testing.T) {
	w := newWorld(t)
	theirs := &networkingv1.NetworkPolicy{ObjectMeta: w.At("demo-head")}
	w.Create(theirs)
	version := theirs.ResourceVersion
	w.Create(w.fenced("demo"))
	w.eventuallyPolicies("demo-head demo-workers-a demo-workers-b") // the others are made all the same
	w.Eventually("the event", func() bool { return len(w.Events("demo", "NetworkPolicyNameCollision")) == 1 })
	w.ChangeCluster("demo", func(rc *rayv1.RayCluster) { rc.Labels = map[string]string{"touched": "yes"} })
	time.Sleep(500 * time.Millisecond)
	if got := len(w.Events("demo", "NetworkPolicyNameCollision")); got != 1 || !w.Read(theirs) || theirs.ResourceVersion != version {
		t.Errorf("%d events, version %s, was %s", got, theirs.ResourceVersion, version)
	}
}

func TestWithTheGateOffOnlyWhatNobodyWantsGoes(t *testing.T) {
	w := newWorld(t, func(c *Config) { c.Enabled, c.Validation = false, validation.Options{} })
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
