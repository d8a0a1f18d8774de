package config_test

import (
	"strings"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"
)

// TestWholeManifestsApply installs an overlay with the schemas and rules of the CRDs, which the other tests leave out: each write of one takes the API
// server seconds of CPU.
func TestWholeManifestsApply(t *testing.T) {
	c, _ := connect(t)
	objects := render(t, "with-webhooks-self-managed", func(_ string, data []byte) []byte { return data })
	apply(t, c, objects)
	for _, obj := range objects {
		if strings.HasPrefix(obj.GetKind(), "ValidatingAdmissionPolicy") {
			// Helm applies them over kubectl's, with the same content.
			if err := c.Apply(t.Context(), client.ApplyConfigurationFromUnstructured(obj.DeepCopy()), client.FieldOwner("helm")); err != nil {
				t.Errorf("applying %s %s as another field manager: %v", obj.GetKind(), obj.GetName(), err)
			}
		}
	}
	awaitDeployment(t, c)
	checkConversion(t, c, true)
}
