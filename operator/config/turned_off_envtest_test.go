package config_test

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/cert"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/raygate/raygate/operator/internal/webhook/certs"
)

// Webhooks can be turned off as docs/webhooks.md says, although the operator, or cert-manager, has written a CA into the conversion of the CRDs: server-side apply
// takes out what it has put in, and the CA without the rest is refused, so that the patch comes first.
func TestWebhooksAreTurnedOff(t *testing.T) {
	c, _ := connect(t)
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
	needsReplace(t, c, build(t, "default", nil))
	for _, name := range certs.CRDs {
		patch := client.RawPatch(types.MergePatchType, []byte(documentedPatch(t)))
		if err := c.Patch(t.Context(), &apiextensionsv1.CustomResourceDefinition{ObjectMeta: metav1.ObjectMeta{Name: name}}, patch); err != nil {
			t.Fatal(err)
		}
	}
	apply(t, c, build(t, "default", nil))
	checkConversion(t, c, false)
	again := build(t, "with-webhooks-self-managed", nil)
	needsForce(t, c, again)
	apply(t, c, again)
	checkConversion(t, c, true)
}

// needsReplace: without the patch, an apply is refused, because the operator owns the CA, and an update is not, which Argo CD and Flux do as
// docs/howto-gitops.md says.
func needsReplace(t *testing.T, c client.Client, objects []*unstructured.Unstructured) {
	t.Helper()
	for _, obj := range objects {
		if !slices.Contains(certs.CRDs, obj.GetName()) {
			continue
		}
		err := c.Apply(t.Context(), client.ApplyConfigurationFromUnstructured(obj.DeepCopy()), client.FieldOwner("kubectl"), client.ForceOwnership, client.DryRunAll)
		if !apierrors.IsInvalid(err) || !strings.Contains(err.Error(), "spec.conversion") {
			t.Errorf("applying %s: %v, want a refusal of spec.conversion", obj.GetName(), err)
		}
		var found apiextensionsv1.CustomResourceDefinition
		if err := c.Get(t.Context(), client.ObjectKeyFromObject(obj), &found); err != nil {
			t.Fatal(err)
		}
		obj.SetResourceVersion(found.ResourceVersion)
		if err := c.Update(t.Context(), obj, client.DryRunAll); err != nil {
			t.Errorf("replacing %s: %v", obj.GetName(), err)
		}
	}
}

// needsForce: the manager of the patch owns spec.conversion, so that kubectl and Helm 4 must be given --force-conflicts, as docs/webhooks.md and docs/install.md say.
func needsForce(t *testing.T, c client.Client, objects []*unstructured.Unstructured) {
	t.Helper()
	for _, obj := range objects {
		if obj.GetKind() != "CustomResourceDefinition" || obj.GetName() == "raycronjobs.ray.io" { // RayCronJob has nothing to convert
			continue
		}
		err := c.Apply(t.Context(), client.ApplyConfigurationFromUnstructured(obj.DeepCopy()), client.FieldOwner("kubectl"), client.DryRunAll)
		if !apierrors.IsConflict(err) || !strings.Contains(err.Error(), ".spec.conversion.strategy") {
			t.Errorf("applying %s without force: %v, want a conflict about spec.conversion.strategy", obj.GetName(), err)
		}
	}
}

// documentedPatch is the one of docs/webhooks.md.
func documentedPatch(t *testing.T) string {
	t.Helper()
	data, err := os.ReadFile("../../docs/webhooks.md")
	if err != nil {
		t.Fatal(err)
	}
	found := regexp.MustCompile(`kubectl patch crd .* --type=merge -p '(\{"spec".*\})'`).FindSubmatch(data)
	if found == nil {
		t.Fatal("docs/webhooks.md names no patch")
	}
	return string(found[1])
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
