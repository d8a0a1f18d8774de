package admission

import (
	"encoding/json"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/raygate/raygate/pkg/validation"
	"github.com/raygate/raygate/pkg/validation/examples"
)

// allGates is an operator that allows everything: the API server does not know gates.
func allGates(t testing.TB) validation.Options {
	t.Helper()
	gates := map[validation.Gate]bool{}
	for _, g := range []validation.Gate{
		validation.GateNetworkPolicy, validation.GateMTLS, validation.GateHistoryServer, validation.GateEmbeddedGCSStorage,
	} {
		gates[g] = true
	}
	return validation.Options{Gates: gates}
}

// decoded is the object as the Go rules get it from an API server: with its defaults, and without zeros that JSON omits.
func decoded(t testing.TB, object validation.Object) (validation.Object, validation.Checks) {
	t.Helper()
	checks, ok := validation.For(object)
	if !ok {
		t.Fatalf("no checks for %T", object)
	}
	raw, err := json.Marshal(object)
	if err != nil {
		t.Fatal(err)
	}
	out := checks.New()
	if err := json.Unmarshal(raw, out); err != nil {
		t.Fatal(err)
	}
	checks.SetDefaults(out)
	return out, checks
}

func pluralOf(kind string) string { return strings.ToLower(kind) + "s" }

// ofStatus are rules on the status, which the API server takes from no one who creates or updates an object.
var ofStatus = map[string]bool{"RC-120": true, "RJ-060": true}

// createDifferences asks both about an object that is being created.
func createDifferences(t testing.TB, object validation.Object, o validation.Options) (diffs []string, refused bool) {
	t.Helper()
	object, checks := decoded(t, object)
	plural := pluralOf(checks.Kind)
	u := toUnstructured(t, object)
	delete(u.Object, "status")
	verdict := checks.Create(object, o).Errors
	if slices.ContainsFunc(verdict, func(e *field.Error) bool { return strings.HasSuffix(e.Origin, "-581") }) {
		delete(u.Object, "spec") // Go knows no difference between none and an empty one
	}
	_, err := resourceOf(plural).Create(t.Context(), u, dryRun)
	causes := causesOf(t, err)
	var errs field.ErrorList
	for _, e := range verdict {
		if ofStatus[e.Origin] {
			continue
		}
		if e.Field == "metadata.generateName" {
			e.Field = "metadata.name" // the API server has made the name by then
		}
		errs = append(errs, e)
	}
	return compare(plural, causes, errs), len(causes) > 0
}

// TestRandomObjectsAgainstCRDs makes objects wrong in several ways at once and asks both.
func TestRandomObjectsAgainstCRDs(t *testing.T) {
	const objects, seed = 500, 20261121
	var refusals atomic.Int64
	var mu sync.Mutex
	shown := 0
	forEach(objects, func(i int) {
		rng := rand.New(rand.NewPCG(seed, uint64(i)))
		object := randomObject(rng)
		diffs, refused := createDifferences(t, object, allGates(t))
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
			raw, _ := json.Marshal(object)
			t.Logf("object %d: %s\n%s", i, strings.Join(diffs, "\n"), raw)
		}
	})
	if n := refusals.Load(); n < objects/4 || n > objects*19/20 {
		t.Errorf("%d of %d objects were refused; want a mixture, or the test says little", n, objects)
	}
	t.Logf("%d of %d objects were refused", refusals.Load(), objects)
}

// randomObject is a broken cluster, alone or inside another object.
func randomObject(rng *rand.Rand) validation.Object {
	rc := randomCluster(rng)
	switch rng.IntN(6) {
	case 0:
		rj := examples.BaseJob()
		rj.Spec.RayClusterSpec = &rc.Spec
		return rj
	case 1:
		rs := examples.BaseService()
		rs.Spec.RayClusterSpec = rc.Spec
		return rs
	case 2:
		cj := examples.BaseCronJob()
		cj.Spec.JobTemplate.RayClusterSpec = &rc.Spec
		return cj
	}
	return rc
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
