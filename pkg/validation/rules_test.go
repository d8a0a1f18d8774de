package validation_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/raygate/raygate/pkg/validation"
	"github.com/raygate/raygate/pkg/validation/examples"
)

// verdict runs an example the way a door does.
func verdict(e examples.Example) (errs, warnings field.ErrorList) {
	if e.Update {
		return validation.RayClusterUpdate(e.Object(), e.Old(), e.Options), validation.RayClusterUpdateWarningList(e.Object(), e.Old(), e.Options)
	}
	return validation.RayCluster(e.Object(), e.Options), validation.RayClusterWarningList(e.Object(), e.Options)
}

func TestBaseIsValid(t *testing.T) {
	if diff := cmp.Diff([]validation.Violation{}, validation.Violations(validation.RayCluster(examples.Base(), validation.Options{}))); diff != "" {
		t.Errorf("RayCluster(Base()): errors (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{}, validation.RayClusterWarnings(examples.Base(), validation.Options{})); diff != "" {
		t.Errorf("RayClusterWarnings(Base()) (-want +got):\n%s", diff)
	}
}

func TestExamplesBreakTheirRule(t *testing.T) {
	for _, e := range examples.All() {
		t.Run(e.ID+"/"+e.Name, func(t *testing.T) {
			errs, warnings := verdict(e)
			list := errs
			if e.Warning {
				list = warnings
			}
			var got []string
			for _, v := range validation.Violations(list) {
				if v.Rule == e.ID {
					got = append(got, v.Field)
				}
			}
			if diff := cmp.Diff(e.WantFields, got); diff != "" {
				t.Errorf("fields of %s (-want +got):\n%s\nall: %v", e.ID, diff, list)
			}
		})
	}
}

func TestEveryRuleHasAnExampleAndEveryReportARule(t *testing.T) {
	described := map[string]validation.Rule{}
	previous := ""
	for _, r := range validation.Rules() {
		if r.ID <= previous {
			t.Errorf("rule %s stands after %s", r.ID, previous)
		}
		previous = r.ID
		described[r.ID] = r
	}
	broken := map[string]bool{}
	check := func(where string, list field.ErrorList, severity validation.Severity) {
		for _, err := range list {
			r, known := described[err.Origin]
			if !known {
				t.Errorf("%s: rule %q is not described: %v", where, err.Origin, err)
			} else if r.Severity != severity && r.Severity != validation.SeverityBoth {
				t.Errorf("%s: %s is reported as %s but described as %s", where, r.ID, severity, r.Severity)
			}
		}
	}
	for _, e := range examples.All() {
		broken[e.ID] = true
		errs, warnings := verdict(e)
		check(e.ID+"/"+e.Name, errs, validation.SeverityError)
		check(e.ID+"/"+e.Name, warnings, validation.SeverityWarning)
	}
	for id, r := range described {
		if strings.HasPrefix(r.Kind, "RayCluster") && !broken[id] {
			t.Errorf("rule %s has no example", id)
		}
	}
}

func TestMessagesSayWhatIsRight(t *testing.T) {
	for _, e := range examples.All() {
		errs, warnings := verdict(e)
		for _, err := range append(errs, warnings...) {
			if err.Detail == "" {
				t.Errorf("%s/%s: %v has no advice", e.ID, e.Name, err)
			}
			if err.Field == "" || err.Field == "<nil>" {
				t.Errorf("%s/%s: %v has no path", e.ID, e.Name, err)
			}
		}
	}
}
