package metadata

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	rayv1alpha1 "github.com/raygate/raygate/api/ray/v1alpha1"
)

// TestFieldsThatV1alpha1Lacks holds what is derived from the types to what is known to be lost.
func TestFieldsThatV1alpha1Lacks(t *testing.T) {
	for spec, paths := range map[reflect.Type]string{
		reflect.TypeFor[rayv1alpha1.RayClusterSpec](): "upgradeStrategy authOptions managedBy gcsFaultToleranceOptions historyServerOptions networkPolicy tlsOptions " +
			"autoscalerOptions.version autoscalerOptions.command headGroupSpec.resources headGroupSpec.labels workerGroupSpecs[*].suspend workerGroupSpecs[*].numOfHosts",
		reflect.TypeFor[rayv1alpha1.RayJobSpec]():     "activeDeadlineSeconds backoffLimit submitterConfig managedBy deletionStrategy submissionMode rayClusterSpec.authOptions",
		reflect.TypeFor[rayv1alpha1.RayServiceSpec](): "rayClusterDeletionDelaySeconds upgradeStrategy managedBy rayClusterConfig.tlsOptions",
	} {
		for path := range strings.FieldsSeq(paths) {
			before, after := nested(path, "set"), nested(path, nil)
			if got := lostFields(spec, before, after, "spec"); !slices.Equal(got, []string{"spec." + path}) {
				t.Errorf("%s: %s is lost, and told is %q", spec, path, got)
			}
			if got := lostFields(spec, before, before, "spec"); len(got) > 0 {
				t.Errorf("%s: nothing is lost, and told is %q", spec, got)
			}
		}
	}
	for path := range strings.FieldsSeq("rayVersion headGroupSpec.template workerGroupSpecs[*].template") {
		if got := lostFields(reflect.TypeFor[rayv1alpha1.RayClusterSpec](), nested(path, "set"), nested(path, nil), "spec"); len(got) > 0 {
			t.Errorf("%s is in both versions, and told is %q", path, got)
		}
	}
}

// nested is a document with one value at a path, in which [*] means a list with one group.
func nested(path string, value any) any {
	name, rest, deeper := strings.Cut(path, ".")
	if deeper {
		value = nested(rest, value)
	}
	if list, ok := strings.CutSuffix(name, "[*]"); ok {
		value.(map[string]any)["groupName"] = "g"
		return map[string]any{list: []any{value}}
	}
	return map[string]any{name: value}
}
