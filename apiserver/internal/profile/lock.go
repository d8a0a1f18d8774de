package profile

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/raygate/raygate/pkg/manifest"
	"github.com/raygate/raygate/pkg/manifest/problem"
)

const (
	// every is the step of a lock to all members of an object or items of a list.
	every = "*"
	// origin is that of the errors of locks.
	origin = "profile/locked"
)

var (
	lockForm = regexp.MustCompile(`^(?:metadata|spec)(?:\.[A-Za-z0-9]+|\[[^\[\]]+\])+$`)
	lockStep = regexp.MustCompile(`[^.\[\]]+|\[[^\]]+\]`)
)

// parseLock splits the path of a lock at dots and brackets; keys in brackets may have dots. A field that no profile can have is a mistake,
// because it would lock nothing.
func parseLock(path string) ([]string, field.ErrorList) {
	if !lockForm.MatchString(path) {
		return nil, field.ErrorList{field.Invalid(nil, path, "it begins with spec or metadata, and has a dot before a member and brackets around a key")}
	}
	steps := lockStep.FindAllString(path, -1)
	for i := range steps {
		steps[i] = strings.Trim(steps[i], "[]")
	}
	var errs field.ErrorList
	for _, value := range []any{map[string]any{}, []any{}, "", int64(0), true} { // one of them has the type of the field
		if errs = manifest.Decode(treeOf(steps, value), &document{}, nil); len(errs) == 0 {
			break
		}
	}
	return steps, errs
}

// treeOf returns a document that has only the field at these steps.
func treeOf(steps []string, value any) map[string]any {
	for i := len(steps) - 1; i > 0; i-- {
		if lists[steps[i-1]].key != "" {
			value = []any{value}
		} else {
			value = map[string]any{steps[i]: value}
		}
	}
	return map[string]any{steps[0]: value}
}

// locked returns the differences between a profile and an object, at and below the steps of a lock. name is that of the member at path.
func (p *Profile) locked(path *field.Path, name string, steps []string, want, got any) field.ErrorList {
	wants, gots := membersOf(name, want), membersOf(name, got)
	var keys []string
	switch {
	case len(steps) > 0 && steps[0] != every:
		keys = steps[:1]
	case len(steps) > 0 || wants != nil && gots != nil:
		all := map[string]any{}
		maps.Copy(all, wants)
		maps.Copy(all, gots)
		keys = slices.Sorted(maps.Keys(all))
	case text(want) == text(got):
		return nil
	case want == nil:
		return refused(path, got, fmt.Sprintf("profile %s locks the field and does not set it", p.Name))
	default:
		return refused(path, got, fmt.Sprintf("profile %s locks it to %s", p.Name, problem.Short(text(want))))
	}
	var errs field.ErrorList
	for _, key := range keys {
		member := path.Child(key)
		if _, isList := got.([]any); isList || strings.ContainsAny(key, "./") {
			member = path.Key(key)
		}
		errs = append(errs, p.locked(member, key, steps[min(len(steps), 1):], wants[key], gots[key])...)
	}
	return errs
}

func refused(path *field.Path, got any, detail string) field.ErrorList {
	return field.ErrorList{field.Invalid(path, problem.Short(text(got)), detail).WithOrigin(origin)}
}

// membersOf returns the members of an object, or the items of a list by their keys; nil for any other value.
func membersOf(name string, value any) map[string]any {
	members, _ := value.(map[string]any)
	if items, ok := value.([]any); ok && lists[name].key != "" {
		members = map[string]any{}
		for _, item := range items {
			if id, ok := idOf(lists[name].key, item); ok {
				members[id] = item
			}
		}
	}
	return members
}
