package devices

// Field is an amount that a container requests.
type Field string

// Fields.
const (
	Count         Field = "count"
	Memory        Field = "memory"
	MemoryPercent Field = "memoryPercent"
	Cores         Field = "cores"
	Priority      Field = "priority"
)

// Fields are all fields, in the order in which messages name them.
var Fields = []Field{Count, Memory, MemoryPercent, Cores, Priority}

// Name is the resource of the field, empty if the family has none.
func (r *Resources) Name(f Field) string {
	switch f {
	case Count:
		return r.Count
	case Memory:
		return r.Memory
	case MemoryPercent:
		return r.MemoryPercent
	case Cores:
		return r.Cores
	case Priority:
		return r.Priority
	default:
		return ""
	}
}

// Sources of the amounts of Ray's resources.
const (
	AmountCount = "Count"
	AmountCores = "Cores"
)

// Rule is one or more statements about a field. Amounts are in the unit in which users write the field; memory in Bytes is in MiB. A rule
// about a field that the container does not request does nothing, unless it fills in the field.
type Rule struct {
	// Field is the amount that the rule is about.
	Field Field `json:"field"`
	// If limits the rule to containers that meet the condition.
	If *Condition `json:"if,omitempty"`
	// UnlessAnnotation leaves the rule out for Pods with the annotation.
	UnlessAnnotation *AnnotationValue `json:"unlessAnnotation,omitempty"`
	// When limits the rule to containers for which a CEL expression is true. It is for cases that If and UnlessAnnotation cannot express.
	// The amounts are those after the rules before this one.
	When string `json:"when,omitempty"`

	// Range is the least and the greatest amount.
	Range []int64 `json:"range,omitempty"`
	// OneOf are the valid amounts.
	OneOf []int64 `json:"oneOf,omitempty"`
	// MultipleOf permits multiples, and the values in Also.
	MultipleOf int64 `json:"multipleOf,omitempty"`
	// Also are valid amounts beside multiples of MultipleOf.
	Also []int64 `json:"also,omitempty"`
	// Positive refuses zero, which otherwise is the same as nothing.
	Positive bool `json:"positive,omitempty"`
	// Zero is Absent, the default: an amount of zero equals no amount.
	Zero string `json:"zero,omitempty"`

	// Absent is filled in for a missing amount, for each device with PerDevice.
	Absent int64 `json:"absent,omitempty"`
	// PerDevice multiplies Absent by the number of devices.
	PerDevice bool `json:"perDevice,omitempty"`
	// RoundUpTo are sizes, ascending; the amount becomes the next of them.
	RoundUpTo []int64 `json:"roundUpTo,omitempty"`
	// Above is for amounts above the last size: Deny refuses them, and Clamp lowers them to it. Empty means Deny.
	Above string `json:"above,omitempty"`
	// DeriveWhenCountAbove computes the field.
	DeriveWhenCountAbove *Derive `json:"deriveWhenCountAbove,omitempty"`
	// RequireOneWhen refuses more than one device.
	RequireOneWhen *OneWhen `json:"requireOneWhen,omitempty"`
	// DenyUnlessAnnotation refuses the field in Pods without the annotation.
	DenyUnlessAnnotation *AnnotationValue `json:"denyUnlessAnnotation,omitempty"`
}

// Clamp lowers amounts above the last size to it.
const Clamp = "Clamp"

// Condition is about one field; all set conditions must hold. An absent field is 0.
type Condition struct {
	// Field is the amount that the condition is about.
	Field Field `json:"field"`
	// Equals is true for this amount.
	Equals *int64 `json:"equals,omitempty"`
	// Above is true for larger amounts.
	Above *int64 `json:"above,omitempty"`
	// Absent is true for a container without an amount.
	Absent bool `json:"absent,omitempty"`
}

// Derive sets a field to PerDevice for each device if there are more of them than Count. Another amount of the user is refused.
type Derive struct {
	// Count is the number of devices above which the field is computed.
	Count int64 `json:"count"`
	// PerDevice is the amount for each device.
	PerDevice int64 `json:"perDevice"`
}

// OneWhen is when a container may have one device only: a field is given that is not NotEqual, or the Pod has the annotation.
type OneWhen struct {
	// Field is the amount that is compared with NotEqual.
	Field Field `json:"field,omitempty"`
	// NotEqual is the amount of Field that permits several devices.
	NotEqual int64 `json:"notEqual,omitempty"`
	// Annotation is the key of an annotation of the Pod.
	Annotation string `json:"annotation,omitempty"`
}

// AnnotationValue matches Pods with the annotation, and with that value if it is set.
type AnnotationValue struct {
	// Key is the key of the annotation.
	Key string `json:"key"`
	// Value is the value of the annotation; empty means any.
	Value string `json:"value,omitempty"`
}

// Annotation of Pods with a device.
type Annotation struct {
	// Key is the key of the annotation.
	Key string `json:"key"`
	// Default is the value for Pods without the annotation, as a template (see Env); empty means none.
	Default string `json:"default,omitempty"`
	// OneOf are the valid values; empty means any, or the Default if that is a template.
	OneOf []string `json:"oneOf,omitempty"`
	// If limits the annotation to containers that meet the condition.
	If *Condition `json:"if,omitempty"`
	// Unless leaves it out for Pods with another annotation.
	Unless *AnnotationValue `json:"unless,omitempty"`
	// When limits it to containers for which an expression in CEL is true.
	When string `json:"when,omitempty"`
}

// Handling of a variable that a container has already.
const (
	Keep    = "Keep"
	Replace = "Replace"
)

// Env is a variable of a container.
type Env struct {
	// Name is the name of the variable.
	Name string `json:"name"`
	// Value may contain ${count}, ${memory}, ${cores}, ${priority} and ${container}. The variable is left out if one of its amounts is
	// absent.
	Value string `json:"value"`
	// When is HasPriority, an expression in CEL, or empty, which means always.
	When string `json:"when,omitempty"`
	// Enabled is true if unset.
	Enabled *bool `json:"enabled,omitempty"`
	// Conflict is Keep, Replace or Deny; empty means Keep. Deny refuses another value.
	Conflict string `json:"conflict,omitempty"`
}

// HasPriority selects containers that request a priority.
const HasPriority = "HasPriority"

// Expression is When, or empty if When is not a CEL expression.
func (e *Env) Expression() string {
	if e.When == HasPriority {
		return ""
	}
	return e.When
}

// On reports whether the variable is in use.
func (e *Env) On() bool { return e.Enabled == nil || *e.Enabled }
