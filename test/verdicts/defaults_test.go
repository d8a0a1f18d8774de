package verdicts

import (
	"encoding/json"
	"fmt"
	"maps"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
)

// withDefaults is the spec of the smallest object as v1 shows it: it has every default that needs no parent.
func withDefaults(t *testing.T, plural string) map[string]any {
	t.Helper()
	spec := smallest(t, plural, "v1", "a", "", ", replicas: 0, minReplicas: 0, maxReplicas: 2147483647, numOfHosts: 1, priority: 0").Object["spec"].(map[string]any)
	ofJob := map[string]any{"submissionMode": "K8sJobMode", "backoffLimit": int64(0), "ttlSecondsAfterFinished": int64(0)}
	switch plural {
	case "rayjobs":
		maps.Copy(spec, ofJob)
	case "raycronjobs":
		maps.Copy(spec["jobTemplate"].(map[string]any), ofJob)
	}
	return spec
}

// TestDefaultsThroughEachVersion: an object that says as little as possible shows the same defaults in v1
// whichever version it came through. Parents that are absent stay absent.
func TestDefaultsThroughEachVersion(t *testing.T) {
	needLab(t)
	for _, plural := range plurals {
		want := withDefaults(t, plural)
		for _, version := range servedVersions(t, plural) {
			t.Run(plural+" "+version, func(t *testing.T) {
				name := "minimal-" + version
				if _, err := atVersion(version, plural).Create(t.Context(), smallest(t, plural, version, name, "", ""), metav1.CreateOptions{}); err != nil {
					t.Fatal(err)
				}
				got, err := atVersion("v1", plural).Get(t.Context(), name, metav1.GetOptions{})
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(want, got.Object["spec"]); diff != "" {
					t.Errorf("v1 shows (-want +got):\n%s", diff)
				}
				// What is stored lacks the defaults of fields that the version of the request does not have, until
				// somebody writes v1.
				if _, err := atVersion("v1", plural).Patch(t.Context(), name, types.MergePatchType, []byte(`{"metadata":{"labels":{"l":"v"}}}`), metav1.PatchOptions{}); err != nil {
					t.Fatal(err)
				}
				if got, want := fmt.Sprint(lab.Stored(t, "ray.io/"+plural, namespace, name)["spec"]), fmt.Sprint(throughJSON(t, want)); got != want {
					t.Errorf("after a write of v1 etcd has %s, want %s", got, want)
				}
			})
		}
	}
}

// throughJSON is an object as encoding/json decodes it, with all numbers as float64.
func throughJSON(t *testing.T, object map[string]any) map[string]any {
	t.Helper()
	var out map[string]any
	if err := json.Unmarshal(jsonOf(object), &out); err != nil {
		t.Fatal(err)
	}
	return out
}

// TestDefaultsBelowOptionalParents: a default inside of an optional object appears when the object is there, and
// does not bring the object about.
func TestDefaultsBelowOptionalParents(t *testing.T) {
	needLab(t)
	for name, tc := range map[string]struct {
		plural, path, given, want string
	}{
		"a network policy":             {"rayclusters", "spec.networkPolicy", "{}", "{mode: DenyAll}"},
		"a network policy with a mode": {"rayclusters", "spec.networkPolicy", "{mode: DenyAllEgress}", "{mode: DenyAllEgress}"},
		"the same, of a cron job":      {"raycronjobs", "spec.jobTemplate.rayClusterSpec.networkPolicy", "{}", "{mode: DenyAll}"},
		"options of the autoscaler":    {"rayclusters", "spec.autoscalerOptions", "{}", "{}"},
		"fault tolerance":              {"rayclusters", "spec.gcsFaultToleranceOptions", "{}", "{}"},
		"an upgrade step by step": {"rayservices", "spec.upgradeStrategy", "{clusterUpgradeOptions: {stepSizePercent: 5, intervalSeconds: 5, gatewayClassName: g}}",
			"{clusterUpgradeOptions: {stepSizePercent: 5, intervalSeconds: 5, gatewayClassName: g, maxSurgePercent: 100}}"},
		"an upgrade":     {"rayservices", "spec.upgradeStrategy", "{}", "{}"},
		"deletion rules": {"rayjobs", "spec.deletionStrategy", "{deletionRules: [{policy: DeleteSelf, condition: {jobStatus: FAILED}}]}", "{deletionRules: [{policy: DeleteSelf, condition: {jobStatus: FAILED, ttlSeconds: 0}}]}"},
	} {
		t.Run(name, func(t *testing.T) {
			path := strings.Split(tc.path, ".")
			u := smallest(t, tc.plural, "v1", "parents", "", "")
			if err := unstructured.SetNestedMap(u.Object, parse(t, tc.given), path...); err != nil {
				t.Fatal(err)
			}
			got, err := resourceOf(tc.plural).Create(t.Context(), u, dryCreate)
			if err != nil {
				t.Fatal(err)
			}
			value, _, _ := unstructured.NestedMap(got.Object, path...)
			if diff := cmp.Diff(parse(t, tc.want), value); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.path, diff)
			}
		})
	}
}

// TestPruningEverywhere: unknown fields do not reach etcd through any version, nulls are dropped or replaced by
// the default, and what every object has stays.
func TestPruningEverywhere(t *testing.T) {
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
