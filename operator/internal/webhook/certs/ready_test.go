package certs

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/pem"
	"math/big"
	"os"
	"path/filepath"
	"testing"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
)

// signed returns a CA and a certificate that it signed for the name.
func signed(t *testing.T, host string) (ca, leaf []byte) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	root := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "ca"}, IsCA: true, BasicConstraintsValid: true,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), KeyUsage: x509.KeyUsageCertSign,
	}
	server := &x509.Certificate{
		SerialNumber: big.NewInt(2), DNSNames: []string{host}, NotBefore: root.NotBefore, NotAfter: root.NotAfter, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	for _, c := range []struct {
		template *x509.Certificate
		into     *[]byte
	}{{root, &ca}, {server, &leaf}} {
		der, err := x509.CreateCertificate(rand.Reader, c.template, root, key.Public(), key)
		if err != nil {
			t.Fatal(err)
		}
		*c.into = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	}
	return ca, leaf
}

// A replica serves when everybody who will call it trusts the certificate that it has.
func TestReadiness(t *testing.T) {
	o := Options{Namespace: "ns", Service: "hooks", ValidatingConfiguration: "validating", MutatingConfiguration: "mutating"}
	ca, leaf := signed(t, o.host())
	stranger, _ := signed(t, o.host())
	_, elsewhere := signed(t, "elsewhere.ns.svc")
	both := append(append([]byte{}, stranger...), ca...)
	cases := map[string]struct {
		cert, validating, mutating, crd []byte // nil for one that is not there
		want                            bool
	}{
		"all in order":                  {leaf, ca, ca, ca, true},
		"during a change of the CA":     {leaf, both, both, both, true},
		"no certificate":                {nil, ca, ca, ca, false},
		"no certificate at all in it":   {[]byte("x"), ca, ca, ca, false},
		"a certificate for another":     {elsewhere, ca, ca, ca, false},
		"nobody knows yet":              {leaf, []byte{}, []byte{}, []byte{}, false},
		"the validating do not know":    {leaf, stranger, ca, ca, false},
		"the mutating do not know":      {leaf, ca, stranger, ca, false},
		"a CRD does not know":           {leaf, ca, ca, stranger, false},
		"configurations were deleted":   {leaf, nil, nil, ca, true},
		"no CRD converts by webhook":    {leaf, ca, ca, nil, true},
		"nobody is left to call anyway": {leaf, nil, nil, nil, true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			o := o
			o.Dir = t.TempDir()
			if tc.cert != nil {
				for file, data := range map[string][]byte{"tls.crt": tc.cert, "tls.key": []byte("key")} {
					if err := os.WriteFile(filepath.Join(o.Dir, file), data, 0o600); err != nil {
						t.Fatal(err)
					}
				}
			}
			scheme := runtime.NewScheme()
			if err := admissionregistrationv1.AddToScheme(scheme); err != nil {
				t.Fatal(err)
			}
			var objects []client.Object
			if tc.validating != nil {
				objects = append(objects, &admissionregistrationv1.ValidatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: "validating"},
					Webhooks: []admissionregistrationv1.ValidatingWebhook{{Name: "v", ClientConfig: admissionregistrationv1.WebhookClientConfig{CABundle: tc.validating}}}})
			}
			if tc.mutating != nil {
				objects = append(objects, &admissionregistrationv1.MutatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: "mutating"},
					Webhooks: []admissionregistrationv1.MutatingWebhook{{Name: "m", ClientConfig: admissionregistrationv1.WebhookClientConfig{CABundle: tc.mutating}}}})
			}
			crd := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": map[string]any{"name": CRDs[0]}}}
			if tc.crd != nil {
				crd.Object["spec"] = map[string]any{"conversion": map[string]any{"webhook": map[string]any{"clientConfig": map[string]any{"caBundle": base64.StdEncoding.EncodeToString(tc.crd)}}}}
			}
			r := &readiness{options: o, live: fake.NewClientBuilder().WithScheme(scheme).WithObjects(append(objects, crd)...).Build(), done: make(chan struct{})}
			if err := r.trusted(t.Context()); (err == nil) != tc.want {
				t.Errorf("trusted: %v, want %t", err, tc.want)
			}
			ctx, cancel := context.WithCancel(t.Context())
			if !tc.want {
				cancel() // it would wait forever
			}
			defer cancel()
			if err := r.Start(ctx); err != nil {
				t.Error(err)
			}
			select {
			case <-r.done:
				if !tc.want {
					t.Error("told to be ready")
				}
			default:
				if tc.want {
					t.Error("did not tell that it is ready")
				}
			}
		})
	}
}
