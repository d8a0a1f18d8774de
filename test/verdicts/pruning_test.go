package verdicts

import (
	"encoding/json"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestPruningAndDefaultsOfEachVersion: unknown fields do not reach etcd through any version, nulls are dropped or replaced by
// the default, and what every object has stays.
func TestPruningAndDefaultsOfEachVersion(t *testing.T) {
	needLab(t)
	for _, plural := range plurals {
		for _, version := range servedVersions(t, plural) {
			t.Run(plural+" "+version, func(t *testing.T) {
				u := smallest(t, plural, version, "garbage-"+version, ", someGarbage: 1, enableInTreeAutoscaling: null, autoscalerOptions: null",
					", someGarbage: {deep: [1]}, replicas: null, minReplicas: null, maxReplicas: null")
				u.Object["someGarbage"] = "at the root"
				u.Object["spec"].(map[string]any)["someGarbage"] = []any{"x"}
				u.Object["metadata"].(map[string]any)["someGarbage"] = "x"
				u.SetLabels(map[string]string{"a": "b"})
				got, err := atVersion(version, plural).Create(t.Context(), u, metav1.CreateOptions{})
				if err != nil {
					t.Fatal(err)
				}
				inEtcd := lab.Stored(t, "ray.io/"+plural, namespace, u.GetName())
				for where, object := range map[string]map[string]any{"the answer": got.Object, "etcd": inEtcd} {
					delete(object["metadata"].(map[string]any), "managedFields")
					text, err := json.Marshal(object)
					if err != nil {
						t.Fatal(err)
					}
					for _, gone := range []string{"someGarbage", "null", "enableInTreeAutoscaling", "autoscalerOptions"} {
						if strings.Contains(string(text), gone) {
							t.Errorf("%s has %s: %s", where, gone, text)
						}
					}
					for _, kept := range []string{`"replicas":0`, `"minReplicas":0`, `"maxReplicas":2147483647`, `"labels":{"a":"b"}`} {
						if !strings.Contains(string(text), kept) {
							t.Errorf("%s lacks %s: %s", where, kept, text)
						}
					}
				}
				if inEtcd["apiVersion"] != "ray.io/v1" {
					t.Errorf("stored as %v", inEtcd["apiVersion"])
				}
			})
		}
	}
}
