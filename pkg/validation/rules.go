package validation

import (
	"slices"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Severity says what a rule does to an object that breaks it.
type Severity string

const (
	// SeverityError refuses the object.
	SeverityError Severity = "error"
	// SeverityWarning tells and lets pass.
	SeverityWarning Severity = "warning"
	// SeverityBoth belongs to rules with cases of either kind.
	SeverityBoth Severity = "error or warning"
)

// Layer is a place that can tell of a broken rule.
type Layer string

const (
	// LayerPackage is this package, and so every door that asks it.
	LayerPackage Layer = "package"
	// LayerSchema is the OpenAPI schema of the CRD.
	LayerSchema Layer = "schema"
	// LayerCEL is the CRD too: the rule can be said in CEL, within the cost that the API server allows.
	LayerCEL Layer = "CEL"
)

var (
	packageOnly      = []Layer{LayerPackage}
	packageAndSchema = []Layer{LayerPackage, LayerSchema}
	packageAndCEL    = []Layer{LayerPackage, LayerCEL}
)

// Rule describes a rule for people. What decides is the code.
type Rule struct {
	// ID is what field.Error.Origin and Violation.Rule hold.
	ID string
	// Kind is the kind of object, or RayClusterSpec for rules that hold wherever a cluster is described.
	Kind string
	// Field is where the rule looks. Within a RayClusterSpec it is the path below that.
	Field string
	// Condition says when the rule is broken.
	Condition string
	// Severity says what happens then.
	Severity Severity
	// Layers are the places that can tell.
	Layers []Layer
	// Stop says that a controller must not act on an object that breaks the rule, even if it ran before.
	Stop bool
}

// Rules returns the description of every rule that this package reports, in the order of their ids.
func Rules() []Rule { return slices.Clone(rules) }

// Blocking returns the errors for which a controller must not act on an object that exists already: those of rules that
// KubeRay 1.7 enforces in its controller too, and of rules marked Stop. Other errors refuse new objects only.
func Blocking(errs field.ErrorList) field.ErrorList {
	var blocking field.ErrorList
	for _, err := range errs {
		if isPeerRule(err.Origin) || stopRules[err.Origin] {
			blocking = append(blocking, err)
		}
	}
	return blocking
}

// isPeerRule reports whether the number is below 500, as in RC-042.
func isPeerRule(id string) bool {
	return len(id) > 3 && id[len(id)-3] < '5'
}

var stopRules = func() map[string]bool {
	stop := map[string]bool{}
	for _, r := range rules {
		if r.Stop {
			stop[r.ID] = true
		}
	}
	return stop
}()
