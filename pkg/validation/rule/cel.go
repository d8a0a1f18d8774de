package rule

// APILayer is a place in the API server that can refuse an object for a rule.
type APILayer string

// Layers of the API server, in the order in which they process an object.
const (
	// InSchema is a keyword of the CRD's schema.
	InSchema APILayer = "schema"
	// InCEL is a CEL rule of the CRD's schema.
	InCEL APILayer = "CEL"
)

// Part is a part of the API that occurs in one or more kinds, or the whole object of a kind.
type Part string

// Parts that have rules.
const (
	// ClusterSpec is RayClusterSpec, in all four kinds.
	ClusterSpec Part = KindClusterSpec
	// JobSpec is RayJobSpec, in RayJob and RayCronJob.
	JobSpec    Part = KindJobSpec
	RayCluster Part = "RayCluster"
	RayJob     Part = "RayJob"
	RayService Part = "RayService"
	RayCronJob Part = "RayCronJob"
)

// Reason is the reason of an error in the terms of the API server. The zero value means FieldValueInvalid.
type Reason string

// Reasons. FieldValueDuplicate is not among them: the API server drops its message.
const (
	Required  Reason = "FieldValueRequired"
	Forbidden Reason = "FieldValueForbidden"
)

// Ratchet selects how a rule allows updates of objects that already broke it.
type Ratchet int

const (
	// WasBroken allows an update if the old value broke the rule as well, at least as much.
	WasBroken Ratchet = iota
	// ByServer allows an update that does not change the node. It is for nodes that contain only what the rule reads, or whose items have no
	// old value because their list has no keys. The node must not have lists with keys: policies would compare their order, too.
	ByServer
	// CreateOnly evaluates the rule on create only: for names, which cannot change.
	CreateOnly
)

// CEL is one expression of a rule in the schemas of the CRDs, for new objects, and in the policies of the CRDs, for updates.
type CEL struct {
	// Part and Node are the place of the expression: a path below the part with [] for the items of a list and {} for the values of a map.
	// An empty Part means the part of the kind of the rule, an empty Node the part itself.
	Part Part
	Node string
	// When is true of a part, self, to which the rule applies, as in has(self.tlsOptions). Empty means all parts, or those that have the
	// first field of Node. The API server evaluates it once for all rules with the same When.
	When string
	// Valid is true of a valid value of the node, self.
	Valid string
	// Field is the field to report, below the node, in the notation of fieldPath. Empty reports the node.
	Field string
	// Says is the message. Empty means the remedy of the rule.
	Says string
	// Reason is empty for an invalid value.
	Reason Reason
	// Ratchet is how updates of objects pass that broke the rule before.
	Ratchet Ratchet
	// Unchanged are paths below the node. With WasBroken an update passes if it changes none of them; the old value is not evaluated. An
	// old problem must not turn into another one. They must be all that the rule reads.
	Unchanged []string
	// NoWorse compares self with oldSelf. With WasBroken an update passes only if this is true too.
	NoWorse string
	// Groups and EachGroup replace Valid: a list of worker groups below the node, and a condition that is true of each valid one, g. A rule
	// of tier kubernetes ignores groups without Pods. An update passes if no more groups than before break the rule. Comparing each group
	// with each would exceed the budget; the Go check does that.
	Groups, EachGroup string
	// OwnWords marks messages that differ from those of the Go check, whose text comes from a library.
	OwnWords bool
	// Partly means that the expression does not cover all ways to break the rule at the field.
	Partly bool
}

// Keyword is a keyword in the schemas of the CRDs. It is evaluated only if the value of its node changed.
type Keyword struct {
	// Part and Node are as in [CEL].
	Part                           Part
	Node                           string
	MaxItems, MinLength, MaxLength *int64
}

// Policy is one expression of a rule in the ValidatingAdmissionPolicies. A policy sees the whole object and has no estimate of costs. It
// cannot name a field, so its message begins with one.
type Policy struct {
	// Parts are the kinds of object that the policy checks. Nil means all kinds that contain the kind of the rule.
	Parts []Part
	// EachGroup evaluates the policy for each worker group, g.
	EachGroup bool
	// Valid is true of a valid object. Its variables are annotations, labels and spec of the object, cluster for the RayClusterSpec in it,
	// which always exists, and g. An update of an object that broke the rule before passes.
	Valid string
	// Field and Says are the message. A field that begins with a dot is below the RayClusterSpec, or with EachGroup below the group. Empty
	// Says means the remedy of the rule.
	Field, Says string
	// Warning makes the policy warn although the rule is an error elsewhere. Rules of tier advice always warn.
	Warning bool
}
