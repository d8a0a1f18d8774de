package celrules_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/raygate/raygate/hack/celrules"
	"github.com/raygate/raygate/pkg/validation"
	"github.com/raygate/raygate/pkg/validation/examples"
	"github.com/raygate/raygate/pkg/validation/rule"
)

// Each error and warning of the API server is a rule of the Go package with the same severity.
func TestTablesSpeakOfKnownRules(t *testing.T) {
	severity := map[string]rule.Severity{}
	for _, r := range validation.Rules() {
		severity[r.ID] = r.Severity()
	}
	depends := map[string]string{}
	for _, r := range validation.Rules() {
		depends[r.ID] = r.Depends
	}
	check := func(where, id string, want rule.Severity) {
		t.Helper()
		if got, known := severity[id]; !known || got != want && got != rule.SeverityBoth {
			t.Errorf("%s has %s as %s; the Go package knows it as %q", where, id, want, got)
		}
		if depends[id] != "" && want == rule.SeverityError {
			t.Errorf("%s refuses for %s, which depends on %s", where, id, depends[id])
		}
	}
	for _, r := range celrules.Rules() {
		check("CEL", r.ID, rule.SeverityError)
	}
	for _, b := range celrules.Bounds() {
		if b.ID != "" {
			check("the schema", b.ID, rule.SeverityError)
		}
	}
	for _, plural := range []string{"rayclusters", "rayjobs", "rayservices", "raycronjobs"} {
		for _, r := range celrules.PoliciesOf(plural, false) {
			check("a policy", r.ID, rule.SeverityError)
		}
		for _, r := range celrules.PoliciesOf(plural, true) {
			check("a policy", r.ID, rule.SeverityWarning)
		}
	}
}

// Nothing in a list sees managedBy or clusterSelector, which may leave it without a meaning: rules stand around lists, and keywords there
// are those of KubeRay or bound costs.
func TestNoRulesInLists(t *testing.T) {
	for _, plural := range []string{"rayclusters", "rayjobs", "rayservices", "raycronjobs"} {
		for _, r := range celrules.RulesOf(plural) {
			if strings.ContainsAny(r.Node, "[{") {
				t.Errorf("%s of %s stands at %s", r.Item.ID, plural, r.Node)
			}
		}
		for _, b := range celrules.BoundsOf(plural) {
			if b.Item.ID != "" && strings.ContainsAny(b.Node, "[{") {
				t.Errorf("a keyword for %s of %s stands at %s", b.Item.ID, plural, b.Node)
			}
		}
	}
}

// A warning has the same text from every source.
func TestPoliciesWarnInTheWordsOfTheRules(t *testing.T) {
	said := map[string][]string{}
	for _, e := range append(examples.All(), examples.Nested()...) {
		checks, _ := validation.ForKind(e.Kind)
		v := checks.Create(e.Object(), e.Options)
		if e.Update {
			v = checks.Update(e.Object(), e.Old(), e.Options)
		}
		for _, w := range v.Warnings {
			said[w.Origin] = append(said[w.Origin], w.ErrorBody())
		}
	}
	for _, plural := range []string{"rayclusters", "rayjobs", "rayservices", "raycronjobs"} {
		for _, r := range celrules.PoliciesOf(plural, true) {
			if !slices.ContainsFunc(said[r.ID], func(text string) bool { return strings.HasSuffix(text, r.Says) }) {
				t.Errorf("the policy of %s warns for %s with %q; the rule says %q", plural, r.ID, r.Says, said[r.ID])
			}
		}
	}
}

func TestValidationsRatchet(t *testing.T) {
	base := celrules.Rule{ID: "RC-001", CEL: rule.CEL{Valid: "has(self.a)", Says: "give a"}}
	for name, tc := range map[string]struct {
		change func(*celrules.Rule)
		want   []string
	}{
		"if it was broken": {func(*celrules.Rule) {}, []string{"(has(self.a)) || (oldSelf.hasValue() && !(has(oldSelf.value().a)))"}},
		"if it was broken, of any size": {func(r *celrules.Rule) { r.Valid = "self.a.all(x, x > 0)" },
			[]string{"oldSelf.hasValue() || (self.a.all(x, x > 0))", "(self.a.all(x, x > 0)) || (!(oldSelf.a.all(x, x > 0)))"}},
		"if it was broken no less": {func(r *celrules.Rule) { r.NoWorse = "self.n <= oldSelf.n" },
			[]string{"(has(self.a)) || (oldSelf.hasValue() && !(has(oldSelf.value().a)) && self.n <= oldSelf.value().n)"}},
		"if unchanged": {func(r *celrules.Rule) { r.Unchanged = []string{"b"} },
			[]string{"(has(self.a)) || (oldSelf.hasValue() && (has(self.b)) == (has(oldSelf.value().b)) && (!(has(self.b)) || self.b == oldSelf.value().b))"}},
		"by the server":  {func(r *celrules.Rule) { r.Ratchet = rule.ByServer }, []string{"(has(self.a))"}},
		"on create only": {func(r *celrules.Rule) { r.Ratchet = rule.CreateOnly }, []string{"oldSelf.hasValue() || (has(self.a))"}},
	} {
		t.Run(name, func(t *testing.T) {
			r := base
			tc.change(&r)
			var got []string
			for _, v := range r.Validations() {
				got = append(got, v.Rule)
				if v.Message != "give a (RC-001)" {
					t.Errorf("message %q does not name the rule", v.Message)
				}
			}
			if strings.Join(got, "\n") != strings.Join(tc.want, "\n") {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}
