package kubedoc

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/raygate/raygate/pkg/kubedoc/mistake"
)

// Join puts together what is wrong with the form of a document, as Decode finds it, and what rules say about its content,
// without the problems that follow from a mistake in the form: rules saw only what was left of the document.
func Join(form, content field.ErrorList) field.ErrorList {
	all := slices.Clone(form)
	for _, problem := range content {
		if !slices.ContainsFunc(form, func(f *field.Error) bool { return Follows(problem, f.Field, f.Origin) }) {
			all = append(all, problem)
		}
	}
	return all
}

// Follows tells whether a problem of the content may come of nothing but a mistake at path, which has one of the reasons of
// package mistake: the problem is about that place, or misses what contains it, or what may have been misspelt there.
func Follows(problem *field.Error, path, reason string) bool {
	switch {
	case within(problem.Field, path):
		return true
	case problem.Type != field.ErrorTypeRequired:
		return false
	case within(path, problem.Field):
		return true
	case reason != mistake.UnknownField:
		return false
	}
	parent := path[:max(0, strings.LastIndexAny(path, ".["))]
	return parent == "" || within(problem.Field, parent)
}

// within tells whether path is at or below parent.
func within(path, parent string) bool {
	rest, ok := strings.CutPrefix(path, parent)
	return ok && (rest == "" || rest[0] == '.' || rest[0] == '[')
}
