package certs

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"slices"
	"testing"
	"testing/synctest"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
)

func crdWithCA(ca string) *unstructured.Unstructured {
	u := &unstructured.Unstructured{Object: map[string]any{"metadata": map[string]any{"name": CRDs[0]}}}
	u.SetAPIVersion("apiextensions.k8s.io/v1")
	u.SetKind("CustomResourceDefinition")
	_ = unstructured.SetNestedField(u.Object, ca, "spec", "conversion", "webhook", "clientConfig", "caBundle")
	return u
}

// keeperOf returns a keeper in a world with these objects, and what it writes. With hang, writes last until their context ends.
func keeperOf(ended <-chan struct{}, hang bool, objects ...client.Object) (k *keeper, written *[]client.Object) {
	written = new([]client.Object)
	c := fake.NewClientBuilder().WithObjects(objects...).WithInterceptorFuncs(interceptor.Funcs{
		Update: func(ctx context.Context, _ client.WithWatch, obj client.Object, _ ...client.UpdateOption) error {
			if hang {
				<-ctx.Done()
				return ctx.Err()
			}
			*written = append(*written, obj)
			return nil
		},
	}).Build()
	return &keeper{Client: c, live: c, key: types.NamespacedName{Namespace: "ns", Name: "cert"}, ended: ended}, written
}

func TestKeeperWritesWhatChanges(t *testing.T) {
	secret := func(name, ca string) *corev1.Secret {
		return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name}, Data: map[string][]byte{caKey: []byte(ca)}}
	}
	a, b := string(pemOf("a")), string(pemOf("b"))
	cases := map[string]struct {
		before, now client.Object
		want        int
		wantCA      string
	}{
		"a CRD that has the CA":  {before: crdWithCA(a), now: crdWithCA(a)},
		"a CRD with another CA":  {before: crdWithCA(a), now: crdWithCA(b), want: 1},
		"a new CA":               {before: secret("cert", a), now: secret("cert", b), want: 1, wantCA: b + a},
		"a Secret of others":     {before: secret("other", a), now: secret("other", b), want: 1, wantCA: b},
		"a new certificate only": {before: secret("cert", a), now: secret("cert", a), want: 1, wantCA: a},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			k, written := keeperOf(t.Context().Done(), false, tc.before)
			if err := k.Update(t.Context(), tc.now); err != nil {
				t.Fatal(err)
			}
			if len(*written) != tc.want {
				t.Errorf("%d writes, want %d", len(*written), tc.want)
			}
			if s, ok := tc.now.(*corev1.Secret); ok && string(s.Data[caKey]) != tc.wantCA {
				t.Errorf("CA:\n%swant:\n%s", s.Data[caKey], tc.wantCA)
			}
		})
	}
}

// Replicas serve the certificate of a deleted Secret until they have that of its successor.
func TestKeeperTrustsTheCAOfADeletedSecret(t *testing.T) {
	a, b := pemOf("a"), pemOf("b")
	empty := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "cert"}}
	cases := map[string]struct {
		crd  []client.Object
		want []byte
	}{
		"the API server knows one":    {crd: []client.Object{crdWithCA(base64.StdEncoding.EncodeToString(a))}, want: slices.Concat(b, a)},
		"the API server knows two":    {crd: []client.Object{crdWithCA(base64.StdEncoding.EncodeToString(slices.Concat(a, pemOf("z"))))}, want: slices.Concat(b, a)},
		"the API server knows none":   {crd: []client.Object{crdWithCA("")}, want: b},
		"there is no such CRD":        {want: b},
		"a new installation, restart": {crd: []client.Object{crdWithCA(base64.StdEncoding.EncodeToString(b))}, want: b},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			k, _ := keeperOf(t.Context().Done(), false, append(tc.crd, empty.DeepCopy())...)
			now := empty.DeepCopy()
			now.Data = map[string][]byte{caKey: b}
			if err := k.Update(t.Context(), now); err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(now.Data[caKey], tc.want) {
				t.Errorf("CA:\n%swant:\n%s", now.Data[caKey], tc.want)
			}
		})
	}
}

// A CRD takes the API server seconds; the operator must not outlast its time to end by waiting for one.
func TestKeeperEndsWithTheOperator(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		k, _ := keeperOf(ctx.Done(), true, crdWithCA("old"))
		result := make(chan error)
		go func() { result <- k.Update(context.Background(), crdWithCA("new")) }()
		synctest.Wait()
		cancel()
		if err := <-result; !errors.Is(err, context.Canceled) {
			t.Errorf("error %v, want that of a context that was cancelled", err)
		}
	})
}
