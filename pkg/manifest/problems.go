package manifest

import (
	"regexp"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/raygate/raygate/pkg/manifest/problem"
)

// Problem returns a problem at path, nil for the document itself, with a detail. reason, of package problem, is its Origin.
func Problem(path *field.Path, reason, detail string) *field.Error {
	e := &field.Error{Type: field.ErrorTypeTypeInvalid, BadValue: field.OmitValueType{}, Detail: detail}
	if path != nil {
		e.Field = path.String()
	}
	return e.WithOrigin(reason)
}

// maxMistakes limits the number of reported mistakes of one document.
const maxMistakes = 100

// mistakes are those found so far.
type mistakes struct{ list field.ErrorList }

func (m *mistakes) add(path *field.Path, reason, detail string) {
	if !m.full() {
		m.list = append(m.list, Problem(path, reason, detail))
	}
}

// full reports whether further mistakes will not be reported, so that callers can skip their texts.
func (m *mistakes) full() bool { return len(m.list) >= maxMistakes }

func (m *mistakes) wrongType(path *field.Path, want string, got any) {
	m.add(path, problem.WrongType, problem.Type(want, describe(got)))
}

var identifier = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// memberOf is the path of a member. A name that is not an identifier is probably the key of a map.
func memberOf(path *field.Path, name string) *field.Path {
	if len(name) < 64 && identifier.MatchString(name) {
		return path.Child(name)
	}
	return keyOf(path, name)
}

func keyOf(path *field.Path, name string) *field.Path { return path.Key(problem.Short(name)) }
