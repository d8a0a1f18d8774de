package config_test

import (
	"testing"

	"github.com/go-logr/logr"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/util/cert"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/raygate/raygate/operator/internal/webhook/certs"
	"github.com/raygate/raygate/test/envtest"
)

// Webhooks can be turned off by applying default, although the operator, or cert-manager, has written a CA into the conversion of the CRDs: what is left
// of that would be refused without the rest.
func TestWebhooksAreTurnedOff(t *testing.T) {
	ctrllog.SetLogger(logr.Discard())
	env := envtest.Start(t, envtest.Options{WithoutCRDs: true})
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
	apply(t, c, build(t, "with-webhooks-self-managed", nil))
	for _, name := range certs.CRDs {
		var crd apiextensionsv1.CustomResourceDefinition
		if err := c.Get(t.Context(), client.ObjectKey{Name: name}, &crd); err != nil {
			t.Fatal(err)
		}
		crd.Spec.Conversion.Webhook.ClientConfig.CABundle = authority(t)
		if err := c.Update(t.Context(), &crd, client.FieldOwner("raygate-operator")); err != nil {
			t.Fatal(err)
		}
	}
	apply(t, c, build(t, "default", nil))
	checkConversion(t, c, false)
	apply(t, c, build(t, "with-webhooks-self-managed", nil))
	checkConversion(t, c, true)
}

// authority is the certificate of some CA.
func authority(t *testing.T) []byte {
	t.Helper()
	certificate, _, err := cert.GenerateSelfSignedCertKey("authority.example.org", nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	return certificate
}
