package raycluster

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"slices"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/raygate/raygate/operator/internal/build/cert"
)

// signer does for the Certificates of a namespace what cert-manager does: it fills their Secrets, and then says so.
type signer struct {
	client client.Client
	// issues says that it works; until then Certificates wait.
	issues atomic.Bool
	// expire makes it issue, once for each Certificate that changes, what ends in this time; zero means 90 days.
	expire atomic.Int64
}

// startSigner serves the kinds and starts to work on them, until the end of the test.
func (w *world) startSigner() *signer {
	w.T.Helper()
	w.Install(cert.IssuerKind, cert.CertificateKind)
	mgr := w.Manager(nil, nil)
	m := &signer{client: w.Client}
	certificates := &unstructured.Unstructured{}
	certificates.SetGroupVersionKind(cert.CertificateKind)
	err := ctrl.NewControllerManagedBy(mgr).Named("certificates").For(certificates).
		WithOptions(controller.Options{SkipNameValidation: new(true)}).Complete(m)
	if err != nil {
		w.T.Fatal(err)
	}
	w.Start(mgr)
	return m
}

// Reconcile implements reconcile.Reconciler.
func (m *signer) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	again := reconcile.Result{RequeueAfter: 100 * time.Millisecond}
	if !m.issues.Load() {
		return again, nil
	}
	c := &unstructured.Unstructured{}
	c.SetGroupVersionKind(cert.CertificateKind)
	if err := m.client.Get(ctx, req.NamespacedName, c); err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	if issuedFor, _, _ := unstructured.NestedInt64(c.Object, "status", "issuedFor"); issuedFor == c.GetGeneration() {
		return reconcile.Result{}, nil
	}
	signed, err := m.sign(ctx, c)
	if errors.Is(err, errNoAuthority) {
		return again, nil
	}
	if err != nil {
		return reconcile.Result{}, err
	}
	name, _, _ := unstructured.NestedString(c.Object, "spec", "secretName")
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: c.GetNamespace(), Name: name}}
	err = m.client.Get(ctx, client.ObjectKeyFromObject(secret), secret)
	secret.Data, secret.Type = signed.secret, corev1.SecretTypeTLS
	switch {
	case err == nil:
		err = m.client.Update(ctx, secret)
	case client.IgnoreNotFound(err) == nil:
		err = m.client.Create(ctx, secret)
	}
	if err != nil {
		return reconcile.Result{}, fmt.Errorf("writing Secret %s: %w", name, err)
	}
	c.Object["status"] = map[string]any{
		"issuedFor":  c.GetGeneration(),
		"notAfter":   signed.end.Format(time.RFC3339),
		"conditions": []any{map[string]any{"type": "Ready", "status": "True", "observedGeneration": c.GetGeneration()}},
	}
	err = m.client.Status().Update(ctx, c)
	if apierrors.IsConflict(err) {
		return again, nil // there are more addresses already
	}
	return reconcile.Result{}, err
}

var errNoAuthority = errors.New("the authority is not there yet")

type signed struct {
	secret map[string][]byte
	end    time.Time
}

// sign makes a key pair as the Certificate and its issuer say. Keys are of a kind that takes no time to make.
func (m *signer) sign(ctx context.Context, c *unstructured.Unstructured) (signed, error) {
	spec, _, _ := unstructured.NestedMap(c.Object, "spec")
	hosts, _, _ := unstructured.NestedStringSlice(spec, "dnsNames")
	addresses, _, _ := unstructured.NestedStringSlice(spec, "ipAddresses")
	commonName, _, _ := unstructured.NestedString(spec, "commonName")
	authority, _, _ := unstructured.NestedBool(spec, "isCA")
	usages, _, _ := unstructured.NestedStringSlice(spec, "usages")
	lasts := 90 * 24 * time.Hour
	if d := m.expire.Load(); d > 0 && !authority {
		lasts = time.Duration(d)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: commonName}, DNSNames: hosts,
		NotBefore: time.Now().Add(-time.Minute), NotAfter: time.Now().Add(lasts).UTC(), IsCA: authority, BasicConstraintsValid: true,
	}
	for _, ip := range addresses {
		template.IPAddresses = append(template.IPAddresses, net.ParseIP(ip))
	}
	for usage, bit := range map[string]x509.KeyUsage{
		"digital signature": x509.KeyUsageDigitalSignature, "key encipherment": x509.KeyUsageKeyEncipherment, "cert sign": x509.KeyUsageCertSign, "crl sign": x509.KeyUsageCRLSign,
	} {
		if slices.Contains(usages, usage) {
			template.KeyUsage |= bit
		}
	}
	for usage, extended := range map[string]x509.ExtKeyUsage{"server auth": x509.ExtKeyUsageServerAuth, "client auth": x509.ExtKeyUsageClientAuth} {
		if slices.Contains(usages, usage) {
			template.ExtKeyUsage = append(template.ExtKeyUsage, extended)
		}
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return signed{}, err
	}
	parent, parentKey, ca, err := m.issuer(ctx, c)
	if err != nil {
		return signed{}, err
	}
	if parent == nil { // it signs itself
		parent, parentKey = template, key
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, key.Public(), parentKey)
	if err != nil {
		return signed{}, err
	}
	keyDER, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return signed{}, err
	}
	crt := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	if ca == nil {
		ca = crt
	}
	return signed{end: template.NotAfter, secret: map[string][]byte{
		cert.KeyCertificate: crt, cert.KeyAuthority: ca,
		cert.KeyPrivate: pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: keyDER}),
	}}, nil
}

// issuer is the authority behind the issuer of the Certificate, nil if that signs itself.
func (m *signer) issuer(ctx context.Context, c *unstructured.Unstructured) (*x509.Certificate, *ecdsa.PrivateKey, []byte, error) {
	name, _, _ := unstructured.NestedString(c.Object, "spec", "issuerRef", "name")
	o := &unstructured.Unstructured{}
	o.SetGroupVersionKind(cert.IssuerKind)
	if err := m.client.Get(ctx, client.ObjectKey{Namespace: c.GetNamespace(), Name: name}, o); err != nil {
		return nil, nil, nil, errors.Join(errNoAuthority, err)
	}
	secretName, signs, _ := unstructured.NestedString(o.Object, "spec", "ca", "secretName")
	if !signs {
		return nil, nil, nil, nil
	}
	secret := &corev1.Secret{}
	if err := m.client.Get(ctx, client.ObjectKey{Namespace: c.GetNamespace(), Name: secretName}, secret); err != nil {
		return nil, nil, nil, errors.Join(errNoAuthority, err)
	}
	crt, _ := pem.Decode(secret.Data[cert.KeyCertificate])
	key, _ := pem.Decode(secret.Data[cert.KeyPrivate])
	if crt == nil || key == nil {
		return nil, nil, nil, fmt.Errorf("no key pair in Secret %s", secretName)
	}
	parent, err := x509.ParseCertificate(crt.Bytes)
	if err != nil {
		return nil, nil, nil, err
	}
	parentKey, err := x509.ParseECPrivateKey(key.Bytes)
	return parent, parentKey, secret.Data[cert.KeyCertificate], err
}
