package rule

// APILayer is a place in the API server that can refuse an object for a rule.
type APILayer string

// Layers of the API server, in the order in which an object meets them.
const (
	// InSchema is a keyword of the CRD's schema.
	InSchema APILayer = "schema"
	// InCEL is a CEL rule of the CRD's schema.
	InCEL APILayer = "CEL"
)

// Part is a part of the API that stands in one or more kinds, or the whole object of a kind.
type Part string

// Parts that rules stand in.
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
	// WasBroken lets an update pass when the old value broke the rule too, and not in a lesser way.
	WasBroken Ratchet = iota
	// ByServer leaves it to the API server, which asks the rule whenever its node changed: for nodes that hold nothing but
	// what the rule reads, or whose items have no old value because they are in a list without keys.
	ByServer
	// CreateOnly asks the rule on create only: for names, which cannot change.
	CreateOnly
)

// CEL is one expression of a rule in the schemas of the CRDs.
type CEL struct {
	// Part and Node are the place of the expression: a path below the part with [] for the items of a list and {} for the
	// values of a map. An empty Part is that of the kind of the rule, an empty Node is the part itself.
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
	// Unchanged are paths below the node. With WasBroken an update passes if it changes none of them, instead of if the old
	// value broke the rule: what was wrong before must not become wrong in another way. They must be all that the rule reads.
	Unchanged []string
	// NoWorse compares self with oldSelf. With WasBroken an update passes only if this is true too.
	NoWorse string
	// Groups and EachGroup are in place of Valid: a list of worker groups below the node, and a condition that is true of each good one, g.
	// Of a group without Pods a rule of tier kubernetes asks nothing. An update passes that brings in no more groups that
	// break the rule; which groups they are would take comparing each with each, beyond any budget. The Go check does.
	Groups, EachGroup string
	// OwnWords marks messages that are not those of the Go check, whose text comes from a library.
	OwnWords bool
	// Partly says that the rule can be broken in other ways than the expression sees, at the same field.
	Partly bool
}

// Keyword is a keyword in the schemas of the CRDs. A keyword is asked only when the value of its node changed.
type Keyword struct {
	// Part and Node are as in [CEL].
	Part                           Part
	Node                           string
	MaxItems, MinLength, MaxLength *int64
}

// Policy is one expression of a rule in the ValidatingAdmissionPolicies. A policy sees all of the object and has no estimate of costs, but
// it cannot name a field, so its message begins with one.
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
