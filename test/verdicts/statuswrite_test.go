package verdicts

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// TestStatusHidesNoSpec: rules on Pods are not asked in writes of the status. A request that changes the status as well gets no wrong spec stored:
// the API server keeps the status in writes of the object, and the spec in writes of the status.
func TestStatusHidesNoSpec(t *testing.T) {
	needLab(t)
	for plural, at := range map[string]string{"rayclusters": `{"spec":%}`, "rayservices": `{"spec":{"rayClusterConfig":%}}`} {
		t.Run(plural, func(t *testing.T) {
			const name = "status-hides-no-spec"
			client := resourceOf(plural)
			if _, err := client.Create(t.Context(), smallest(t, plural, "v1", name, "", ""), metav1.CreateOptions{}); err != nil {
				t.Fatal(err)
			}
			wrong := strings.Replace(at, "%", `{"headGroupSpec":{"template":{"spec":{"containers":[]}}}}`, 1)
			both := strings.TrimSuffix(wrong, "}") + `,"status":{"lastUpdateTime":"2026-01-02T03:04:05Z"}}`
			patch := func(body string, subresources ...string) error {
				_, err := client.Patch(t.Context(), name, types.MergePatchType, []byte(body), metav1.PatchOptions{}, subresources...)
				return err
			}
			wantRefusal(t, "a wrong spec", patch(wrong), "RC-033")
			wantRefusal(t, "a wrong spec with another status", patch(both), "RC-033")
			wantRefusal(t, "a write of the status with a wrong spec", patch(both, "status"), "")
			wantRefusal(t, "a wrong spec after a status was written", patch(both), "RC-033")
			u, err := client.Get(t.Context(), name, metav1.GetOptions{})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := client.Update(t.Context(), u, metav1.UpdateOptions{}); err != nil {
				t.Errorf("the object that is stored is refused: %v", err)
			}
		})
	}
}
