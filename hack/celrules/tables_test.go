package celrules_test

import (
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

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

func TestUpdatesRatchet(t *testing.T) {
	base := celrules.Rule{ID: "RC-001", CEL: rule.CEL{Valid: "has(self.a)", Says: "give a"}}
	for name, tc := range map[string]struct {
		change func(*celrules.Rule)
		want   string
	}{
		"if it was broken": {func(*celrules.Rule) {}, "(has(self.a)) || (!(has(oldSelf.a)))"},
		"if it was broken in this case": {func(r *celrules.Rule) { r.When = "has(self.c)" },
			"(has(self.a)) || (has(oldSelf.c) && !(has(oldSelf.a)))"},
		"if it was broken no less": {func(r *celrules.Rule) { r.NoWorse = "self.n <= oldSelf.n" },
			"(has(self.a)) || (!(has(oldSelf.a)) && self.n <= oldSelf.n)"},
		"if unchanged": {func(r *celrules.Rule) { r.Unchanged = []string{"b"} },
			"(has(self.a)) || ((has(self.b)) == (has(oldSelf.b)) && (!(has(self.b)) || self.b == oldSelf.b))"},
		"by the server": {func(r *celrules.Rule) { r.Ratchet = rule.ByServer }, "(has(self.a)) || (self == oldSelf)"},
	} {
		t.Run(name, func(t *testing.T) {
			r := base
			tc.change(&r)
			if got := r.Passes(); got != tc.want {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}

// CRDs validate new objects; only rules on the status are for updates, too.
func TestValidationsAreForNewObjects(t *testing.T) {
	var updates []string
	for _, plural := range []string{"rayclusters", "rayjobs", "rayservices", "raycronjobs"} {
		for _, v := range celrules.ValidationsOf(plural) {
			if !strings.HasPrefix(v.Item.Rule, "oldSelf.hasValue() || ") || v.Item.OptionalOldSelf == nil {
				updates = append(updates, v.Item.Message[len(v.Item.Message)-8:])
			}
		}
	}
	if want := []string{"(RC-120)", "(RJ-060)"}; !slices.Equal(updates, want) {
		t.Errorf("the CRDs apply %q to updates, want %q", updates, want)
	}
}

// A policy reports all broken rules in one message, which the gateway and tests read like the causes of a CRD.
func TestCausesOfUpdates(t *testing.T) {
	causes := celrules.Causes([]metav1.StatusCause{{Message: "Invalid value: spec.a[k]: give a; or b (RC-001); spec: give it (RC-581)"}})
	want := []metav1.StatusCause{{Field: "spec.a[k]", Message: "Invalid value: give a; or b (RC-001)"}, {Field: "spec", Message: "Invalid value: give it (RC-581)"}}
	if !slices.Equal(causes, want) {
		t.Errorf("got %+v, want %+v", causes, want)
	}
}
