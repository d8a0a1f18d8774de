package validation

import (
	"reflect"
	"strings"
	"testing"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/pkg/validation/rule"
)

// TestWhatRulesReadExists holds the paths in the table to the API: a misspelt one would never differ.
func TestWhatRulesReadExists(t *testing.T) {
	roots := map[string]reflect.Type{
		rule.KindClusterSpec: reflect.TypeFor[rayv1.RayClusterSpec](),
		rule.KindJobSpec:     reflect.TypeFor[rayv1.RayJobSpec](),
		"RayService":         reflect.TypeFor[rayv1.RayService](),
	}
	for _, r := range Rules() {
		for _, read := range r.Reads {
			at := roots[r.Kind]
			if sibling, ok := strings.CutPrefix(read, "../"); ok {
				at, read = reflect.TypeFor[rayv1.WorkerGroupSpec](), sibling
			}
			for _, step := range splitPath(read) {
				at = below(settledType(at), step)
			}
			if at == nil {
				t.Errorf("%s reads %s, which is no field of its %s", r.ID, read, r.Kind)
			}
		}
	}
}
