package config_test

import (
	"bytes"
	"context"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/raygate/raygate/operator/internal/webhook/certs"
	"github.com/raygate/raygate/test/controlplane"
)

const (
	namespace = "raygate-system"
	limit     = 2 * time.Minute
)

// TestManifestsApply installs every overlay on a real API server, one over the other, as an administrator does who turns
// webhooks on and changes the source of certificates. Then it lets the certificates be made and rotated.
func TestManifestsApply(t *testing.T) {
	ctrllog.SetLogger(logr.Discard())
	env := controlplane.Start(t, controlplane.Options{CRDs: controlplane.NoCRDs})
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, apiextensionsv1.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	c, err := client.New(env.Config, client.Options{Scheme: scheme})
	if err != nil {
		t.Fatal(err)
	}
	installCertManagerTypes(t, c)
	// With webhooks, back to none, and the last with the whole CRDs and for the test of certificates.
	var objects []*unstructured.Unstructured
	for _, overlay := range []string{"with-webhooks-cert-manager", "default", "with-policies", "with-webhooks-self-managed"} {
		t.Run(overlay, func(t *testing.T) {
			if overlay == "with-webhooks-self-managed" {
				objects = render(t, overlay, func(_ string, data []byte) []byte { return data })
			} else {
				objects = build(t, overlay, nil)
			}
			first := apply(t, c, objects)
			for key, version := range apply(t, c, objects) {
				// The status of these moves on meanwhile.
				if first[key] != version && !strings.HasPrefix(key, "Deployment ") && !strings.HasPrefix(key, "PodDisruptionBudget ") && !strings.HasPrefix(key, "CustomResourceDefinition ") && !strings.HasPrefix(key, "ValidatingAdmissionPolicy ") {
					t.Errorf("applying %s again changed it", key)
				}
			}
			awaitDeployment(t, c)
			checkConversion(t, c, hasWebhooks(overlay))
		})
	}
	t.Run("rotation", func(t *testing.T) { testRotation(t, env, c) })
	t.Run("certificates are kept", func(t *testing.T) {
		apply(t, c, objects)
		var secret corev1.Secret
		if err := c.Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: "raygate-webhook-cert"}, &secret); err != nil || len(secret.Data["tls.crt"]) == 0 {
			t.Errorf("after applying again the Secret has %d entries, %v", len(secret.Data), err)
		}
		for name, bundle := range bundles(t, c) {
			if len(bundle) == 0 {
				t.Errorf("after applying again %s has no CA", name)
			}
		}
	})
}

// installCertManagerTypes stands in for cert-manager: its kinds, and nobody who acts on them.
func installCertManagerTypes(t *testing.T, c client.Client) {
	t.Helper()
	for plural, kind := range map[string]string{"issuers": "Issuer", "certificates": "Certificate"} {
		crd := &apiextensionsv1.CustomResourceDefinition{
			ObjectMeta: metav1.ObjectMeta{Name: plural + ".cert-manager.io"},
			Spec: apiextensionsv1.CustomResourceDefinitionSpec{
				Group: "cert-manager.io", Scope: apiextensionsv1.NamespaceScoped,
				Names: apiextensionsv1.CustomResourceDefinitionNames{Plural: plural, Kind: kind},
				Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{Name: "v1", Served: true, Storage: true, Schema: &apiextensionsv1.CustomResourceValidation{
					OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{Type: "object", XPreserveUnknownFields: new(true)},
				}}},
			},
		}
		if err := c.Create(t.Context(), crd); err != nil {
			t.Fatal(err)
		}
	}
}

// apply does what `kubectl apply --server-side` does, and returns the version of each object after it.
func apply(t *testing.T, c client.Client, objects []*unstructured.Unstructured) map[string]string {
	t.Helper()
	versions := map[string]string{}
	for _, obj := range objects {
		obj := obj.DeepCopy()
		await(t, "applying "+obj.GetKind()+" "+obj.GetName(), func() error {
			err := c.Apply(t.Context(), client.ApplyConfigurationFromUnstructured(obj), client.FieldOwner("kubectl"), client.ForceOwnership)
			if err != nil && !meta.IsNoMatchError(err) {
				t.Fatalf("applying %s %s: %v", obj.GetKind(), obj.GetName(), err)
			}
			return err
		})
		versions[obj.GetKind()+" "+obj.GetName()] = obj.GetResourceVersion()
	}
	return versions
}

// awaitDeployment waits for Pods: they exist only if the Pod security of the namespace lets them in.
func awaitDeployment(t *testing.T, c client.Client) {
	t.Helper()
	await(t, "the Pods of the operator", func() error {
		var d appsv1.Deployment
		if err := c.Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: "raygate-operator"}, &d); err != nil {
			return err
		}
		if d.Status.ObservedGeneration < d.Generation || d.Status.AvailableReplicas != *d.Spec.Replicas || d.Status.UpdatedReplicas != *d.Spec.Replicas {
			return fmt.Errorf("status %+v", d.Status)
		}
		return nil
	})
}

func checkConversion(t *testing.T, c client.Client, webhooks bool) {
	t.Helper()
	for _, name := range certs.CRDs {
		var crd apiextensionsv1.CustomResourceDefinition
		if err := c.Get(t.Context(), client.ObjectKey{Name: name}, &crd); err != nil {
			t.Fatal(err)
		}
		want := apiextensionsv1.NoneConverter
		if webhooks {
			want = apiextensionsv1.WebhookConverter
		}
		if crd.Spec.Conversion.Strategy != want {
			t.Errorf("%s converts by %s, want %s", name, crd.Spec.Conversion.Strategy, want)
		}
	}
}

