package children

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/internal/testing/raytest"
	"github.com/raygate/raygate/operator/internal/build/child"
	"github.com/raygate/raygate/operator/internal/build/route"
	"github.com/raygate/raygate/operator/internal/build/secret"
	"github.com/raygate/raygate/operator/internal/build/volume"
)

// get reads what has the name of o.
func get[T client.Object](t *testing.T, c client.Client, o T) T {
	t.Helper()
	found := o.DeepCopyObject().(T)
	if err := c.Get(t.Context(), client.ObjectKeyFromObject(o), found); err != nil {
		t.Fatal(err)
	}
	return found
}

func TestAChangeInBetweenIsNotLost(t *testing.T) {
	rc := raytest.RayCluster("ns/demo")
	claim := volume.Claim(rc)
	claim.OwnerReferences = nil
	c := fake.NewClientBuilder().WithScheme(scheme(t)).WithObjects(served(), claim).Build()
	w := applier{Client: c, Live: c}
	for what, write := range map[string]struct {
		stored client.Object
		do     func(current client.Object) error
	}{
		"of a Service": {served(), func(current client.Object) error {
			desired := served()
			desired.Annotations = map[string]string{"new": "1"}
			_, err := w.Object(t.Context(), rc, desired, current)
			return err
		}},
		"of an owner": {claim, func(current client.Object) error {
			_, err := w.SetController(t.Context(), rc, child.Controller(rc), current, true)
			return err
		}},
	} {
		stale := get(t, c, write.stored)
		theirs := get(t, c, write.stored)
		theirs.SetLabels(map[string]string{"theirs": "1"})
		if err := c.Update(t.Context(), theirs); err != nil {
			t.Fatal(err)
		}
		if err := write.do(stale); !apierrors.IsConflict(err) {
			t.Errorf("%s: want a conflict, got %v", what, err)
		}
	}
}

func TestDesiredBecomesWhatTheServerHas(t *testing.T) {
	rc := raytest.RayCluster("ns/demo")
	c := fake.NewClientBuilder().WithScheme(scheme(t)).Build()
	w := applier{Client: c, Live: c}
	made := route.Ingress(rc)
	if _, err := w.Object(t.Context(), rc, made, nil); err != nil || made.ResourceVersion == "" {
		t.Errorf("after a create: version %q, %v", made.ResourceVersion, err)
	}
	stored := get(t, c, made)
	stored.Labels["theirs"] = "1"
	if err := c.Update(t.Context(), stored); err != nil {
		t.Fatal(err)
	}
	again := route.Ingress(rc)
	if got, err := w.Object(t.Context(), rc, again, stored); got != None || err != nil {
		t.Fatalf("%s, %v", got, err)
	}
	if diff := cmp.Diff(stored, again); diff != "" {
		t.Errorf("after nothing was written (-want +got):\n%s", diff)
	}

	token := secret.Token(rc, []byte("x"))
	token.UID = "uid-of-secret"
	token.Annotations = map[string]string{"theirs": "1"}
	if err := c.Create(t.Context(), token); err != nil {
		t.Fatal(err)
	}
	current := &metav1.PartialObjectMetadata{}
	current.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Secret"))
	if err := c.Get(t.Context(), client.ObjectKeyFromObject(token), current); err != nil {
		t.Fatal(err)
	}
	desired := secret.Token(rc, []byte("y"))
	if _, err := w.Object(t.Context(), rc, desired, current); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(current.ObjectMeta, desired.ObjectMeta); diff != "" {
		t.Errorf("metadata, where that is all there is (-want +got):\n%s", diff)
	}
}

