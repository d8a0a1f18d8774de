package ownerref_test

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/internal/testing/raytest"
	"github.com/raygate/raygate/operator/internal/ownerref"
)

var kind = rayv1.GroupVersion.WithKind("RayCluster").GroupKind()

func TestController(t *testing.T) {
	rc := raytest.RayCluster("ns/demo")
	of := func(change func(*metav1.OwnerReference)) *ownerref.Owner {
		p := raytest.WorkerPod(rc, "cpu", "w")
		change(&p.OwnerReferences[0])
		return ownerref.Controller(p, kind)
	}
	if got := of(func(*metav1.OwnerReference) {}); got == nil || got.NamespacedName != client.ObjectKeyFromObject(rc) || got.UID != rc.UID {
		t.Errorf("owner %+v", got)
	}
	if got := of(func(r *metav1.OwnerReference) { r.APIVersion = "ray.io/v1alpha1" }); got == nil {
		t.Error("an owner named by another version is not found")
	}
	for name, change := range map[string]func(*metav1.OwnerReference){
		"no controller":      func(r *metav1.OwnerReference) { r.Controller = nil },
		"not the controller": func(r *metav1.OwnerReference) { r.Controller = new(false) },
		"another kind":       func(r *metav1.OwnerReference) { r.Kind = "RayJob" },
		"another API":        func(r *metav1.OwnerReference) { r.APIVersion = "x/v1" },
		"no API":             func(r *metav1.OwnerReference) { r.APIVersion = "a/b/c" },
	} {
		if got := of(change); got != nil {
			t.Errorf("%s: owner %+v", name, got)
		}
	}
}

func TestWhichUpdatesOfChildrenMatter(t *testing.T) {
	cases := map[string]struct {
		change func(client.Object)
		want   bool
	}{
		"nothing":       {func(client.Object) {}, false},
		"a new version": {func(o client.Object) { o.SetResourceVersion("2") }, true}, // also of the status: a write may wait for it
	}
	changed := ownerref.Changed()
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			after := &networkingv1.Ingress{}
			tc.change(after)
			if got := changed.Update(event.UpdateEvent{ObjectOld: &networkingv1.Ingress{}, ObjectNew: after}); got != tc.want {
				t.Errorf("matters: want %t, got %t", tc.want, got)
			}
		})
	}
	if changed.Create(event.CreateEvent{}) || !changed.Delete(event.DeleteEvent{}) {
		t.Error("want deletions to pass, and not what we made ourselves")
	}
}

func TestHandler(t *testing.T) {
	rc, other := raytest.RayCluster("ns/demo"), raytest.RayCluster("ns/other")
	p := raytest.WorkerPod(rc, "cpu", "w")
	moved := p.DeepCopy()
	moved.OwnerReferences = raytest.WorkerPod(other, "cpu", "w").OwnerReferences
	var gone []types.UID
	h := ownerref.Handler{
		Kind:     kind,
		Schedule: func(owner types.NamespacedName) (time.Duration, int) { return 0, len(owner.Name) },
		Gone:     func(_, object types.UID) { gone = append(gone, object) },
	}
	q := priorityqueue.New[reconcile.Request]("test")
	defer q.ShutDown()
	h.Handle().Create(t.Context(), event.CreateEvent{Object: p}, q)
	h.Handle().Create(t.Context(), event.CreateEvent{Object: &corev1.Pod{}}, q) // nobody's
	if request, priority, _ := q.GetWithPriority(); request.Name != "demo" || priority != len("demo") {
		t.Errorf("request %s with priority %d", request, priority)
	}
	h.Handle().Update(t.Context(), event.UpdateEvent{ObjectOld: p, ObjectNew: moved}, q)
	if request, _, _ := q.GetWithPriority(); request.Name != "other" {
		t.Errorf("request %s, want that of the new owner", request)
	}
	h.Handle().Delete(t.Context(), event.DeleteEvent{Object: p}, q)
	if len(gone) != 1 || gone[0] != p.UID {
		t.Errorf("gone are %v", gone)
	}
}

func TestWaker(t *testing.T) {
	var w ownerref.Waker
	demo := types.NamespacedName{Namespace: "ns", Name: "demo"}
	w.Wake(demo) // before there is a queue
	q := priorityqueue.New[reconcile.Request]("test")
	defer q.ShutDown()
	if err := w.Source().Start(t.Context(), q); err != nil {
		t.Fatal(err)
	}
	w.Wake(demo)
	if request, priority, _ := q.GetWithPriority(); request.NamespacedName != demo || priority != 0 || q.Len() != 0 {
		t.Errorf("request %s with priority %d, and %d more", request, priority, q.Len())
	}
}
