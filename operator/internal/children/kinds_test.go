package children

import (
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/internal/testing/raytest"
	"github.com/raygate/raygate/operator/internal/build/cert"
	"github.com/raygate/raygate/operator/internal/build/child"
	"github.com/raygate/raygate/operator/internal/build/netpol"
	"github.com/raygate/raygate/operator/internal/build/rbac"
	"github.com/raygate/raygate/operator/internal/build/route"
	"github.com/raygate/raygate/operator/internal/build/secret"
	"github.com/raygate/raygate/operator/internal/build/volume"
)

func scheme(t *testing.T) *runtime.Scheme {
	t.Helper()
	s := runtime.NewScheme()
	if err := errors.Join(clientgoscheme.AddToScheme(s), rayv1.AddToScheme(s)); err != nil {
		t.Fatal(err)
	}
	return s
}

// TestEveryKindSettles makes each kind of child, then asks for the same again, then spoils it and asks once more.
func TestEveryKindSettles(t *testing.T) {
	rc := raytest.RayCluster("ns/demo", raytest.Workers("cpu", 1),
		raytest.Annotations(map[string]string{"kubernetes.io/ingress.class": "nginx", "a": "b"}),
		raytest.Head(func(h *rayv1.HeadGroupSpec) {
			h.IngressOptions = &rayv1.IngressOptions{TLS: []networkingv1.IngressTLS{{SecretName: "s"}}}
		}),
		raytest.Spec(func(s *rayv1.RayClusterSpec) { s.NetworkPolicy = &rayv1.NetworkPolicyConfig{} }))
	cases := map[string]struct {
		build func() client.Object
		spoil func(client.Object) // nil for a kind without repairs
		check func(t *testing.T, o client.Object)
	}{
		"Role": {
			build: func() client.Object { return rbac.Role(rc) },
			spoil: func(o client.Object) { o.(*rbacv1.Role).Rules[0].Verbs = []string{"get"} },
			check: func(t *testing.T, o client.Object) {
				if diff := cmp.Diff(rbac.Role(rc).Rules, o.(*rbacv1.Role).Rules); diff != "" {
					t.Errorf("rules (-want +got):\n%s", diff)
				}
			},
		},
		"RoleBinding": {
			build: func() client.Object { return rbac.RoleBinding(rc) },
			spoil: func(o client.Object) { o.(*rbacv1.RoleBinding).Subjects = nil },
			check: func(t *testing.T, o client.Object) {
				if len(o.(*rbacv1.RoleBinding).Subjects) != 1 {
					t.Error("the subject is not back")
				}
			},
		},
		"ServiceAccount": {
			build: func() client.Object { return rbac.ServiceAccount(rc) },
			spoil: func(o client.Object) { o.SetLabels(nil) },
			check: func(t *testing.T, o client.Object) {
				if o.GetLabels()[rayv1.LabelCluster] != "demo" {
					t.Errorf("labels %v", o.GetLabels())
				}
			},
		},
		"Ingress, of which a builder's zero counts": {
			build: func() client.Object { return route.Ingress(rc) },
			spoil: func(o client.Object) { o.(*networkingv1.Ingress).Spec.Rules[0].Host = "elsewhere" },
			check: func(t *testing.T, o client.Object) {
				if got := o.(*networkingv1.Ingress).Spec.Rules[0].Host; got != "" {
					t.Errorf("host %q is left", got)
				}
			},
		},
		"NetworkPolicy, likewise": {
			build: func() client.Object { return netpol.Head(rc) },
			spoil: func(o client.Object) {
				s := &o.(*networkingv1.NetworkPolicy).Spec
				s.Ingress = append(s.Ingress, networkingv1.NetworkPolicyIngressRule{})
			},
			check: func(t *testing.T, o client.Object) {
				if got := len(o.(*networkingv1.NetworkPolicy).Spec.Ingress); got != 1 {
					t.Errorf("%d rules", got)
				}
			},
		},
		"NetworkPolicy that something else narrowed": {
			build: func() client.Object { return netpol.Head(rc) },
			spoil: func(o client.Object) {
				metav1.AddLabelToSelector(&o.(*networkingv1.NetworkPolicy).Spec.PodSelector, "no", "pod")
			},
			check: func(t *testing.T, o client.Object) {
				if got := o.(*networkingv1.NetworkPolicy).Spec.PodSelector.MatchLabels; got["no"] != "" {
					t.Errorf("selects %v", got)
				}
			},
		},
		"NetworkPolicy that something else widened": {
			build: func() client.Object {
				p := netpol.Head(rc)
				p.Spec.Ingress[0].From = []networkingv1.NetworkPolicyPeer{{PodSelector: &metav1.LabelSelector{}}} // all of the namespace
				return p
			},
			spoil: func(o client.Object) {
				o.(*networkingv1.NetworkPolicy).Spec.Ingress[0].From[0] = networkingv1.NetworkPolicyPeer{NamespaceSelector: &metav1.LabelSelector{}}
			},
			check: func(t *testing.T, o client.Object) {
				if got := o.(*networkingv1.NetworkPolicy).Spec.Ingress[0].From[0]; got.NamespaceSelector != nil {
					t.Error("all namespaces are let in")
				}
			},
		},
		"Route": {
			build: func() client.Object { return route.Route(rc) },
			spoil: func(o client.Object) {
				_ = unstructured.SetNestedField(o.(*unstructured.Unstructured).Object, "x", "spec", "to", "name")
			},
			check: func(t *testing.T, o client.Object) {
				if got, _, _ := unstructured.NestedString(o.(*unstructured.Unstructured).Object, "spec", "to", "name"); got != "demo-head-svc" {
					t.Errorf("leads to %s", got)
				}
			},
		},
		"Certificate": {
			build: func() client.Object { return cert.Head(rc, "", []string{"10.0.0.1"}) },
			spoil: func(o client.Object) {
				_ = unstructured.SetNestedStringSlice(o.(*unstructured.Unstructured).Object, []string{"127.0.0.1"}, "spec", "ipAddresses")
			},
			check: func(t *testing.T, o client.Object) {
				if got, _, _ := unstructured.NestedStringSlice(o.(*unstructured.Unstructured).Object, "spec", "ipAddresses"); len(got) != 2 {
					t.Errorf("addresses %v", got)
				}
			},
		},
		"Secret, whose token stays":             {build: func() client.Object { return secret.Token(rc, []byte("another")) }},
		"PersistentVolumeClaim, as it was made": {build: func() client.Object { return volume.Claim(rc) }},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			c := fake.NewClientBuilder().WithScheme(scheme(t)).Build()
			w := applier{Client: c, Live: c}
			ask := func(want Operation) client.Object {
				t.Helper()
				desired := tc.build()
				current := desired.DeepCopyObject().(client.Object)
				var found client.Object
				if c.Get(t.Context(), client.ObjectKeyFromObject(desired), current) == nil {
					found = current
				}
				got, err := w.Object(t.Context(), rc, desired, found)
				if err != nil || got != want {
					t.Fatalf("want %s, got %s: %v", want, got, err)
				}
				return desired
			}
			ask(Create)
			o := ask(None)
			if tc.spoil == nil {
				return
			}
			tc.spoil(o)
			if err := c.Update(t.Context(), o); err != nil {
				t.Fatal(err)
			}
			w.AsFound = true
			ask(None)
			w.AsFound = false
			tc.check(t, ask(Update))
			ask(None)
		})
	}
}

