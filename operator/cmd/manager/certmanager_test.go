package main

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"math/big"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/keyutil"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/yaml"

	"github.com/raygate/raygate/operator/internal/webhook/certs"
)

// overlay renders an installation as `kubectl kustomize` does, with CRDs whose schemas are left out: kustomize takes long over those.
func overlay(t *testing.T, name string) []*unstructured.Unstructured {
	t.Helper()
	root, fs := filepath.Join("..", "..", "config"), filesys.MakeFsInMemory()
	err := filepath.WalkDir(root, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Ext(path) != ".yaml" {
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if filepath.Base(filepath.Dir(path)) == "bases" {
			crd := &unstructured.Unstructured{}
			if err := yaml.Unmarshal(data, &crd.Object); err != nil {
				return err
			}
			unstructured.RemoveNestedField(crd.Object, "spec", "versions")
			if data, err = yaml.Marshal(crd.Object); err != nil {
				return err
			}
		}
		relative, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		return fs.WriteFile(filepath.Join("/config", relative), data)
	})
	if err != nil {
		t.Fatal(err)
	}
	rendered, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(fs, "/config/"+name)
	if err != nil {
		t.Fatal(err)
	}
	var objects []*unstructured.Unstructured
	for _, r := range rendered.Resources() {
		data, err := r.MarshalJSON()
		if err != nil {
			t.Fatal(err)
		}
		u := &unstructured.Unstructured{}
		if err := json.Unmarshal(data, &u.Object); err != nil {
			t.Fatal(err)
		}
		objects = append(objects, u)
	}
	return objects
}

// certManager does the part of cert-manager that the overlay asks for: it issues Certificates, and injects the CA next to them.
type certManager struct {
	client       client.Client
	issuers      map[string]issuer
	certificates map[string]certificate
	// targets are the objects that want a CA, and want the Certificate of which, by kind and name.
	targets map[types.NamespacedName]string
}

type issuer struct {
	SelfSigned *struct{}
	CA         *struct{ SecretName string }
}

type certificate struct {
	SecretName, CommonName string
	IsCA                   bool
	Duration, RenewBefore  metav1.Duration
	DNSNames, Usages       []string
	IssuerRef              struct{ Kind, Name string }
	PrivateKey             struct{ RotationPolicy string }
}

func newCertManager(t *testing.T, c client.Client, objects []*unstructured.Unstructured) *certManager {
	t.Helper()
	cm := &certManager{client: c, issuers: map[string]issuer{}, certificates: map[string]certificate{}, targets: map[types.NamespacedName]string{}}
	read := func(u *unstructured.Unstructured, into any) {
		t.Helper()
		raw, err := json.Marshal(u.Object["spec"])
		if err == nil {
			err = json.Unmarshal(raw, into)
		}
		if err != nil || u.GetNamespace() != systemNamespace {
			t.Fatalf("%s %s/%s: %v", u.GetKind(), u.GetNamespace(), u.GetName(), err)
		}
	}
	for _, u := range objects {
		if from := u.GetAnnotations()["cert-manager.io/inject-ca-from"]; from != "" {
			cm.targets[types.NamespacedName{Namespace: u.GetKind(), Name: u.GetName()}] = strings.TrimPrefix(from, systemNamespace+"/")
		}
		switch u.GetKind() {
		case "Issuer":
			i := issuer{}
			read(u, &i)
			cm.issuers[u.GetName()] = i
		case "Certificate":
			cert := certificate{}
			read(u, &cert)
			cm.certificates[u.GetName()] = cert
		}
	}
	return cm
}

// signerOf is the Certificate of the CA that signs another; nil if it signs itself.
func (cm *certManager) signerOf(cert certificate) *certificate {
	i := cm.issuers[cert.IssuerRef.Name]
	if i.CA == nil {
		return nil
	}
	for _, signer := range cm.certificates {
		if signer.SecretName == i.CA.SecretName {
			return &signer
		}
	}
	return nil
}

// issueAll issues each Certificate once that of its CA is there.
func (cm *certManager) issueAll(ctx context.Context, t *testing.T) {
	t.Helper()
	for _, signed := range []bool{false, true} {
		for name, cert := range cm.certificates {
			if (cm.signerOf(cert) != nil) == signed {
				cm.issue(ctx, t, name)
			}
		}
	}
}

