package acceptance

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/raygate/raygate/hack/celrules"
	"github.com/raygate/raygate/operator/internal/conversion"
	"github.com/raygate/raygate/pkg/validation"
	"github.com/raygate/raygate/pkg/validation/examples"
	"github.com/raygate/raygate/pkg/validation/rule"
)

// TestEveryExampleThroughOldVersion: whichever layer refuses an example in v1, it is refused in v1alpha1 too, for the
// same rule, and what is accepted in v1 is accepted. v1alpha1 has no CEL in its schema, so that the webhook has to say it.
func TestEveryExampleThroughOldVersion(t *testing.T) {
	c := connect(t)
	ns := newNamespace(t)
	ask := func(version string, obj map[string]any) error {
		u := &unstructured.Unstructured{Object: obj}
		_, err := c.resource(strings.ToLower(u.GetKind())+"s", version, ns).Create(t.Context(), u, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		return err
	}
	var mu sync.Mutex
	refused, accepted := map[string]bool{}, 0
	work := make(chan examples.Example)
	var wg sync.WaitGroup
	for range 6 {
		wg.Go(func() {
			for e := range work {
				for _, object := range []validation.Object{e.Object(), e.Valid()} {
					inHub := ask(hub, asJSON(t, object))
					converted := asJSON(t, object)
					if err := conversion.Convert(converted, schema.GroupVersion{Group: "ray.io", Version: old}); err != nil {
						t.Errorf("%s: %v", e, err)
						continue
					}
					inOld := ask(old, converted)
					if (inHub == nil) != (inOld == nil) || inOld != nil && !apierrors.IsInvalid(inOld) {
						t.Errorf("%s: v1 says %v, v1alpha1 %v", e, inHub, inOld)
						continue
					}
					mu.Lock()
					switch {
					case inOld == nil:
						accepted++
					case strings.Contains(inOld.Error(), "("+e.ID+")"):
						refused[e.ID] = true
					case strings.Contains(inHub.Error(), "("+e.ID+")"):
						t.Errorf("%s: v1 names the rule, v1alpha1 does not: %v", e, inOld)
					}
					mu.Unlock()
				}
			}
		})
	}
	for _, e := range examples.All() {
		known := conversion.Known(schema.GroupVersionKind{Group: "ray.io", Version: old, Kind: e.Kind})
		if known && !e.Update && !e.GoOnly && e.Severity == rule.SeverityError {
			work <- e
		}
	}
	close(work)
	wg.Wait()
	cel := 0
	for id := range refused {
		if slices.Contains(celrules.LayersOf(id), rule.InCEL) {
			cel++
		}
	}
	t.Logf("%d rules refused in v1alpha1, %d of them CEL in v1; %d objects accepted", len(refused), cel, accepted)
	if cel < 50 || accepted < 100 {
		t.Errorf("%d rules of CEL refused and %d objects accepted, want most: %v", cel, accepted, slices.Sorted(maps.Keys(refused)))
	}
}

// asJSON is an object as a client sends it.
func asJSON(t *testing.T, object validation.Object) map[string]any {
	raw, err := json.Marshal(object)
	if err != nil {
		t.Error(err)
		return nil
	}
	var obj map[string]any
	if err := json.Unmarshal(raw, &obj); err != nil {
		t.Error(err)
	}
	delete(obj, "status")
	unstructured.RemoveNestedField(obj, "metadata", "creationTimestamp")
	unstructured.RemoveNestedField(obj, "metadata", "namespace")
	return obj
}
