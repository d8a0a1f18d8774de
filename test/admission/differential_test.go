package admission

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/raygate/raygate/hack/celrules"
	"github.com/raygate/raygate/pkg/validation"
	"github.com/raygate/raygate/pkg/validation/examples"
	"github.com/raygate/raygate/pkg/validation/rule"
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

func TestExamplesAgainstCRDs(t *testing.T) {
	for _, object := range []validation.Object{examples.Base(), examples.BaseJob(), examples.BaseService(), examples.BaseCronJob()} {
		if diffs, refused := createDifferences(t, object, allGates(t)); refused || len(diffs) > 0 {
			t.Fatalf("the valid %T is refused: %v", object, diffs)
		}
	}
	refusedFor := map[string]bool{}
	for _, e := range examples.All() {
		// CJ-002 is one error for all that an empty template lacks; the API server names what it lacks.
		if e.Update || e.GoOnly || e.ID == "CJ-002" {
			continue
		}
		t.Run(e.String(), func(t *testing.T) {
			diffs, refused := createDifferences(t, e.Object(), allGates(t))
			if len(diffs) > 0 {
				t.Errorf("the API server and Go differ:\n%s", strings.Join(diffs, "\n"))
			}
			if refused && e.Severity == rule.SeverityError {
				refusedFor[pluralOf(e.Kind)+e.ID] = true
				refusedFor[e.ID] = true
			}
			object, checks := decoded(t, e.Object())
			if refused && len(checks.Create(object, allGates(t)).Errors) == 0 {
				t.Error("the API server refuses what should only warn")
			}
			if diffs, refused := createDifferences(t, e.Valid(), allGates(t)); refused && len(diffs) > 0 {
				t.Errorf("the valid neighbour is refused:\n%s", strings.Join(diffs, "\n"))
			}
		})
	}
	// Otherwise a rule that is always true would pass.
	for _, b := range celrules.Bounds() {
		if b.ID != "" && !refusedFor[b.ID] {
			t.Errorf("no example made the API server refuse for %s", b.ID)
		}
	}
	for _, r := range celrules.Rules() {
		if !refusedFor[r.ID] && !ofStatus[r.ID] {
			t.Errorf("no example made the API server refuse for %s", r.ID)
		}
	}
}

func TestUpdateExamplesAgainstCRDs(t *testing.T) {
	for i, e := range examples.All() {
		if !e.Update || e.GoOnly || e.Severity != rule.SeverityError || len(celrules.LayersOf(e.ID)) == 0 {
			continue
		}
		t.Run(e.String(), func(t *testing.T) {
			old, checks := decoded(t, e.Old())
			old.SetName(fmt.Sprintf("update-%d", i))
			plural := pluralOf(checks.Kind)
			create := toUnstructured(t, old)
			status := create.Object["status"]
			stored, err := resourceOf(plural).Create(t.Context(), create, metav1.CreateOptions{})
			if err != nil {
				t.Fatal(err)
			}
			if status != nil {
				stored.Object["status"] = status
				if stored, err = resourceOf(plural).UpdateStatus(t.Context(), stored, metav1.UpdateOptions{}); err != nil {
					t.Fatal(err)
				}
			}
			changed, _ := decoded(t, e.Object())
			changed.SetName(old.GetName())
			u := toUnstructured(t, changed)
			u.SetResourceVersion(stored.GetResourceVersion())
			_, err = resourceOf(plural).Update(t.Context(), u, metav1.UpdateOptions{DryRun: []string{metav1.DryRunAll}})
			diffs := compare(plural, causesOf(t, err), checks.Update(changed, old, allGates(t)).Errors)
			if err == nil {
				diffs = append(diffs, "the API server lets it pass")
			}
			if len(diffs) > 0 {
				t.Errorf("the API server and Go differ:\n%s", strings.Join(diffs, "\n"))
			}
		})
	}
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
