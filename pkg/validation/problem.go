package validation

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// The constructors below are those of package field with the id of the rule, and always with a sentence that says what
// would be right. Values that may hold a secret (of env, of credentials) must go through forbidden, which shows none.

func invalid(id string, path *field.Path, value any, detail string) *field.Error {
	return field.Invalid(path, shown(value), detail).WithOrigin(id)
}

// shown keeps a text of a megabyte out of messages.
func shown(value any) any {
	if text, ok := value.(string); ok {
		return clipped(text)
	}
	return value
}

func forbidden(id string, path *field.Path, detail string) *field.Error {
	return field.Forbidden(path, detail).WithOrigin(id)
}

func required(id string, path *field.Path, detail string) *field.Error {
	return field.Required(path, detail).WithOrigin(id)
}

func duplicate(id string, path *field.Path, value any, detail string) *field.Error {
	err := field.Duplicate(path, shown(value)).WithOrigin(id)
	err.Detail = detail
	return err
}

// notIn reports a value that is not one of the allowed ones.
func notIn[T ~string](id string, path *field.Path, value T, allowed ...T) field.ErrorList {
	if slices.Contains(allowed, value) {
		return nil
	}
	return field.ErrorList{field.NotSupported(path, T(clipped(string(value))), allowed).WithOrigin(id)}
}

// maxShown is how much of a long text a message repeats.
const maxShown = 256

func clipped(text string) string {
	if len(text) <= maxShown {
		return text
	}
	return strings.ToValidUTF8(text[:maxShown], "") + "..."
}
