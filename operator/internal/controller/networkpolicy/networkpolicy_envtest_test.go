package networkpolicy

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	networkingv1 "k8s.io/api/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	rayv1 "github.com/raygate/raygate/operator/api/ray/v1"
	"github.com/raygate/raygate/operator/internal/build/netpol"
	"github.com/raygate/raygate/pkg/validation"
	"github.com/raygate/raygate/test/envtest"
	"github.com/raygate/raygate/test/raytest"
)

var controlPlane = envtest.Share(envtest.Options{Nodes: -1, WithoutScheduler: true})

func TestMain(m *testing.M) { controlPlane.Main(m) }

// world is a namespace of a real control plane in which the controller runs.
type world struct {
	t         *testing.T
	client    client.Client
	namespace string
}

func newWorld(t *testing.T, change ...func(*Config)) *world {
	t.Helper()
	env := controlPlane.Env(t)
	scheme := runtime.NewScheme()
	if err := errors.Join(clientgoscheme.AddToScheme(scheme), rayv1.AddToScheme(scheme)); err != nil {
		t.Fatal(err)
	}
	c, err := client.New(env.Config, client.Options{Scheme: scheme})
	if err != nil {
		t.Fatal(err)
	}
	w := &world{t: t, client: c}
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "netpol-"}}
	w.create(ns)
	w.namespace = ns.Name
	w.eventually("the default service account", func() bool { return w.read(&corev1.ServiceAccount{ObjectMeta: w.at("default")}) })
	mgr, err := ctrl.NewManager(env.Config, ctrl.Options{
		Scheme:  scheme,
		Logger:  klog.Background(),
		Cache:   cache.Options{ByObject: CacheByObject(), DefaultNamespaces: map[string]cache.Config{ns.Name: {}}},
		Metrics: metricsserver.Options{BindAddress: "0"},
	})
	if err != nil {
		t.Fatal(err)
	}
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
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if err := mgr.Start(ctx); err != nil {
			t.Errorf("manager: %v", err)
		}
	}()
	t.Cleanup(func() {
		cancel()
		<-ended
	})
	return w
}

func (w *world) at(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: w.namespace, Name: name}
}

func (w *world) create(o client.Object) {
	w.t.Helper()
	if err := w.client.Create(w.t.Context(), o); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) read(o client.Object) bool {
	w.t.Helper()
	err := w.client.Get(w.t.Context(), client.ObjectKeyFromObject(o), o)
	if err != nil && !apierrors.IsNotFound(err) {
		w.t.Fatal(err)
	}
	return err == nil
}

func (w *world) eventually(what string, ok func() bool) {
	w.t.Helper()
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		if ok() {
			return
		}
	}
	w.t.Fatalf("waited for %s in vain", what)
}

func (w *world) fenced(name string) *rayv1.RayCluster {
	rc := raytest.RayCluster(w.namespace+"/"+name, raytest.Workers("a", 1), raytest.Workers("b", 1),
		raytest.Spec(func(s *rayv1.RayClusterSpec) { s.NetworkPolicy = &rayv1.NetworkPolicyConfig{} }))
	rc.UID, rc.Generation = "", 0
	return rc
}

func (w *world) change(name string, do func(*rayv1.RayCluster)) {
	w.t.Helper()
	rc := &rayv1.RayCluster{ObjectMeta: w.at(name)}
	w.read(rc)
	do(rc)
	if err := w.client.Update(w.t.Context(), rc); err != nil {
		w.t.Fatal(err)
	}
}

// policies are the names of all policies of the namespace.
func (w *world) policies() string {
	w.t.Helper()
	var list networkingv1.NetworkPolicyList
	if err := w.client.List(w.t.Context(), &list, client.InNamespace(w.namespace)); err != nil {
		w.t.Fatal(err)
	}
	var names []string
	for _, p := range list.Items {
		names = append(names, p.Name)
	}
	slices.Sort(names)
	return strings.Join(names, " ")
}

func (w *world) eventuallyPolicies(want string) {
	w.t.Helper()
	w.eventually("the policies "+want, func() bool { return w.policies() == want })
}

