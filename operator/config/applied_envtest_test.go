package config_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/go-logr/logr"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/raygate/raygate/internal/testing/await"
	"github.com/raygate/raygate/operator/internal/webhook/certs"
	"github.com/raygate/raygate/test/controlplane"
)

const namespace = "raygate-system"

// controlPlane has no CRDs: the tests install those of overlays, each over what is there.
var controlPlane = controlplane.Share(controlplane.Options{CRDs: controlplane.NoCRDs, Own: true})

func TestMain(m *testing.M) {
	ctrllog.SetLogger(logr.Discard())
	controlPlane.Main(m)
}

// TestManifestsApply installs every overlay on a real API server, one over the other, as an administrator does who turns
// webhooks on and changes the source of certificates. What the operator fills in for certificates is left alone.
func TestManifestsApply(t *testing.T) {
	c, ca := connect(t)
	installCertManagerTypes(t, c)
	// With webhooks, back to none, and the last for the test of certificates.
	var objects []*unstructured.Unstructured
	for _, overlay := range []string{"with-webhooks-cert-manager", "default", "with-policies", "with-webhooks-self-managed"} {
		t.Run(overlay, func(t *testing.T) {
			objects = build(t, overlay, nil)
			first := apply(t, c, objects)
			for key, version := range apply(t, c, withoutStatus(objects)) {
				if first[key] != version {
					t.Errorf("applying %s again changed it", key)
				}
			}
			awaitDeployment(t, c)
			checkConversion(t, c, hasWebhooks(overlay))
		})
	}
	t.Run("CAs are kept", func(t *testing.T) {
		fillIn(t, c, ca) // as the operator does
		apply(t, c, slices.DeleteFunc(objects, isPolicy))
		for name, bundle := range bundles(t, c) {
			if len(bundle) == 0 {
				t.Errorf("after applying again %s has no CA", name)
			}
		}
	})
}

// withoutStatus leaves out what others write a status into meanwhile, which has another version then.
func withoutStatus(objects []*unstructured.Unstructured) []*unstructured.Unstructured {
	changing := []string{"Deployment", "PodDisruptionBudget", "CustomResourceDefinition", "ValidatingAdmissionPolicy"}
	return slices.DeleteFunc(slices.Clone(objects), func(o *unstructured.Unstructured) bool { return slices.Contains(changing, o.GetKind()) })
}

// isPolicy is true of what the API server takes most of a second of CPU to compile.
func isPolicy(o *unstructured.Unstructured) bool { return o.GetKind() == "ValidatingAdmissionPolicy" }

// connect returns a client of the control plane, and its CA.
func connect(t *testing.T) (c client.Client, ca []byte) {
	t.Helper()
	env, scheme := controlPlane.Env(t), controlplane.Scheme(t)
	if err := apiextensionsv1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	c, err := client.New(env.Config, client.Options{Scheme: scheme})
	if err != nil {
		t.Fatal(err)
	}
	return c, env.Config.CAData
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
		await.NoError(t, "applying "+obj.GetKind()+" "+obj.GetName(), func() error {
			err := c.Apply(t.Context(), client.ApplyConfigurationFromUnstructured(obj), client.FieldOwner("kubectl"), client.ForceOwnership)
			if err != nil && !meta.IsNoMatchError(err) && !apierrors.IsTimeout(err) { // a busy machine compiles rules for longer than a request may take
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
	await.NoError(t, "the Pods of the operator", func() error {
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

// bundles returns the CAs in the API server for each of the operator's objects.
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

// fillIn writes a CA to where the operator writes its own.
func fillIn(t *testing.T, c client.Client, ca []byte) {
	t.Helper()
	save := func(o client.Object, name string, change func()) {
		t.Helper()
		await.NoError(t, "the CA of "+name, func() error {
			if err := c.Get(t.Context(), client.ObjectKey{Name: name}, o); err != nil {
				return err
			}
			change()
			return c.Update(t.Context(), o)
		})
	}
	for _, name := range certs.CRDs {
		crd := &apiextensionsv1.CustomResourceDefinition{}
		save(crd, name, func() { crd.Spec.Conversion.Webhook.ClientConfig.CABundle = ca })
	}
	validating := &admissionregistrationv1.ValidatingWebhookConfiguration{}
	save(validating, "raygate-validating-webhook", func() {
		for i := range validating.Webhooks {
			validating.Webhooks[i].ClientConfig.CABundle = ca
		}
	})
	mutating := &admissionregistrationv1.MutatingWebhookConfiguration{}
	save(mutating, "raygate-mutating-webhook", func() {
		for i := range mutating.Webhooks {
			mutating.Webhooks[i].ClientConfig.CABundle = ca
		}
	})
}
