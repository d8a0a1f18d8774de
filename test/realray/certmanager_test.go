package realray

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// certManager stands in for cert-manager, which cannot be built as a dependency: it issues the Certificates of a namespace, for authorities that
// are Certificates themselves.
type certManager struct{ w *world }

// startCertManager installs the kinds, and issues until the test ends.
func (w *world) startCertManager() {
	w.t.Helper()
	for plural, kind := range map[string]string{"issuers": "Issuer", "certificates": "Certificate"} {
		crd := &apiextensionsv1.CustomResourceDefinition{
			ObjectMeta: metav1.ObjectMeta{Name: plural + ".cert-manager.io"},
			Spec: apiextensionsv1.CustomResourceDefinitionSpec{
				Group: "cert-manager.io", Scope: apiextensionsv1.NamespaceScoped,
				Names: apiextensionsv1.CustomResourceDefinitionNames{Plural: plural, Kind: kind, ListKind: kind + "List"},
				Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{
					Name: "v1", Served: true, Storage: true,
					Schema: &apiextensionsv1.CustomResourceValidation{
						OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{Type: "object", XPreserveUnknownFields: new(true)},
					},
					Subresources: &apiextensionsv1.CustomResourceSubresources{Status: &apiextensionsv1.CustomResourceSubresourceStatus{}},
				}},
			},
		}
		if err := product.client.Create(w.t.Context(), crd); err != nil && !apierrors.IsAlreadyExists(err) {
			w.t.Fatal(err)
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	w.t.Cleanup(func() { cancel(); <-done })
	go func() {
		defer close(done)
		last := ""
		for ; ctx.Err() == nil; time.Sleep(500 * time.Millisecond) {
			if err := (certManager{w}).issueAll(ctx); err != nil && ctx.Err() == nil && err.Error() != last {
				last = err.Error()
				w.t.Logf("issuing: %v", err)
			}
		}
	}()
}

func kindOf(kind string) schema.GroupVersionKind {
	return schema.GroupVersionKind{Group: "cert-manager.io", Version: "v1", Kind: kind}
}

func (m certManager) issueAll(ctx context.Context) error {
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(kindOf("CertificateList"))
	if err := product.client.List(ctx, list, client.InNamespace(m.w.ns)); err != nil {
		return err
	}
	for i := range list.Items {
		c := &list.Items[i]
		if seen, _, _ := unstructured.NestedInt64(c.Object, "status", "seen"); seen == c.GetGeneration() {
			continue
		}
		if err := m.issue(ctx, c); err != nil {
			return fmt.Errorf("%s: %w", c.GetName(), err)
		}
	}
	return nil
}

func (m certManager) issue(ctx context.Context, c *unstructured.Unstructured) error {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	names, _, _ := unstructured.NestedStringSlice(c.Object, "spec", "dnsNames")
	addresses, _, _ := unstructured.NestedStringSlice(c.Object, "spec", "ipAddresses")
	common, _, _ := unstructured.NestedString(c.Object, "spec", "commonName")
	authority, _, _ := unstructured.NestedBool(c.Object, "spec", "isCA")
	now := time.Now()
	template := &x509.Certificate{
		SerialNumber: big.NewInt(now.UnixNano()), Subject: pkix.Name{CommonName: common}, NotBefore: now.Add(-time.Minute), NotAfter: now.Add(100 * 24 * time.Hour),
		DNSNames: names, IsCA: authority, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	for _, a := range addresses {
		template.IPAddresses = append(template.IPAddresses, net.ParseIP(a))
	}
	parent, signer := template, key
	if authority {
		template.KeyUsage, template.ExtKeyUsage = x509.KeyUsageCertSign|x509.KeyUsageCRLSign, nil
	} else if parent, signer, err = m.authority(ctx, c); err != nil {
		return err
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, &key.PublicKey, signer)
	if err != nil {
		return err
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return err
	}
	ca := parent.Raw
	if authority {
		ca = der
	}
	block := func(kind string, data []byte) []byte { return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: data}) }
	if err := m.store(ctx, c, map[string][]byte{
		"tls.crt": block("CERTIFICATE", der), "tls.key": block("PRIVATE KEY", private), "ca.crt": block("CERTIFICATE", ca),
	}); err != nil {
		return err
	}
	revision, _, _ := unstructured.NestedInt64(c.Object, "status", "revision")
	c.Object["status"] = map[string]any{
		"seen": c.GetGeneration(), "revision": revision + 1, "notAfter": template.NotAfter.UTC().Format(time.RFC3339),
		"conditions": []any{map[string]any{"type": "Ready", "status": "True", "observedGeneration": c.GetGeneration(), "reason": "Issued"}},
	}
	return product.client.Status().Update(ctx, c)
}

// store writes the Secret of a Certificate.
func (m certManager) store(ctx context.Context, c *unstructured.Unstructured, data map[string][]byte) error {
	name, _, _ := unstructured.NestedString(c.Object, "spec", "secretName")
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: m.w.ns}, Type: corev1.SecretTypeTLS, Data: data}
	err := product.client.Create(ctx, secret)
	if !apierrors.IsAlreadyExists(err) {
		return err
	}
	if err := product.client.Get(ctx, client.ObjectKeyFromObject(secret), secret); err != nil {
		return err
	}
	secret.Data = data
	return product.client.Update(ctx, secret)
}

// authority is what signs a Certificate.
func (m certManager) authority(ctx context.Context, c *unstructured.Unstructured) (*x509.Certificate, *ecdsa.PrivateKey, error) {
	issuer := &unstructured.Unstructured{}
	issuer.SetGroupVersionKind(kindOf("Issuer"))
	name, _, _ := unstructured.NestedString(c.Object, "spec", "issuerRef", "name")
	if err := product.client.Get(ctx, client.ObjectKey{Namespace: m.w.ns, Name: name}, issuer); err != nil {
		return nil, nil, err
	}
	secretName, _, _ := unstructured.NestedString(issuer.Object, "spec", "ca", "secretName")
	secret := &corev1.Secret{}
	if err := product.client.Get(ctx, client.ObjectKey{Namespace: m.w.ns, Name: secretName}, secret); err != nil {
		return nil, nil, err
	}
	certBlock, _ := pem.Decode(secret.Data["tls.crt"])
	keyBlock, _ := pem.Decode(secret.Data["tls.key"])
	if certBlock == nil || keyBlock == nil {
		return nil, nil, fmt.Errorf("Secret %s has no key pair", secretName)
	}
	parent, err := x509.ParseCertificate(certBlock.Bytes)
	if err != nil {
		return nil, nil, err
	}
	key, err := x509.ParsePKCS8PrivateKey(keyBlock.Bytes)
	if err != nil {
		return nil, nil, err
	}
	return parent, key.(*ecdsa.PrivateKey), nil
}

// Ray processes talk to each other by mutual TLS, with certificates that have the addresses of their Pods.
func TestMutualTLS(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.startCertManager()
	rc := w.cluster("demo", 1, withTLS)
	w.ready(rc)
	w.joined("demo", 1)
	w.gateway("POST", "/clusters/demo/submissions", map[string]any{"submissionId": "hello", "entrypoint": hello})
	w.submissionEnds("demo", "hello", "SUCCEEDED")
	w.run("without a certificate", func(w *world) {
		out, err := w.exec(w.pods("demo", "worker")[0].Name, "env", "RAY_USE_TLS=0", "timeout", "60", "ray", "health-check", "--address", "demo-head-svc:6379")
		if err == nil {
			w.t.Errorf("the GCS has answered: %s", out)
		}
	})
}
