package verdicts

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
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
	var got []string
	for _, c := range causesOf(t, err) {
		got = append(got, c.Field+" "+c.Message[strings.LastIndex(c.Message, "("):])
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("broken rules (-want +got):\n%s\n%v", diff, err)
	}
}

const (
	redisAddress = "spec.gcsFaultToleranceOptions.redisAddress (RC-060)"
	redisName    = "spec.gcsFaultToleranceOptions.redisUsername (RC-061)"
)

// TestRulesOfOneGuardAreAllTold breaks two rules that the API server asks in one expression.
func TestRulesOfOneGuardAreAllTold(t *testing.T) {
	needLab(t)
	both := withRocksDB("both", map[string]any{"redisAddress": "redis:6379", "redisUsername": map[string]any{"value": "me"}})
	_, err := resourceOf("rayclusters").Create(t.Context(), both, dryCreate)
	wantBroken(t, err, redisAddress, redisName)
	var refused *apierrors.StatusError
	if !errors.As(err, &refused) || len(refused.ErrStatus.Details.Causes) != 1 {
		t.Errorf("the API server gave other than one cause, so that this tests nothing: %v", err)
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
	wantBroken(t, update("redisUsername", map[string]any{"value": "me"}), redisName)
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

// TestRulesOnGroupsAreAllTold breaks two rules in different groups.
func TestRulesOnGroupsAreAllTold(t *testing.T) {
	needLab(t)
	_, err := resourceOf("rayclusters").Create(t.Context(), withGroups("both", -1, 10, 1), dryCreate)
	wantBroken(t, err, belowZero, crossed)
	var refused *apierrors.StatusError
	if !errors.As(err, &refused) || len(refused.ErrStatus.Details.Causes) != 1 {
		t.Errorf("the API server gave other than one cause, so that this tests nothing: %v", err)
	}
}

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