func TestWhatIsNoLongerAskedForGoesWhereTheBuilderWritesAll(t *testing.T) {
	rc := raytest.RayCluster("ns/demo")
	stored := route.Ingress(rc)
	stored.Spec.TLS = []networkingv1.IngressTLS{{SecretName: "old"}}
	c := fake.NewClientBuilder().WithScheme(scheme(t)).WithObjects(stored).Build()
	kept := false
	w := applier{Client: c, Live: c, Keep: func(client.Object) { kept = true }}
	got, err := w.Object(t.Context(), rc, route.Ingress(rc), get(t, c, stored))
	if err != nil || got != Update || !kept {
		t.Errorf("%s, asked what to keep: %t, %v", got, kept, err)
	}
	if left := get(t, c, stored); len(left.Spec.TLS) > 0 || len(left.Spec.Rules) != 1 {
		t.Errorf("spec %+v, want no TLS and the one rule", left.Spec)
	}
}

func TestRemoveOfWhatIsGone(t *testing.T) {
	rc := raytest.RayCluster("ns/demo")
	stored := volume.Claim(rc)
	stored.UID = "uid-of-claim"
	resource := schema.GroupResource{Resource: "persistentvolumeclaims"}
	cases := map[string]struct {
		answer  error
		wantErr bool
	}{
		"not found":             {answer: apierrors.NewNotFound(resource, stored.Name)},
		"another has the name":  {answer: apierrors.NewConflict(resource, stored.Name, nil)},
		"refused, which is not": {answer: apierrors.NewForbidden(resource, stored.Name, nil), wantErr: true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			c := fake.NewClientBuilder().WithScheme(scheme(t)).WithObjects(stored.DeepCopy()).WithInterceptorFuncs(interceptor.Funcs{
				Delete: func(_ context.Context, _ client.WithWatch, _ client.Object, opts ...client.DeleteOption) error {
					o := (&client.DeleteOptions{}).ApplyOptions(opts)
					if o.Preconditions == nil || *o.Preconditions.UID != stored.UID || *o.PropagationPolicy != metav1.DeletePropagationBackground {
						t.Errorf("options %+v, want the UID and propagation in the background", o)
					}
					return tc.answer
				},
			}).Build()
			done, err := applier{Client: c, Live: c}.Remove(t.Context(), rc, get(t, c, stored))
			if done || (err != nil) != tc.wantErr {
				t.Errorf("done %t, %v", done, err)
			}
		})
	}
}

func TestOtherOwnersStay(t *testing.T) {
	rc := raytest.RayCluster("ns/demo")
	other := metav1.OwnerReference{APIVersion: "v1", Kind: "ConfigMap", Name: "other", UID: "other"}
	stored := volume.Claim(rc)
	stored.OwnerReferences = []metav1.OwnerReference{other}
	c := fake.NewClientBuilder().WithScheme(scheme(t)).WithObjects(stored).Build()
	w := applier{Client: c, Live: c}
	for _, tc := range []struct {
		owned bool
		want  []metav1.OwnerReference
	}{{true, []metav1.OwnerReference{other, child.Controller(rc)}}, {false, []metav1.OwnerReference{other}}} {
		if _, err := w.SetController(t.Context(), rc, child.Controller(rc), get(t, c, stored), tc.owned); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(tc.want, get(t, c, stored).OwnerReferences); diff != "" {
			t.Errorf("owners where owned is %t (-want +got):\n%s", tc.owned, diff)
		}
	}
}

func TestNotOwnedSaysWhoHasIt(t *testing.T) {
	rc := raytest.RayCluster("ns/demo")
	for want, owners := range map[string][]metav1.OwnerReference{
		"Service ns/demo-head-svc exists and belongs to something else: it has no controller; rename or delete it": nil,
		"Service ns/demo-head-svc exists and belongs to something else: its controller is RayCluster another; rename or delete it": {
			child.Controller(raytest.RayCluster("ns/another", raytest.UID("another"))),
		},
	} {
		theirs := served(func(s *corev1.Service) { s.OwnerReferences = owners })
		c := fake.NewClientBuilder().WithScheme(scheme(t)).WithObjects(theirs).Build()
		desired := served(func(s *corev1.Service) { s.Labels = map[string]string{rayv1.LabelCluster: "demo"} })
		_, err := applier{Client: c, Live: c}.Object(t.Context(), rc, desired, get(t, c, theirs))
		if err == nil || err.Error() != want {
			t.Errorf("want %q, got %v", want, err)
		}
	}
}
