package verdicts

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// TestPoliciesSeeV1alpha1 pins who validates writes through the old version: its schema has no rules, policies see it as v1, and
// what came in ratchets in v1 as anything else does.
func TestPoliciesSeeV1alpha1(t *testing.T) {
	needLab(t)
	old := lab.dynamic.Resource(oldRayClusters).Namespace(nsOldVersion)
	again := past.old.DeepCopy()
	again.SetName("without-policies")
	if _, err := old.Create(t.Context(), again, dryCreate); err != nil {
		t.Errorf("the schema of the old version refuses: %v", err)
	}
	if err := askPoliciesAbout(t.Context(), nsOldVersion); err != nil {
		t.Fatal(err)
	}
	if _, err := old.Create(t.Context(), again, dryCreate); err == nil || !strings.Contains(err.Error(), "RC-530") {
		t.Errorf("the policies say %v, want a refusal for RC-530", err)
	}
	clusters := kindOf("RayCluster").Namespace(nsOldVersion)
	for body, want := range map[string]string{
		`[{"op":"replace","path":"/spec/workerGroupSpecs/0/replicas","value":2}]`:                                                                                            "",
		`[{"op":"add","path":"/spec/workerGroupSpecs/-","value":{"groupName":"more","minReplicas":11,"maxReplicas":5,"template":{"spec":{"containers":[{"name":"ray"}]}}}}]`: "RC-042",
		`[{"op":"add","path":"/spec/headGroupSpec/rayStartParams/port","value":"1"}]`:                                                                                        "",
	} {
		_, err := clusters.Patch(t.Context(), past.old.GetName(), types.JSONPatchType, []byte(body), metav1.PatchOptions{})
		wantRefusal(t, body, err, want)
	}
}
