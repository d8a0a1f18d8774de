package validation_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/raygate/raygate/pkg/validation"
	"github.com/raygate/raygate/pkg/validation/examples"
	"github.com/raygate/raygate/pkg/validation/rule"
)

// verdict runs an example the way an entry point does.
func verdict(t testing.TB, e examples.Example, object validation.Object, o validation.Options) validation.Verdict {
	t.Helper()
	checks, known := validation.ForKind(e.Kind)
	if !known {
		t.Fatalf("%s: no checks for the kind", e)
	}
	if e.Update {
		return checks.Update(object, e.Old(), o)
	}
	return checks.Create(object, o)
}

// of is the part of a verdict that the severity speaks of.
func of(v validation.Verdict, s rule.Severity) field.ErrorList {
	if s == rule.SeverityWarning {
		return v.Warnings
	}
	return v.Errors
}

func bases() map[string]func() validation.Object {
	return map[string]func() validation.Object{
		"RayCluster": func() validation.Object { return examples.Base() },
		"RayJob":     func() validation.Object { return examples.BaseJob() },
		"RayService": func() validation.Object { return examples.BaseService() },
		"RayCronJob": func() validation.Object { return examples.BaseCronJob() },
	}
}

func TestBasesAreValid(t *testing.T) {
	o := validation.Options{Gates: map[validation.Gate]bool{validation.GateCronJob: true}}
	for kind, base := range bases() {
		checks, _ := validation.ForKind(kind)
		if diff := cmp.Diff(validation.Verdict{}, checks.Create(base(), o), cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", kind, diff)
		}
	}
}

func TestExamplesBreakTheirRuleAlone(t *testing.T) {
	for _, e := range append(examples.All(), examples.Nested()...) {
		t.Run(e.String(), func(t *testing.T) {
			v := verdict(t, e, e.Object(), e.Options)
			var at, others []string
			for _, v := range validation.Violations(of(v, e.Severity)) {
				if v.Rule == e.ID {
					at = append(at, v.Field)
				} else if !slices.Contains(others, v.Rule) {
					others = append(others, v.Rule)
				}
			}
			slices.Sort(others)
			if diff := cmp.Diff(e.WantFields, at); diff != "" {
				t.Errorf("fields (-want +got):\n%s\nall: %v", diff, v)
			}
			if diff := cmp.Diff(e.Also, others, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("other rules (-want +got):\n%s\nall: %v", diff, v)
			}
			if e.Severity == rule.SeverityWarning && len(v.Errors) > 0 {
				t.Errorf("a warning has errors: %v", v.Errors)
			}
		})
	}
}

func TestNeighboursAreValid(t *testing.T) {
	for _, e := range append(examples.All(), examples.Nested()...) {
		v := verdict(t, e, e.Valid(), e.ValidOptions)
		if len(v.Errors) > 0 {
			t.Errorf("%s: the neighbour has errors: %v", e, v.Errors)
		}
		for _, err := range of(v, e.Severity) {
			if err.Origin == e.ID {
				t.Errorf("%s: the neighbour breaks the rule: %v", e, err)
			}
		}
	}
}

func TestEveryRuleHasAnExampleAndEveryReportARule(t *testing.T) {
	described := map[string]*validation.Rule{}
	previous := ""
	for _, r := range validation.Rules() {
		if r.ID <= previous {
			t.Errorf("rule %s stands after %s", r.ID, previous)
		}
		previous = r.ID
		described[r.ID] = r
		for _, same := range r.Same {
			if other, taken := described[same]; taken {
				t.Errorf("%s is said to be the same as %s, which has a description of its own: %v", same, r.ID, other)
			}
		}
	}
	broken := map[string]bool{}
	check := func(e examples.Example, list field.ErrorList, severity rule.Severity) {
		for _, err := range list {
			r, known := described[err.Origin]
			if !known {
				t.Errorf("%s: rule %q is not described: %v", e, err.Origin, err)
			} else if r.Severity() != severity && r.Severity() != rule.SeverityBoth {
				t.Errorf("%s: %s is reported as %s but described as %s", e, r.ID, severity, r.Severity())
			}
		}
	}
	seen := map[string]bool{}
	for _, e := range examples.All() {
		if seen[e.String()] {
			t.Errorf("two examples are called %s", e)
		}
		seen[e.String()] = true
		if len(e.Also) == 0 {
			broken[e.ID] = true
		}
		v := verdict(t, e, e.Object(), e.Options)
		check(e, v.Errors, rule.SeverityError)
		check(e, v.Warnings, rule.SeverityWarning)
		if r := described[e.ID]; r.Transition != e.Update && r.ID != "RS-524" {
			t.Errorf("%s: the rule needs an old object: %t; the example has one: %t", e, r.Transition, e.Update)
		}
	}
	for _, u := range examples.AllUnreadable() {
		broken[u.ID] = true
	}
	never := map[string]string{
		"RC-041": "a maxReplicas below 0 is below any minReplicas",
		"RC-505": "names that differ by case have capitals",
		"RC-582": "it takes the autoscaler v2 to be asked for and off", "RC-583": "the same",
	}
	for id := range described {
		if never[id] != "" {
			continue
		}
		if !broken[id] {
			t.Errorf("rule %s has no example that breaks it alone", id)
		}
	}
}

func TestMessagesSayWhatIsRight(t *testing.T) {
	for _, e := range examples.All() {
		v := verdict(t, e, e.Object(), e.Options)
		for _, err := range append(v.Errors, v.Warnings...) {
			if err.Detail == "" {
				t.Errorf("%s: %v has no advice", e, err)
			}
			if err.Field == "" || err.Field == "<nil>" {
				t.Errorf("%s: %v has no path", e, err)
			}
			if len(err.ErrorBody()) > 400 {
				t.Errorf("%s: the message has %d characters: %s", e, len(err.ErrorBody()), err.ErrorBody())
			}
		}
	}
}
