package validation

import (
	"slices"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Severity says what a rule does to an object that breaks it.
type Severity string

const (
	// SeverityError refuses the object.
	SeverityError Severity = "error"
	// SeverityWarning tells and lets pass.
	SeverityWarning Severity = "warning"
	// SeverityBoth belongs to rules with cases of either kind, as the condition tells.
	SeverityBoth Severity = "error or warning"
)

// Layer is a place that can tell of a broken rule.
type Layer string

const (
	// LayerPackage is this package, and so every door that asks it: gateway, webhook, controller, command line.
	LayerPackage Layer = "package"
	// LayerController is this package as the controller asks it: the rule needs [Facts] that only the controller has.
	LayerController Layer = "controller"
	// LayerSchema is the OpenAPI schema of the CRD, for rules that only it has.
	LayerSchema Layer = "schema"
)

var (
	packageOnly    = []Layer{LayerPackage}
	controllerOnly = []Layer{LayerController}
	schemaOnly     = []Layer{LayerSchema}
)

// Kinds of rules that hold wherever the part of an object stands.
const (
	// KindClusterSpec are rules for a RayClusterSpec: that of a RayCluster, a RayJob, a RayService or a RayCronJob.
	KindClusterSpec = "RayClusterSpec"
	// KindJobSpec are rules for a RayJobSpec: that of a RayJob or a RayCronJob.
	KindJobSpec = "RayJobSpec"
	// KindAny are rules for the metadata of more than one kind.
	KindAny = "any"
)

// Rule describes a rule for people. What decides is the code.
type Rule struct {
	// ID is what field.Error.Origin and Violation.Rule hold.
	ID string
	// Kind is the kind of object, or one of the constants above.
	Kind string
	// Field is where the rule looks. Within a RayClusterSpec or a RayJobSpec it is the path below that.
	Field string
	// Condition says when the rule is broken.
	Condition string
	// Severity says what happens then.
	Severity Severity
	// Ratcheting says that objects which break the rule may run today. Beware of refusing those for a value that is stored
	// already.
	Ratcheting bool
	// Transition says that the rule is about the way from the old object to the new one, and so has a say in updates only.
	Transition bool
	// Layers are the places that enforce the rule, but for those in the API server that package celrules has tables of.
	Layers []Layer
	// Stop says that a controller must not act on an object that breaks the rule, even if it ran before.
	Stop bool
	// Same are ids of the catalogue that say the same; problems carry ID.
	Same []string
	// Reads are the other fields that decide, beyond Field and those that stand in the message: below the part that Kind
	// names, or, after "../", next to the field of the problem. An old problem is a new one when they change.
	Reads []string
}

// Rules returns the description of every rule that this package reports, in the order of their ids.
func Rules() []Rule { return slices.Clone(allRules()) }

var allRules = sync.OnceValue(func() []Rule {
	all := slices.Concat(rulesOfClusters, rulesOfJobs, rulesOfServices, rulesOfCronJobs, rulesOfAllKinds)
	slices.SortFunc(all, func(a, b Rule) int { return strings.Compare(a.ID, b.ID) })
	return all
})

var rulesByID = sync.OnceValue(func() map[string]Rule {
	byID := map[string]Rule{}
	for _, r := range allRules() {
		byID[r.ID] = r
	}
	return byID
})

// Blocking returns the errors for which a controller must not act on an object that exists already: those of rules that
// KubeRay 1.7 enforces in its controller too, and of rules marked Stop. Other errors refuse new objects only.
func Blocking(errs field.ErrorList) field.ErrorList {
	var blocking field.ErrorList
	for _, err := range errs {
		if isPeerRule(err.Origin) || rulesByID()[err.Origin].Stop {
			blocking = append(blocking, err)
		}
	}
	return blocking
}

// isPeerRule reports whether the number is below 500, as in RC-042.
func isPeerRule(id string) bool {
	return len(id) > 3 && id[len(id)-3] < '5'
}
