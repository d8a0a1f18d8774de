package raycluster

import (
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	networkingv1 "k8s.io/api/networking/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/internal/testing/raytest"
	"github.com/raygate/raygate/operator/internal/build/names"
	"github.com/raygate/raygate/operator/internal/build/route"
)

// valve holds back some requests until it is opened.
type valve struct {
	held func(path string) bool
	open chan struct{}
	once sync.Once
	next http.RoundTripper
}

// hold makes operators of the world wait for what they read at some paths.
func (w *world) hold(held func(path string) bool) *valve {
	v := &valve{held: held, open: make(chan struct{})}
	w.config = rest.CopyConfig(w.config)
	w.config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		v.next = next
		return v
	})
	w.T.Cleanup(v.release)
	return v
}

func (v *valve) release() { v.once.Do(func() { close(v.open) }) }

func (v *valve) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Method == http.MethodGet && v.held(r.URL.Path) {
		select {
		case <-v.open:
		case <-r.Context().Done():
			return nil, r.Context().Err()
		}
	}
	return v.next.RoundTrip(r)
}

// routeName is that of the cluster demo.
func routeName(w *world) string { return names.HeadRoute("demo", w.Namespace) }

// TestObjectDeletedBeforeTheFirstList: an object of the operator is deleted while the watch on its newly installed kind is not
// synced yet. No event reports the deletion.
func TestObjectDeletedBeforeTheFirstList(t *testing.T) {
	cases := map[string]struct {
		kind     schema.GroupVersionKind
		resource string
		named    func(*world) string
		install  func(*world)
		options  []raytest.ClusterOption
		change   func(*Config)
	}{
		"of a batch scheduler": {
			kind: pluginsGroup, resource: "podgroups", named: func(*world) string { return "demo" },
			install: func(w *world) { w.install("scheduler-plugins") },
			options: []raytest.ClusterOption{gangLabels(rayv1.LabelGangSchedulingEnabled, "true")},
			change:  batchScheduler("scheduler-plugins"),
		},
		"of a step": {
			kind: route.Kind, resource: "routes", named: routeName,
			install: func(w *world) { w.Install(route.Kind) },
			options: []raytest.ClusterOption{publishing()},
			change:  func(*Config) {},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			tc.install(w)
			lists := w.hold(func(path string) bool { return strings.HasSuffix(path, "/"+tc.resource) })
			w.startOperator(tc.change)
			w.Create(w.cluster("demo", tc.options...))
			var first *unstructured.Unstructured
			w.Eventually("the object", func() bool {
				first = w.foreign(tc.kind, tc.named(w))
				return first != nil
			})
			w.Eventually("the head", func() bool { return len(w.pods("demo")) == 1 })
			if err := w.Client.Delete(t.Context(), first); err != nil {
				t.Fatal(err)
			}
			lists.release()
			w.Eventually("another one", func() bool {
				u := w.foreign(tc.kind, tc.named(w))
				return u != nil && u.GetUID() != first.GetUID()
			})
		})
	}
}

// TestOptionalKindThatMustNotBeListed: a watch on it is never filled.
func TestOptionalKindThatMustNotBeListed(t *testing.T) {
	w := newWorld(t)
	w.Install(route.Kind)
	w.asOperator()
	w.allow(rbacv1.PolicyRule{APIGroups: []string{route.Kind.Group}, Resources: []string{"routes"}, Verbs: []string{"get", "create", "patch", "delete"}})
	w.startOperator()
	w.Create(w.cluster("demo", publishing()))
	w.eventuallyReady("demo")
	var u *unstructured.Unstructured
	w.Eventually("the Route", func() bool {
		u = w.foreign(route.Kind, routeName(w))
		return u != nil
	})
	// It is repaired all the same.
	if err := unstructured.SetNestedField(u.Object, "elsewhere", "spec", "to", "name"); err != nil {
		t.Fatal(err)
	}
	if err := w.Client.Update(t.Context(), u); err != nil {
		t.Fatal(err)
	}
	w.ChangeCluster("demo", func(rc *rayv1.RayCluster) { rc.Annotations = map[string]string{"look": "again"} })
	w.Eventually("the repair", func() bool {
		to, _, _ := unstructured.NestedString(w.foreign(route.Kind, routeName(w)).Object, "spec", "to", "name")
		return to == "demo-head-svc"
	})
	w.ChangeCluster("demo", func(rc *rayv1.RayCluster) { rc.Spec.HeadGroupSpec.EnableIngress = nil })
	w.Eventually("the end of the Route", func() bool { return w.foreign(route.Kind, routeName(w)) == nil })
}

// TestOptionalAPIWhoseServerIsAway: whether a Route or an Ingress is right, nobody knows, and the cluster runs without.
func TestOptionalAPIWhoseServerIsAway(t *testing.T) {
	w := newWorld(t)
	service := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apiregistration.k8s.io/v1", "kind": "APIService",
		"metadata": map[string]any{"name": route.Kind.Version + "." + route.Kind.Group},
		"spec": map[string]any{
			"group": route.Kind.Group, "version": route.Kind.Version, "groupPriorityMinimum": int64(1000), "versionPriority": int64(10),
			"insecureSkipTLSVerify": true, "service": map[string]any{"namespace": w.Namespace, "name": "nobody"},
		},
	}}
	w.Create(service)
	removed := false
	remove := func() {
		if err := w.Client.Delete(t.Context(), service); err != nil {
			t.Error(err)
		}
		removed = true
	}
	defer func() {
		if !removed {
			remove()
		}
	}()
	w.Eventually("the API server to know that the other is away", func() bool {
		w.Read(service)
		conditions, _, _ := unstructured.NestedSlice(service.Object, "status", "conditions")
		return slices.ContainsFunc(conditions, func(c any) bool {
			m, ok := c.(map[string]any)
			return ok && m["type"] == "Available" && m["status"] == "False"
		})
	})
	w.startOperator()
	w.Create(w.cluster("demo", publishing()))
	w.eventuallyReady("demo")
	ingress := &networkingv1.Ingress{ObjectMeta: w.At("demo-head-ingress")}
	if w.Read(ingress) {
		t.Error("an Ingress, where there may be Routes")
	}
	remove()
	w.Eventually("the Ingress", func() bool { return w.Read(ingress) })
}