func TestAnnotationThatIsNoLongerAskedForGoes(t *testing.T) {
	c := fake.NewClientBuilder().WithScheme(scheme(t)).Build()
	w := applier{Client: c, Live: c}
	for i, step := range []struct {
		ask  map[string]string
		want map[string]string
	}{
		{map[string]string{"a": "1", "b": "2"}, map[string]string{"a": "1", "b": "2", "theirs": "3", rayv1.AnnotationAppliedAnnotations: "a,b"}},
		{map[string]string{"b": "2"}, map[string]string{"b": "2", "theirs": "3", rayv1.AnnotationAppliedAnnotations: "b"}},
		{nil, map[string]string{"theirs": "3"}},
	} {
		rc := raytest.RayCluster("ns/demo", raytest.Annotations(step.ask))
		var found client.Object
		current := &networkingv1.Ingress{}
		if c.Get(t.Context(), client.ObjectKeyFromObject(route.Ingress(rc)), current) == nil {
			found = current
		}
		if _, err := w.Object(t.Context(), rc, route.Ingress(rc), found); err != nil {
			t.Fatal(err)
		}
		if err := c.Get(t.Context(), client.ObjectKeyFromObject(route.Ingress(rc)), current); err != nil {
			t.Fatal(err)
		}
		if i == 0 {
			current.Annotations["theirs"] = "3"
			if err := c.Update(t.Context(), current); err != nil {
				t.Fatal(err)
			}
		}
		if diff := cmp.Diff(step.want, current.Annotations); diff != "" {
			t.Errorf("annotations after step %d (-want +got):\n%s", i, diff)
		}
	}
}

