package verdicts

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/raygate/raygate/pkg/validation/examples"
)

// withRocksDB is a cluster with these options of the backend rocksdb. All about them is one expression of the CRD.
func withRocksDB(name string, options map[string]any) *unstructured.Unstructured {
	u := asUnstructured(decoded(examples.Base()))
	delete(u.Object, "status")
	u.SetName(name)
	options["backend"] = "rocksdb"
	u.Object["spec"].(map[string]any)["gcsFaultToleranceOptions"] = options
	return u
}

// wantBroken looks for exactly these "field (rule)" in a refusal.
func wantBroken(t *testing.T, err error, want ...string) {
	t.Helper()
	if err != nil && answerOf(err).failure != "" {
		t.Fatal(err)
	}
	var got []string
	for _, p := range answerOf(err).errors {
		got = append(got, p.Field+" ("+p.Rule+")")
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("broken rules (-want +got):\n%s\n%v", diff, err)
	}
}

// TestRulesOfOneGuardRatchetAlone updates an object that broke one of two rules before.
func TestRulesOfOneGuardRatchetAlone(t *testing.T) {
	needLab(t)
	update := func(field string, value any) error {
		u := past.guarded.DeepCopy()
		if err := unstructured.SetNestedField(u.Object, value, "spec", "gcsFaultToleranceOptions", field); err != nil {
			t.Fatal(err)
		}
		_, err := resourceOf("rayclusters").Update(t.Context(), u, metav1.UpdateOptions{DryRun: dryRun})
		return err
	}
	wantBroken(t, update("redisAddress", "another:6379"))
	wantBroken(t, update("redisUsername", map[string]any{"value": "me"}), "spec.gcsFaultToleranceOptions.redisUsername (RC-061)")
}

// withGroups is a cluster with worker groups that differ in minReplicas. What is asked of each group is one expression of the CRD.
func withGroups(name string, minReplicas ...int64) *unstructured.Unstructured {
	u := manyGroups(name, len(minReplicas))
	groups := u.Object["spec"].(map[string]any)["workerGroupSpecs"].([]any)
	for i, least := range minReplicas {
		groups[i].(map[string]any)["minReplicas"] = least
		groups[i].(map[string]any)["maxReplicas"] = int64(9)
	}
	return u
}

const (
	belowZero = "spec.workerGroupSpecs (RC-040)"
	crossed   = "spec.workerGroupSpecs (RC-042)"
)

// TestRulesOnGroupsRatchetAlone updates a cluster of which one group was wrong before.
func TestRulesOnGroupsRatchetAlone(t *testing.T) {
	needLab(t)
	update := func(minReplicas ...int64) error {
		u := past.grouped.DeepCopy()
		u.Object["spec"].(map[string]any)["workerGroupSpecs"] = withGroups("", minReplicas...).Object["spec"].(map[string]any)["workerGroupSpecs"]
		_, err := resourceOf("rayclusters").Update(t.Context(), u, metav1.UpdateOptions{DryRun: dryRun})
		return err
	}
	wantBroken(t, update(-2, 2, 1))
	wantBroken(t, update(-1, 10, 1), crossed)
	wantBroken(t, update(-1, -1, 10), belowZero, crossed)
}