func await(t *testing.T, what string, check func() error) {
	t.Helper()
	var err error
	for deadline := time.Now().Add(limit); time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
		if err = check(); err == nil {
			return
		}
	}
	t.Fatalf("waiting for %s: %v", what, err)
}

// bundles are the CAs that the API server has for each of ours.
func bundles(t *testing.T, c client.Client) map[string][]byte {
	t.Helper()
	out := map[string][]byte{}
	for _, name := range certs.CRDs {
		var crd apiextensionsv1.CustomResourceDefinition
		if err := c.Get(t.Context(), client.ObjectKey{Name: name}, &crd); err != nil {
			t.Fatal(err)
		}
		out[name] = crd.Spec.Conversion.Webhook.ClientConfig.CABundle
	}
	var validating admissionregistrationv1.ValidatingWebhookConfiguration
	if err := c.Get(t.Context(), client.ObjectKey{Name: "raygate-validating-webhook"}, &validating); err != nil {
		t.Fatal(err)
	}
	for _, w := range validating.Webhooks {
		out[w.Name] = w.ClientConfig.CABundle
	}
	var mutating admissionregistrationv1.MutatingWebhookConfiguration
	if err := c.Get(t.Context(), client.ObjectKey{Name: "raygate-mutating-webhook"}, &mutating); err != nil {
		t.Fatal(err)
	}
	for _, w := range mutating.Webhooks {
		out[w.Name] = w.ClientConfig.CABundle
	}
	return out
}

// testRotation makes certificates where there is no Secret yet, then loses the CA.
func testRotation(t *testing.T, env *controlplane.Env, c client.Client) {
	key := client.ObjectKey{Namespace: namespace, Name: "raygate-webhook-cert"}
	dir := t.TempDir()
	ctx, cancel := context.WithCancel(t.Context())
	var mounting sync.WaitGroup
	defer mounting.Wait() // or it would write into the folder that is being removed
	defer cancel()
	mounting.Go(func() { mount(ctx, c, key, dir) })

	scheme := runtime.NewScheme()
	if err := clientgoscheme.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	mgr, err := ctrl.NewManager(env.Config, ctrl.Options{Scheme: scheme, Metrics: metricsserver.Options{BindAddress: "0"}})
	if err != nil {
		t.Fatal(err)
	}
	ready, err := certs.Add(ctx, mgr, certs.Options{
		Namespace: namespace, Secret: key.Name, Dir: dir, Service: "raygate-webhook",
		ValidatingConfiguration: "raygate-validating-webhook", MutatingConfiguration: "raygate-mutating-webhook",
	})
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- mgr.Start(ctx) }()
	select {
	case <-ready:
	case err := <-ended:
		t.Fatalf("the manager ended: %v", err)
	case <-time.After(limit):
		t.Fatal("no certificate came about")
	}
	first := served(t, dir)
	verifyEverywhere(t, c, first)

	// A CA without its key cannot sign any more, so a new one is made. It must not drive out the old one, whose
	// certificate is still being served.
	var secret corev1.Secret
	if err := c.Get(ctx, key, &secret); err != nil {
		t.Fatal(err)
	}
	before := secret.Data["tls.crt"]
	delete(secret.Data, "ca.key")
	if err := c.Update(ctx, &secret); err != nil {
		t.Fatal(err)
	}
	await(t, "a new certificate", func() error {
		if bytes.Equal(served(t, dir), before) {
			return fmt.Errorf("the old one is served")
		}
		return nil
	})
	second := served(t, dir)
	await(t, "the new CA everywhere", func() error {
		for name, bundle := range bundles(t, c) {
			if err := verify(bundle, second); err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
		}
		return nil
	})
	verifyEverywhere(t, c, first)
	verifyEverywhere(t, c, second)
	cancel()
	if err := <-ended; err != nil {
		t.Errorf("the manager ended with %v", err)
	}
}

func verifyEverywhere(t *testing.T, c client.Client, cert []byte) {
	t.Helper()
	all := bundles(t, c)
	if want := len(certs.CRDs) + 4 + 3; len(all) != want {
		t.Errorf("%d places for the CA, want %d", len(all), want)
	}
	for name, bundle := range all {
		if err := verify(bundle, cert); err != nil {
			t.Errorf("%s does not trust the certificate: %v", name, err)
		}
	}
}

func verify(bundle, cert []byte) error {
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(bundle) {
		return fmt.Errorf("no CA in a bundle of %d bytes", len(bundle))
	}
	block, _ := pem.Decode(cert)
	if block == nil {
		return fmt.Errorf("no certificate in %d bytes", len(cert))
	}
	leaf, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		return err
	}
	_, err = leaf.Verify(x509.VerifyOptions{Roots: roots, DNSName: "raygate-webhook." + namespace + ".svc"})
	return err
}

func served(t *testing.T, dir string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, "tls.crt"))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// mount does a kubelet's work: it copies the Secret into the folder whenever it changes.
func mount(ctx context.Context, c client.Client, key client.ObjectKey, dir string) {
	for ctx.Err() == nil {
		var secret corev1.Secret
		if err := c.Get(ctx, key, &secret); err == nil {
			for name, data := range secret.Data {
				_ = os.WriteFile(filepath.Join(dir, name+".new"), data, 0o600)
				_ = os.Rename(filepath.Join(dir, name+".new"), filepath.Join(dir, name))
			}
		}
		select {
		case <-ctx.Done():
		case <-time.After(100 * time.Millisecond):
		}
	}
}