func (w *world) events(reason string) int {
	w.t.Helper()
	var list eventsv1.EventList
	if err := w.client.List(w.t.Context(), &list, client.InNamespace(w.namespace)); err != nil {
		w.t.Fatal(err)
	}
	n := 0
	for _, e := range list.Items {
		if e.Reason == reason {
			n++
		}
	}
	return n
}

func TestPoliciesFollowTheSpec(t *testing.T) {
	w := newWorld(t)
	w.create(w.fenced("demo"))
	w.eventuallyPolicies("demo-head demo-workers-a demo-workers-b")
	head := &networkingv1.NetworkPolicy{ObjectMeta: w.at("demo-head")}
	w.read(head)
	if err := w.client.Delete(t.Context(), head); err != nil {
		t.Fatal(err)
	}
	w.eventuallyPolicies("demo-head demo-workers-a demo-workers-b")
	w.read(head)
	head.Spec.Ingress = append(head.Spec.Ingress, networkingv1.NetworkPolicyIngressRule{})
	if err := w.client.Update(t.Context(), head); err != nil {
		t.Fatal(err)
	}
	w.eventually("the hole to be closed", func() bool { return w.read(head) && len(head.Spec.Ingress) == 1 })
	w.change("demo", func(rc *rayv1.RayCluster) {
		rc.Spec.NetworkPolicy.Mode = new(rayv1.NetworkPolicyDenyAllEgress)
	})
	w.eventually("the other mode", func() bool { return w.read(head) && len(head.Spec.PolicyTypes) == 1 && len(head.Spec.Ingress) == 0 })
	w.change("demo", func(rc *rayv1.RayCluster) { rc.Spec.NetworkPolicy = nil })
	w.eventuallyPolicies("")
	for _, reason := range []string{"CreatedNetworkPolicy", "UpdatedNetworkPolicy", "DeletedNetworkPolicy"} {
		w.eventually("event "+reason, func() bool { return w.events(reason) > 0 })
	}
}

func TestPolicyOfARemovedGroupStaysWithItsPods(t *testing.T) {
	w := newWorld(t)
	w.create(w.fenced("demo"))
	w.eventuallyPolicies("demo-head demo-workers-a demo-workers-b")
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "late", Labels: map[string]string{
			rayv1.LabelCluster: "demo", rayv1.LabelNodeType: string(rayv1.WorkerNode), rayv1.LabelGroup: "b",
		}},
		Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "i"}}},
	}
	w.create(pod)
	time.Sleep(time.Second) // the cache has to show the Pod before the spec changes
	w.change("demo", func(rc *rayv1.RayCluster) { rc.Spec.WorkerGroupSpecs = rc.Spec.WorkerGroupSpecs[:1] })
	time.Sleep(time.Second)
	if got := w.policies(); got != "demo-head demo-workers-a demo-workers-b" {
		t.Errorf("policies %s while a Pod of group b runs", got)
	}
	if err := w.client.Delete(t.Context(), pod, client.GracePeriodSeconds(0)); err != nil {
		t.Fatal(err)
	}
	w.eventuallyPolicies("demo-head demo-workers-a")
}

func TestForeignPolicyIsLeftAlone(t *testing.T) {
	w := newWorld(t)
	theirs := &networkingv1.NetworkPolicy{ObjectMeta: w.at("demo-head")}
	w.create(theirs)
	version := theirs.ResourceVersion
	w.create(w.fenced("demo"))
	w.eventuallyPolicies("demo-head demo-workers-a demo-workers-b") // the others are made all the same
	w.eventually("the event", func() bool { return w.events("NetworkPolicyNameCollision") == 1 })
	w.change("demo", func(rc *rayv1.RayCluster) { rc.Labels = map[string]string{"touched": "yes"} })
	time.Sleep(500 * time.Millisecond)
	if got := w.events("NetworkPolicyNameCollision"); got != 1 || !w.read(theirs) || theirs.ResourceVersion != version {
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
		w.create(rc)
		w.create(netpol.Head(rc))
	}
	w.change("has", func(rc *rayv1.RayCluster) { rc.Labels = map[string]string{"touched": "yes"} })
	w.eventuallyPolicies("wants-head")
}
