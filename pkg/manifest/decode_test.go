package manifest

import (
	"fmt"
	"math"
	"runtime"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/raygate/raygate/pkg/manifest/problem"
)

// TestDecodeTree covers values that files can have and messages cannot: nulls, and integers beyond float64.
func TestDecodeTree(t *testing.T) {
	var pod corev1.PodSpec
	tree := map[string]any{
		"nodeName":     nil,
		"priority":     "high",
		"nodeSelector": map[string]any{"zone": nil, "arch": true},
		"containers": []any{
			map[string]any{"name": "a", "securityContext": map[string]any{"runAsUser": int64(1)<<53 + 1}, "ports": []any{nil}},
			map[string]any{"name": int64(1)},
		},
		"volumes":                       []any{map[string]any{"emptyDir": map[string]any{"sizeLimit": 0.5}}},
		"terminationGracePeriodSeconds": "9223372036854775807",
	}
	errs := Decode(tree, &pod, field.NewPath("spec"))
	var got []string
	for _, err := range errs {
		got = append(got, err.Field+" ("+err.Origin+"): "+err.Detail)
	}
	want := []string{
		`spec.volumes[0].emptyDir.sizeLimit (wrong-type): expected quantity as a string or integer, got number 0.5; write "0.5"`,
		`spec.containers[0].ports[0] (wrong-type): expected object, got null`,
		`spec.containers[1].name (wrong-type): expected string, got number 1; put it in quotes`,
		`spec.nodeSelector[arch] (wrong-type): expected string, got boolean true; put it in quotes`,
		`spec.priority (wrong-type): expected integer, got string "high"`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("mistakes (-want +got):\n%s", diff)
	}
	if pod.Priority != nil {
		t.Errorf("a priority that is no number became %d", *pod.Priority)
	}
	if user := pod.Containers[0].SecurityContext.RunAsUser; user == nil || *user != 1<<53+1 {
		t.Errorf("the large integer became %v", user)
	}
	if grace := pod.TerminationGracePeriodSeconds; grace == nil || *grace != math.MaxInt64 || tree["terminationGracePeriodSeconds"] != int64(math.MaxInt64) {
		t.Errorf("the large integer in text became %v in the object and %v in the tree", grace, tree["terminationGracePeriodSeconds"])
	}
}

// Hints for keys that nobody reports cost 20 s of a processor for one document of 3 MB.
func TestHopelessDocumentIsBounded(t *testing.T) {
	hopeless := map[string]any{}
	for i := range 100_000 {
		hopeless[fmt.Sprintf("restartPolic%d", i)] = true
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	errs := Decode(hopeless, &corev1.PodSpec{}, field.NewPath("spec"))
	runtime.ReadMemStats(&after)
	if len(errs) != maxMistakes {
		t.Errorf("%d mistakes are reported, want %d", len(errs), maxMistakes)
	}
	if perKey := (after.TotalAlloc - before.TotalAlloc) / 100_000; perKey > 200 {
		t.Errorf("%d bytes are allocated per key, want at most 200", perKey)
	}
}

func TestJoinLeavesConsequencesOut(t *testing.T) {
	invalid := func(path string) *field.Error { return field.Invalid(at(path), "x", "wrong") }
	missing := func(path string) *field.Error { return field.Required(at(path), "missing") }
	for name, tc := range map[string]struct {
		path, reason string
		content      *field.Error
		wantKept     bool
	}{
		"at the mistake":                   {"spec.replicas", problem.WrongType, invalid("spec.replicas"), false},
		"below the mistake":                {"spec.head", problem.WrongType, invalid("spec.head.template"), false},
		"beside the mistake":               {"spec.head", problem.WrongType, invalid("spec.headless"), true},
		"missing around the mistake":       {"spec.head.name", problem.WrongType, missing("spec"), false},
		"wrong around the mistake":         {"spec.head.name", problem.WrongType, invalid("spec"), true},
		"missing beside a misspelt name":   {"spec.heda", problem.UnknownField, missing("spec.head"), false},
		"missing beside another mistake":   {"spec.replicas", problem.WrongType, missing("spec.head"), true},
		"missing where the root is wrong":  {"sepc", problem.UnknownField, missing("spec"), false},
		"wrong beside a misspelt name":     {"spec.heda", problem.UnknownField, invalid("spec.replicas"), true},
		"in another item than the mistake": {"spec.groups[1].nmae", problem.UnknownField, missing("spec.groups[10].name"), true},
	} {
		t.Run(name, func(t *testing.T) {
			form := field.ErrorList{Problem(at(tc.path), tc.reason, "mistake")}
			if got := len(Join(form, field.ErrorList{tc.content})) == 2; got != tc.wantKept {
				t.Errorf("kept: %t, want %t", got, tc.wantKept)
			}
		})
	}
}

func at(text string) *field.Path { return field.NewPath(text) }
