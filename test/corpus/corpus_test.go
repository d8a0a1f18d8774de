package corpus_test

import (
	"encoding/json"
	"testing"

	"github.com/raygate/raygate/pkg/validation"
	"github.com/raygate/raygate/test/corpus"
)

// minCases keeps the corpus from shrinking.
const minCases = 345

func load(t *testing.T) []corpus.Case {
	t.Helper()
	cases, err := corpus.Load()
	if err != nil {
		t.Fatal(err)
	}
	return cases
}

func TestCorpusSaysWhy(t *testing.T) {
	cases := load(t)
	if len(cases) < minCases {
		t.Errorf("%d cases, want at least %d", len(cases), minCases)
	}
	seen := map[string]bool{}
	for _, c := range cases {
		if c.Why == "" || c.Name == "" {
			t.Errorf("case %q of a %s does not say why it runs", c.Name, c.Kind)
		}
		if seen[c.Name] {
			t.Errorf("two cases are called %s", c.Name)
		}
		seen[c.Name] = true
	}
}

// TestRulesRefuseNothing asks the rules as a command line that knows nothing but the gates, and as an operator with no batch
// scheduler. The tests of every layer are in test/matrix.
func TestRulesRefuseNothing(t *testing.T) {
	for _, c := range load(t) {
		t.Run(c.Name, func(t *testing.T) {
			before, after := objects(t, &c)
			checks, _ := validation.ForKind(c.Kind)
			for who, o := range map[string]validation.Options{
				"command line": {Gates: c.FeatureGates()},
				"operator": {Gates: c.FeatureGates(), FromOperator: true, BatchScheduler: new(""),
					NoInitContainers: len(c.GatesOff) > 0}, // those cases stand for an operator in which everything is off
			} {
				if !c.Stored {
					if v := checks.Create(before, o); len(v.Errors) > 0 {
						t.Errorf("%s, although %s: %v", who, c.Why, v.Errors)
					}
				}
				if after != nil {
					if v := checks.Update(after, before, o); len(v.Errors) > 0 {
						t.Errorf("%s on the change, although %s: %v", who, c.Why, v.Errors)
					}
				}
				if after == nil {
					after = before
				}
				if refused := validation.Refused(checks.Create(after, o).Errors, c.Skips("alone")); len(refused) > 0 && !c.Skips("controller") {
					t.Errorf("%s: the controller does not act, although %s: %v", who, c.Why, refused)
				}
			}
		})
	}
}

// objects are what the rules get: with defaults, and with the status that the case speaks of. after is nil without a change.
func objects(t *testing.T, c *corpus.Case) (before, after validation.Object) {
	t.Helper()
	raw, err := c.Before()
	if err != nil {
		t.Fatal(err)
	}
	checks, _ := validation.ForKind(c.Kind)
	decode := func(raw []byte) validation.Object {
		var m map[string]any
		if err := json.Unmarshal(raw, &m); err != nil {
			t.Fatal(err)
		}
		m["status"] = c.Status
		full, err := json.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		object := checks.New()
		if err := json.Unmarshal(full, object); err != nil {
			t.Fatal(err)
		}
		checks.SetDefaults(object)
		return object
	}
	before = decode(raw)
	if !c.Changes() {
		return before, nil
	}
	if raw, err = c.Change(raw); err != nil {
		t.Fatal(err)
	}
	return before, decode(raw)
}
