package validation

import (
	"slices"
	"strings"
	"sync"
)

// Tier says why there is a rule, and with that where it may refuse an object.
type Tier string

const (
	// TierPeer rules are those of KubeRay 1.7: its schema, CEL, webhook or controller refuses the object too. They refuse new
	// objects and the errors that an update brings in, everywhere but where they depend on what is not known. A controller
	// stops where that of KubeRay stops.
	TierPeer Tier = "peer"
	// TierKubernetes rules are about children that the API server would always refuse, whatever mode, feature gate or webhook
	// is in play. They refuse as those of the peer do, but never stop what runs already.
	TierKubernetes Tier = "kubernetes"
	// TierAdvice rules are all others. They only warn, everywhere in the same words.
	TierAdvice Tier = "advice"
)

// PeerLayer is a part of KubeRay that refuses an object, or fails because of it.
type PeerLayer string

const (
	// PeerSchema is its CRDs: the schema, CEL, and what the API server asks of each object.
	PeerSchema PeerLayer = "schema"
	// PeerWebhook is its validating webhook, which is off by default.
	PeerWebhook PeerLayer = "webhook"
	// PeerSpec is the check at the top of its reconcile, which does nothing for an object that fails.
	PeerSpec PeerLayer = "controller"
	// PeerStep is a later step of its controller, which fails and is tried again for ever.
	PeerStep PeerLayer = "step"
)

// Severity says what a rule does to an object that breaks it. It follows from the tier.
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
	// LayerPackage is this package, and so every entry point that asks it: gateway, webhook, controller, command line.
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
	// Tier says why, and where the rule may refuse.
	Tier Tier
	// Peer are the parts of KubeRay that refuse the object. Empty but for TierPeer.
	Peer []PeerLayer
	// Mixed says that some cases of the rule, as the condition tells, are of TierAdvice.
	Mixed bool
	// Depends names what decides about the rule besides the object: a feature gate, the batch scheduler, the environment of
	// the operator, other objects. No CRD holds such a rule, and where the thing is not known it is no error.
	Depends string
	// OptIn says that an option of the operator makes errors of the warnings.
	OptIn bool
	// Transition says that the rule is about the way from the old object to the new one, and so has a say in updates only.
	Transition bool
	// Layers are the places that enforce the rule, but for those in the API server that package celrules has tables of.
	Layers []Layer
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

// Severity is what becomes of an object that breaks the rule.
func (r Rule) Severity() Severity {
	switch {
	case r.Tier == TierAdvice && !r.OptIn:
		return SeverityWarning
	case r.Mixed || r.OptIn:
		return SeverityBoth
	}
	return SeverityError
}

// Stops reports whether a controller does not act on an object that breaks the rule, even if it acted on it before, as the
// controller of KubeRay does not.
func (r Rule) Stops() bool { return slices.Contains(r.Peer, PeerSpec) }
