package validation

import (
	"cmp"
	"reflect"
	"slices"
	"strconv"
	"strings"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/pkg/validation/internal/jsonfield"
)

// pathStep is one step of a field path: a field name, the index of a list or the key of a map.
type pathStep struct {
	// name is the text as it stands in the path.
	name  string
	index int
	kind  stepKind
}

// stepKind orders steps of different kinds; a path never mixes them at one place.
type stepKind int

const (
	stepField stepKind = iota
	stepIndex
	stepKey
)

// splitPath reads a rendered field path. A key in brackets may itself hold dots: annotations[ray.io/ft-enabled].
func splitPath(path string) []pathStep {
	var steps []pathStep
	for path != "" {
		switch path[0] {
		case '.':
			path = path[1:]
		case '[':
			end := strings.IndexByte(path, ']')
			if end < 0 {
				return append(steps, pathStep{name: path, kind: stepKey})
			}
			key := path[1:end]
			if i, err := strconv.Atoi(key); err == nil {
				steps = append(steps, pathStep{name: key, index: i, kind: stepIndex})
			} else {
				steps = append(steps, pathStep{name: key, kind: stepKey})
			}
			path = path[end+1:]
		default:
			end := strings.IndexAny(path, ".[")
			if end < 0 {
				end = len(path)
			}
			steps = append(steps, pathStep{name: path[:end], kind: stepField})
			path = path[end:]
		}
	}
	return steps
}

// comparePaths orders two paths of an object of the type as a reader of the API would: fields as they are declared, list
// items by index, keys of maps and unknown fields by text.
func comparePaths(t reflect.Type, a, b []pathStep) int {
	for i := range min(len(a), len(b)) {
		x, y := a[i], b[i]
		t = settledType(t)
		if c := cmp.Compare(x.kind, y.kind); c != 0 {
			return c
		}
		if c := cmp.Compare(x.index, y.index); c != 0 {
			return c
		}
		if c := cmp.Compare(rankOf(t, x), rankOf(t, y)); c != 0 {
			return c
		}
		if x.name != y.name {
			return cmp.Compare(x.name, y.name)
		}
		t = below(t, x)
	}
	return cmp.Compare(len(a), len(b))
}

func rankOf(t reflect.Type, step pathStep) int {
	if t == nil || t.Kind() != reflect.Struct || step.kind != stepField {
		return 0
	}
	fields := jsonfield.Of(t)
	if f, known := fields[step.name]; known {
		return f.Rank
	}
	return len(fields)
}

// below is the type that the step leads to, or nil.
func below(t reflect.Type, step pathStep) reflect.Type {
	switch {
	case t == nil:
		return nil
	case t.Kind() == reflect.Struct:
		if f, known := jsonfield.Of(t)[step.name]; known {
			return f.GoType
		}
	case t.Kind() == reflect.Slice || t.Kind() == reflect.Map:
		return t.Elem()
	}
	return nil
}

func settledType(t reflect.Type) reflect.Type {
	for t != nil && t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return t
}

// typeOf finds out of which kind an object with these problems is. Where the problems do not tell, the order is the same
// for all kinds.
func typeOf(violations []Violation) reflect.Type {
	byField := []struct {
		prefix string
		object reflect.Type
	}{
		{"spec.rayClusterConfig", reflect.TypeFor[rayv1.RayService]()},
		{"spec.jobTemplate", reflect.TypeFor[rayv1.RayCronJob]()},
		{"spec.rayClusterSpec", reflect.TypeFor[rayv1.RayJob]()},
	}
	for _, v := range violations {
		for _, f := range byField {
			if strings.HasPrefix(v.Field, f.prefix) {
				return f.object
			}
		}
	}
	byRule := map[string]reflect.Type{
		"CJ": reflect.TypeFor[rayv1.RayCronJob](), "RJ": reflect.TypeFor[rayv1.RayJob](), "RS": reflect.TypeFor[rayv1.RayService](),
	}
	i := slices.IndexFunc(violations, func(v Violation) bool { return len(v.Rule) > 2 && byRule[v.Rule[:2]] != nil })
	if i >= 0 {
		return byRule[violations[i].Rule[:2]]
	}
	return reflect.TypeFor[rayv1.RayCluster]()
}
