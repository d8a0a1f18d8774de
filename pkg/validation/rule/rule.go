package rule

import (
	"cmp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Tier is the reason why a rule exists. It decides where the rule may refuse an object.
type Tier string

const (
	// Peer rules are those of KubeRay 1.7: its schema, CEL, webhook or controller refuses the object too. They refuse new objects and the
	// errors that an update adds, everywhere except where they depend on unknown settings. A controller stops where KubeRay's controller
	// stops.
	Peer Tier = "peer"
	// Kubernetes rules are about children that the API server would always refuse, independent of mode, feature gate and webhook. They
	// refuse like those of the peer, but never stop what runs already.
	Kubernetes Tier = "kubernetes"
	// Advice rules are all others. They only warn, everywhere in the same words.
	Advice Tier = "advice"
)

// PeerLayer is a part of KubeRay that refuses an object, or fails because of it.
type PeerLayer string

const (
	// PeerSchema is KubeRay's CRDs: the schema, CEL, and the API server's checks of every object.
	PeerSchema PeerLayer = "schema"
	// PeerWebhook is its validating webhook, which is off by default.
	PeerWebhook PeerLayer = "webhook"
	// PeerSpec is the check at the top of its reconcile, which does nothing for an object that fails.
	PeerSpec PeerLayer = "controller"
	// PeerStep is a later step of its controller, which fails and is tried again for ever.
	PeerStep PeerLayer = "step"
)

// The parts of KubeRay that have a rule.
var (
	BySchema         = []PeerLayer{PeerSchema}
	BySchemaAndSpec  = []PeerLayer{PeerSchema, PeerSpec}
	ByWebhook        = []PeerLayer{PeerWebhook}
	ByWebhookAndSpec = []PeerLayer{PeerWebhook, PeerSpec}
	BySpec           = []PeerLayer{PeerSpec}
	ByStep           = []PeerLayer{PeerStep}
)

// Severity is the effect of a rule on an object that breaks it. It follows from the tier.
type Severity string

const (
	// SeverityError refuses the object.
	SeverityError Severity = "error"
	// SeverityWarning accepts the object with a warning.
	SeverityWarning Severity = "warning"
	// SeverityBoth is for rules with cases of either severity, which the condition describes.
	SeverityBoth Severity = "error or warning"
)

// Layer is a place that enforces a rule, besides the API server. The fields CEL, Policies and Marker of the rule are for the API server.
type Layer string

const (
	// LayerPackage is package validation, and so every entry point that uses it: gateway, webhook, controller, command line.
	LayerPackage Layer = "package"
	// LayerController is package validation as the controller uses it: the rule needs [Facts] that only the controller has.
	LayerController Layer = "controller"
	// LayerSchema is the OpenAPI schema of the CRD, for rules that only it has.
	LayerSchema Layer = "schema"
)

// Layers of rules that not every entry point enforces.
var (
	ControllerOnly       = []Layer{LayerController}
	SchemaOnly           = []Layer{LayerSchema}
	PackageAndController = []Layer{LayerPackage, LayerController}
)

// Kinds of rules that apply to a part of an object wherever it occurs.
const (
	// KindClusterSpec are rules for the RayClusterSpec of a RayCluster, a RayJob, a RayService or a RayCronJob.
	KindClusterSpec = "RayClusterSpec"
	// KindJobSpec are rules for the RayJobSpec of a RayJob or a RayCronJob.
	KindJobSpec = "RayJobSpec"
	// KindAny are rules for the metadata of more than one kind.
	KindAny = "any"
)

// kindOf is the kind of a rule that names none, by how its id begins.
var kindOf = map[string]string{"RC": KindClusterSpec, "RJ": KindJobSpec, "RS": "RayService", "CJ": "RayCronJob"}

// Rule is the declaration of a rule, without its check. [New] fills in the fields that follow from others.
type Rule struct {
	// ID is the value of field.Error.Origin and Violation.Rule. It is stable and never reused. Ids up to 199 are rules of KubeRay 1.7;
	// those from 501 are additions.
	ID string
	// Kind is the kind of object, or one of the constants above. Empty means the kind that the id implies: RayClusterSpec, RayJobSpec,
	// RayService or RayCronJob.
	Kind string
	// Field is the field that the rule checks. In a RayClusterSpec or a RayJobSpec, it is the path below that.
	Field string
	// Condition describes when the rule is broken.
	Condition string
	// Remedy describes a valid value, and is the message of problems that have no other.
	Remedy string
	// Tier is the reason of the rule, and decides where it may refuse. Empty means Peer if Peer is given, and otherwise Advice.
	Tier Tier
	// Peer are the parts of KubeRay that refuse the object. It is empty except for the tier Peer.
	Peer []PeerLayer
	// Mixed means that some cases of the rule, described in the condition, are of the tier Advice.
	Mixed bool
	// Depends names what the rule depends on besides the object: a feature gate, the batch scheduler, the environment of the operator, or
	// other objects. No CRD contains such a rule. While the dependency is unknown, the rule reports no error.
	Depends string
	// OptIn means that an option of the operator turns the warnings into errors.
	OptIn bool
	// Transition means that the rule compares the old object with the new one, and so applies only to updates.
	Transition bool
	// Layers are the places that enforce the rule outside of the API server. Nil means LayerPackage.
	Layers []Layer
	// Same are ids of the catalogue with the same meaning; problems have ID.
	Same []string
	// Reads are the other fields that the rule reads, besides Field and those in the message. A path is below the part that Kind names, or,
	// after "../", next to the field of the problem. If one of them changes, an old problem counts as new.
	Reads []string

	// Marker means that the types in api declare the rule by a marker, in the same words as the types of KubeRay 1.7. Its value is the form
	// in the CRD: a keyword of the schema, or CEL. Empty means no marker.
	Marker APILayer
	// Keyword is a keyword of the schema that enforces the rule. Nil means none.
	Keyword *Keyword
	// CEL are the expressions in the schemas of the CRDs.
	CEL []CEL
	// Policies are expressions in ValidatingAdmissionPolicies, for rules that a schema cannot evaluate or afford.
	Policies []Policy
}

// Severity is the effect on an object that breaks the rule.
func (r *Rule) Severity() Severity {
	switch {
	case r.Tier == Advice && !r.OptIn:
		return SeverityWarning
	case r.Mixed || r.OptIn:
		return SeverityBoth
	}
	return SeverityError
}

// Stops reports whether a controller does not act on an object that breaks the rule, even if it acted on it before, as the
// controller of KubeRay does not.
func (r *Rule) Stops() bool { return slices.Contains(r.Peer, PeerSpec) }

// declared are all rules of the program by their ids. Only variables at the level of packages add to it.
var declared = map[string]*Rule{}

// New declares a rule: once, as a variable of a package.
func New(r Rule) *Rule {
	if declared[r.ID] != nil {
		panic("rule " + r.ID + " is declared twice")
	}
	if r.Kind == "" {
		r.Kind = kindOf[r.ID[:2]]
	}
	switch {
	case r.Tier != "":
	case len(r.Peer) > 0:
		r.Tier = Peer
	default:
		r.Tier = Advice
	}
	if r.Layers == nil {
		r.Layers = []Layer{LayerPackage}
	}
	declared[r.ID] = &r
	return &r
}

// All returns the rules of all packages that the program has, by their ids.
func All() []*Rule {
	all := make([]*Rule, 0, len(declared))
	for _, r := range declared {
		all = append(all, r)
	}
	slices.SortFunc(all, func(a, b *Rule) int { return strings.Compare(a.ID, b.ID) })
	return all
}

// ByID returns the rule, or nil.
func ByID(id string) *Rule { return declared[id] }

// Enum is a rule on a field that has one of a few values.
type Enum[T ~string] struct {
	*Rule
	values []T
}

// NewEnum declares such a rule. The values are its condition and the words of its CEL, unless it has some.
func NewEnum[T ~string](r Rule, values ...T) Enum[T] {
	supported := field.NotSupported[T](nil, "", values).Detail
	r.Condition = cmp.Or(r.Condition, "none of the "+supported)
	for i := range r.CEL {
		r.CEL[i].Says = cmp.Or(r.CEL[i].Says, supported)
	}
	return Enum[T]{New(r), values}
}

// Check reports a value that is not one of them, and returns whether it is one.
func (e Enum[T]) Check(r *Report, path *field.Path, value T) bool {
	return OneOf(r, e.Rule, path, value, e.values...)
}

// CheckGiven is Check for a value that may be absent.
func (e Enum[T]) CheckGiven(r *Report, path *field.Path, value *T) {
	if value != nil {
		e.Check(r, path, *value)
	}
}
