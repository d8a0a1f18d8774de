package manifest

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/raygate/raygate/pkg/manifest/problem"
)

// Join merges the mistakes in the form of a document, which Decode finds, with the problems that rules find in its content. It leaves out
// problems that follow from a mistake in the form, because rules only saw the part that could be decoded. Its time is linear in the number
// of errors.
func Join(form, content field.ErrorList) field.ErrorList {
	all := slices.Clone(form)
	wrong := placesOf(form)
	for _, problem := range content {
		if !wrong.explain(problem) {
			all = append(all, problem)
		}
	}
	return all
}

// places are the places of the mistakes in the form of a document, as paths.
type places struct {
	// at are the places themselves. above are these and all that contain them. beside are the containers of unknown fields.
	at, above, beside map[string]struct{}
}

func placesOf(form field.ErrorList) places {
	p := places{at: map[string]struct{}{}, above: map[string]struct{}{}, beside: map[string]struct{}{}}
	for _, f := range form {
		p.at[f.Field] = struct{}{}
		for parent := range containers(f.Field) {
			p.above[parent] = struct{}{}
		}
		if f.Origin == problem.UnknownField {
			p.beside[f.Field[:max(0, strings.LastIndexAny(f.Field, ".["))]] = struct{}{}
		}
	}
	return p
}

// explain reports whether a problem of the content may be only the consequence of a mistake in the form. Such a problem is about the place
// of the mistake, or it misses a field that contains the mistake or may be misspelt there.
func (p places) explain(problem *field.Error) bool {
	required := problem.Type == field.ErrorTypeRequired
	if required && has(p.above, problem.Field) || required && has(p.beside, "") {
		return true
	}
	for path := range containers(problem.Field) {
		if has(p.at, path) || required && has(p.beside, path) {
			return true
		}
	}
	return false
}

func has(set map[string]struct{}, path string) bool {
	_, ok := set[path]
	return ok
}

// containers returns the paths of everything that contains the path, the outermost first, and the path itself.
func containers(path string) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		for i := range path {
			if (path[i] == '.' || path[i] == '[') && !yield(path[:i]) {
				return
			}
		}
		yield(path)
	}
}