func TestMetadataAloneIsEnough(t *testing.T) {
	rc := raytest.RayCluster("ns/demo")
	stored := secret.Token(rc, nil)
	stored.Data = map[string][]byte{rayv1.AuthTokenSecretKey: []byte("old")}
	stored.Labels = nil
	c := fake.NewClientBuilder().WithScheme(scheme(t)).WithObjects(stored).Build()
	current := &metav1.PartialObjectMetadata{}
	current.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Secret"))
	if err := c.Get(t.Context(), client.ObjectKeyFromObject(stored), current); err != nil {
		t.Fatal(err)
	}
	got, err := applier{Client: c, Live: c}.Object(t.Context(), rc, secret.Token(rc, []byte("new")), current)
	if err != nil || got != Update {
		t.Fatalf("%s, %v", got, err)
	}
	if err := c.Get(t.Context(), client.ObjectKeyFromObject(stored), stored); err != nil {
		t.Fatal(err)
	}
	if string(stored.Data[rayv1.AuthTokenSecretKey]) != "old" || stored.Labels[rayv1.LabelCluster] != "demo" {
		t.Errorf("data %q, labels %v", stored.Data, stored.Labels)
	}
}

func TestRemoveAndSetController(t *testing.T) {
	rc, other := raytest.RayCluster("ns/demo"), raytest.RayCluster("ns/demo", raytest.UID("other"))
	retained := volume.Claim(rc)
	retained.OwnerReferences = nil
	others := volume.Claim(rc)
	others.OwnerReferences = []metav1.OwnerReference{child.Controller(raytest.RayCluster("ns/other", raytest.UID("other")))}
	cases := map[string]struct {
		stored  *corev1.PersistentVolumeClaim
		do      func(ctx context.Context, w applier, o client.Object) (bool, error)
		want    bool
		wantErr error
		left    int // controllers of what is left, -1 if nothing is
	}{
		"ours is removed":           {stored: volume.Claim(rc), do: remove(rc), want: true, left: -1},
		"another's is not":          {stored: volume.Claim(rc), do: remove(other), left: 1},
		"nobody's is not":           {stored: retained.DeepCopy(), do: remove(rc), left: 0},
		"nobody's is taken":         {stored: retained.DeepCopy(), do: own(rc, true), want: true, left: 1},
		"another's is not taken":    {stored: others, do: own(rc, true), wantErr: notOwned, left: 1},
		"ours is let go":            {stored: volume.Claim(rc), do: own(rc, false), want: true, left: 0},
		"another's is not let go":   {stored: volume.Claim(other), do: own(rc, false), left: 1},
		"ours already, so no write": {stored: volume.Claim(rc), do: own(rc, true), left: 1},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			c := fake.NewClientBuilder().WithScheme(scheme(t)).WithObjects(tc.stored).Build()
			found := &corev1.PersistentVolumeClaim{}
			if err := c.Get(t.Context(), client.ObjectKeyFromObject(tc.stored), found); err != nil {
				t.Fatal(err)
			}
			got, err := tc.do(t.Context(), applier{Client: c, Live: c}, found)
			if got != tc.want || !errors.Is(err, tc.wantErr) || (err == nil) != (tc.wantErr == nil) {
				t.Errorf("want %t and error %v, got %t and %v", tc.want, tc.wantErr, got, err)
			}
			left := -1
			if c.Get(t.Context(), client.ObjectKeyFromObject(tc.stored), found) == nil {
				left = len(found.OwnerReferences)
			}
			if left != tc.left {
				t.Errorf("%d controllers left, want %d", left, tc.left)
			}
		})
	}
}

func remove(rc *rayv1.RayCluster) func(context.Context, applier, client.Object) (bool, error) {
	return func(ctx context.Context, w applier, o client.Object) (bool, error) { return w.Remove(ctx, rc, o) }
}

func own(rc *rayv1.RayCluster, want bool) func(context.Context, applier, client.Object) (bool, error) {
	return func(ctx context.Context, w applier, o client.Object) (bool, error) {
		return w.SetController(ctx, rc, child.Controller(rc), o, want)
	}
}
