package admission

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	rayv1 "github.com/raygate/raygate/operator/api/ray/v1"
	"github.com/raygate/raygate/pkg/validation"
	"github.com/raygate/raygate/pkg/validation/celrules"
	"github.com/raygate/raygate/pkg/validation/examples"
)

// allGates is an operator that allows everything: the API server does not know gates.
func allGates() validation.Options {
	on := map[validation.Gate]bool{}
	for _, g := range []validation.Gate{
		validation.GateNetworkPolicy, validation.GateMTLS, validation.GateHistoryServer, validation.GateEmbeddedGCSStorage,
	} {
		on[g] = true
	}
	return validation.Options{Gates: on}
}

// decoded is the object as the Go rules get it from an API server: with its defaults, and without zeros that JSON omits.
func decoded(t testing.TB, rc *rayv1.RayCluster) *rayv1.RayCluster {
	t.Helper()
	raw, err := json.Marshal(rc)
	if err != nil {
		t.Fatal(err)
	}
	out := &rayv1.RayCluster{}
	if err := json.Unmarshal(raw, out); err != nil {
		t.Fatal(err)
	}
	rayv1.SetRayClusterDefaults(out)
	return out
}

// differences asks both about a RayCluster that is being created.
func differences(t testing.TB, rc *rayv1.RayCluster) (diffs []string, refused bool) {
	t.Helper()
	rc = decoded(t, rc)
	rc.Status = rayv1.RayClusterStatus{} // the API server ignores it on create
	_, err := resourceOf("rayclusters").Create(t.Context(), toUnstructured(t, rc), dryRun)
	causes := causesOf(t, err)
	errs := validation.RayCluster(rc, allGates())
	for _, e := range errs {
		if e.Field == "metadata.generateName" {
			e.Field = "metadata.name" // the API server has made the name by then
		}
	}
	return compare("rayclusters", causes, errs), len(causes) > 0
}

func TestExamplesOfRayCluster(t *testing.T) {
	if diffs, refused := differences(t, examples.Base()); refused || len(diffs) > 0 {
		t.Fatalf("the valid RayCluster is refused: %v", diffs)
	}
	refusedFor := map[string]bool{}
	for _, e := range examples.All() {
		if e.Update {
			continue
		}
		t.Run(e.ID+"/"+e.Name, func(t *testing.T) {
			rc := e.Object()
			diffs, refused := differences(t, rc)
			if len(diffs) > 0 {
				t.Errorf("the API server and Go differ:\n%s", strings.Join(diffs, "\n"))
			}
			if refused && !e.Warning {
				refusedFor[e.ID] = true
			}
			if refused && e.Warning && len(validation.RayCluster(decoded(t, rc), allGates())) == 0 {
				t.Error("the API server refuses what should only warn")
			}
		})
	}
	// Otherwise a rule that is always true would pass.
	for _, r := range celrules.RulesOf("rayclusters") {
		if id := r.Item.ID; !refusedFor[id] && !r.Item.Transition && id != "RC-120" {
			t.Errorf("no example made the API server refuse for %s", id)
		}
	}
}

func TestUpdateExamplesOfRayCluster(t *testing.T) {
	for i, e := range examples.All() {
		if !e.Update || e.Warning {
			continue
		}
		t.Run(e.ID+"/"+e.Name, func(t *testing.T) {
			old := decoded(t, e.Old())
			old.Name = fmt.Sprintf("update-%d", i)
			stored, err := resourceOf("rayclusters").Create(t.Context(), toUnstructured(t, old), metav1.CreateOptions{})
			if err != nil {
				t.Fatal(err)
			}
			changed := decoded(t, e.Object())
			changed.Name = old.Name
			u := toUnstructured(t, changed)
			u.SetResourceVersion(stored.GetResourceVersion())
			_, err = resourceOf("rayclusters").Update(t.Context(), u, metav1.UpdateOptions{DryRun: []string{metav1.DryRunAll}})
			diffs := compare("rayclusters", causesOf(t, err), validation.RayClusterUpdate(changed, old, allGates()))
			if err == nil {
				diffs = append(diffs, "the API server lets it pass")
			}
			if len(diffs) > 0 {
				t.Errorf("the API server and Go differ:\n%s", strings.Join(diffs, "\n"))
			}
		})
	}
}

// TestRandomRayClusters makes clusters wrong in several ways at once and asks both.
func TestRandomRayClusters(t *testing.T) {
	const objects, seed = 500, 20261121
	var refusals atomic.Int64
	var mu sync.Mutex
	shown := 0
	forEach(objects, func(i int) {
		rng := rand.New(rand.NewPCG(seed, uint64(i)))
		rc := randomCluster(rng)
		diffs, refused := differences(t, rc)
		if refused {
			refusals.Add(1)
		}
		if len(diffs) == 0 {
			return
		}
		mu.Lock()
		defer mu.Unlock()
		t.Fail()
		if shown++; shown <= 10 {
			raw, _ := json.Marshal(rc.Spec)
			t.Logf("object %d: %s\n%s", i, strings.Join(diffs, "\n"), raw)
		}
	})
	if n := refusals.Load(); n < objects/4 || n > objects*19/20 {
		t.Errorf("%d of %d objects were refused; want a mixture, or the test says little", n, objects)
	}
	t.Logf("%d of %d objects were refused", refusals.Load(), objects)
}

// forEach runs f for 0 to n-1, a few at a time.
func forEach(n int, f func(i int)) {
	var next atomic.Int64
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
				f(i)
			}
		})
	}
	wg.Wait()
}