// issue makes the certificate, or renews it.
func (cm *certManager) issue(ctx context.Context, t *testing.T, name string) {
	t.Helper()
	cert, ok := cm.certificates[name]
	if !ok {
		t.Fatalf("the overlay has no Certificate %s", name)
	}
	secret := cm.secret(ctx, t, cert.SecretName)
	key := keyOf(t, secret)
	if key == nil || cert.PrivateKey.RotationPolicy != "Never" {
		var err error
		if key, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader); err != nil {
			t.Fatal(err)
		}
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: cert.CommonName}, DNSNames: cert.DNSNames,
		NotBefore: time.Now().Add(-time.Minute), NotAfter: time.Now().Add(cert.Duration.Duration),
		BasicConstraintsValid: true, IsCA: cert.IsCA, KeyUsage: x509.KeyUsageDigitalSignature,
	}
	if cert.Duration.Duration == 0 {
		template.NotAfter = time.Now().Add(90 * 24 * time.Hour) // by default
	}
	if cert.IsCA {
		template.KeyUsage |= x509.KeyUsageCertSign
	}
	if slices.Contains(cert.Usages, "server auth") {
		template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
	}
	parent, signer, ca := template, key, []byte(nil)
	if i := cm.issuers[cert.IssuerRef.Name]; i.CA != nil {
		of := cm.secret(ctx, t, i.CA.SecretName)
		block, _ := pem.Decode(of.Data["tls.crt"])
		var err error
		if parent, err = x509.ParseCertificate(block.Bytes); err != nil || !parent.IsCA {
			t.Fatalf("%s cannot sign: %v", i.CA.SecretName, err)
		}
		signer, ca = keyOf(t, of), of.Data["tls.crt"]
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, key.Public(), signer)
	if err != nil {
		t.Fatal(err)
	}
	keyPEM, err := keyutil.MarshalPrivateKeyToPEM(key)
	if err != nil {
		t.Fatal(err)
	}
	made := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	if ca == nil {
		ca = made
	}
	secret.Data = map[string][]byte{"tls.crt": made, "tls.key": keyPEM, "ca.crt": ca}
	if secret.UID == "" {
		err = cm.client.Create(ctx, secret)
	} else {
		err = cm.client.Update(ctx, secret)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// secret is the Secret, or a new one.
func (cm *certManager) secret(ctx context.Context, t *testing.T, name string) *corev1.Secret {
	t.Helper()
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: systemNamespace, Name: name}, Type: corev1.SecretTypeTLS}
	if err := cm.client.Get(ctx, client.ObjectKeyFromObject(secret), secret); client.IgnoreNotFound(err) != nil {
		t.Fatal(err)
	}
	return secret
}

func keyOf(t *testing.T, secret *corev1.Secret) *ecdsa.PrivateKey {
	t.Helper()
	if len(secret.Data["tls.key"]) == 0 {
		return nil
	}
	key, err := keyutil.ParsePrivateKeyPEM(secret.Data["tls.key"])
	if err != nil {
		t.Fatal(err)
	}
	return key.(*ecdsa.PrivateKey)
}

// inject does the work of the CA injector: it changes what has another CA than the annotation asks for.
func (cm *certManager) inject(ctx context.Context, t *testing.T) {
	t.Helper()
	if want := len(certs.CRDs) + 2; len(cm.targets) != want {
		t.Fatalf("%d objects want a CA, not %d: %v", len(cm.targets), want, cm.targets)
	}
	for target, name := range cm.targets {
		ca := base64.StdEncoding.EncodeToString(cm.secret(ctx, t, cm.certificates[name].SecretName).Data["ca.crt"])
		u := &unstructured.Unstructured{}
		u.SetAPIVersion("admissionregistration.k8s.io/v1")
		if target.Namespace == "CustomResourceDefinition" {
			u.SetAPIVersion("apiextensions.k8s.io/v1")
		}
		u.SetKind(target.Namespace)
		if err := cm.client.Get(ctx, client.ObjectKey{Name: target.Name}, u); err != nil {
			t.Fatal(err)
		}
		if before := u.DeepCopy(); setCA(u, ca) {
			if err := cm.client.Patch(ctx, u, client.MergeFrom(before)); err != nil {
				t.Fatal(fmt.Errorf("injecting the CA into %s: %w", target.Name, err))
			}
		}
	}
}

// setCA reports whether it has changed the object.
func setCA(u *unstructured.Unstructured, ca string) bool {
	configs := []any{}
	if u.GetKind() == "CustomResourceDefinition" {
		config, _, _ := unstructured.NestedFieldNoCopy(u.Object, "spec", "conversion", "webhook", "clientConfig")
		configs = append(configs, config)
	}
	hooks, _, _ := unstructured.NestedFieldNoCopy(u.Object, "webhooks")
	list, _ := hooks.([]any)
	for _, hook := range list {
		configs = append(configs, hook.(map[string]any)["clientConfig"])
	}
	changed := false
	for _, config := range configs {
		changed = changed || config.(map[string]any)["caBundle"] != ca
		config.(map[string]any)["caBundle"] = ca
	}
	return changed
}
