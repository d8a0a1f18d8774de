package certs

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/raygate/raygate/test/controlplane"
)

const limit = 3 * time.Minute

// TestReadyOnceMountedAndKnown: a new installation is not ready before its certificate is mounted, and then the API server knows the CA.
func TestReadyOnceMountedAndKnown(t *testing.T) {
	env := controlplane.Start(t, controlplane.Options{CRDs: controlplane.NoCRDs, Own: true, Nodes: -1, WithoutScheduler: true, WithoutControllerManager: true})
	c, err := client.New(env.Config, client.Options{Scheme: clientgoscheme.Scheme})
	if err != nil {
		t.Fatal(err)
	}
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "cert"}}
	config := &admissionregistrationv1.ValidatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: "validating"},
		Webhooks: []admissionregistrationv1.ValidatingWebhook{{
			Name: "a.ray.io", AdmissionReviewVersions: []string{"v1"}, SideEffects: new(admissionregistrationv1.SideEffectClassNone),
			ClientConfig: admissionregistrationv1.WebhookClientConfig{Service: &admissionregistrationv1.ServiceReference{Namespace: "default", Name: "hooks"}},
		}},
	}
	for _, o := range []client.Object{secret, config} {
		if err := c.Create(t.Context(), o); err != nil {
			t.Fatal(err)
		}
	}
	mgr, err := ctrl.NewManager(env.Config, ctrl.Options{Scheme: clientgoscheme.Scheme, Metrics: metricsserver.Options{BindAddress: "0"}})
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	ready, err := Add(ctx, mgr, Options{
		Namespace: "default", Secret: "cert", Dir: dir, Service: "hooks", ValidatingConfiguration: "validating", MutatingConfiguration: "mutating",
	})
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- mgr.Start(ctx) }()
	defer func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("the manager ended: %v", err)
		}
	}()
	for until := time.Now().Add(limit); len(config.Webhooks[0].ClientConfig.CABundle) == 0; time.Sleep(100 * time.Millisecond) {
		if err := c.Get(t.Context(), client.ObjectKeyFromObject(config), config); err != nil || time.Now().After(until) {
			t.Fatalf("the API server does not get to know the CA: %v", err)
		}
	}
	select {
	case <-ready:
		t.Error("ready without a certificate")
	default:
	}
	if err := c.Get(t.Context(), client.ObjectKeyFromObject(secret), secret); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"tls.key", "tls.crt"} { // as a kubelet mounts it
		if err := os.WriteFile(filepath.Join(dir, name), secret.Data[name], 0o600); err != nil {
			t.Fatal(err)
		}
	}
	select {
	case <-ready:
	case <-time.After(limit):
		t.Error("not ready with a certificate that the API server trusts")
	}
	// A deleted Secret is created anew, and filled.
	deleted := secret.UID
	if err := c.Delete(t.Context(), secret); err != nil {
		t.Fatal(err)
	}
	for until := time.Now().Add(limit); ; time.Sleep(100 * time.Millisecond) {
		again := &corev1.Secret{}
		err := c.Get(t.Context(), client.ObjectKeyFromObject(secret), again)
		if err == nil && again.UID != deleted && len(again.Data["tls.crt"]) > 0 {
			return
		}
		if time.Now().After(until) {
			t.Fatalf("the deleted Secret is not back with a certificate: %v", err)
		}
	}
}
