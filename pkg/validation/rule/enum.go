package rule

import (
	"cmp"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

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

// Check reports a value that is none of them, and whether it is one.
func (e Enum[T]) Check(r *Report, path *field.Path, value T) bool {
	return OneOf(r, e.Rule, path, value, e.values...)
}

// CheckGiven is Check for a value that may be absent.
func (e Enum[T]) CheckGiven(r *Report, path *field.Path, value *T) {
	if value != nil {
		e.Check(r, path, *value)
	}
}
