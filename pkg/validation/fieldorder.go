package validation

import (
	"cmp"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"

	rayv1 "github.com/raygate/raygate/operator/api/ray/v1"
)

// pathStep is one step of a field path: a field name, the index of a list or the key of a map.
type pathStep struct {
	name  string
	index int
	// kind orders steps of different kinds; a path never mixes them at one place.
	kind stepKind
}

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
				steps = append(steps, pathStep{index: i, kind: stepIndex})
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

func comparePaths(a, b []pathStep) int {
	return slices.CompareFunc(a, b, func(a, b pathStep) int {
		if c := cmp.Compare(a.kind, b.kind); c != 0 {
			return c
		}
		if c := cmp.Compare(a.index, b.index); c != 0 {
			return c
		}
		if a.name == b.name {
			return 0
		}
		if a.kind == stepField {
			if c := cmp.Compare(rankOf(a.name), rankOf(b.name)); c != 0 {
				return c
			}
		}
		return cmp.Compare(a.name, b.name)
	})
}

func rankOf(name string) int {
	if rank, known := fieldRanks()[name]; known {
		return rank
	}
	return len(fieldRanks())
}

// fieldRanks numbers the JSON field names by where they first stand in the API types. One number per name is enough:
// the names that matter to people (metadata before spec, head before workers) keep one order everywhere.
var fieldRanks = sync.OnceValue(func() map[string]int {
	ranks := map[string]int{}
	seen := map[reflect.Type]bool{}
	var visit func(t reflect.Type)
	visit = func(t reflect.Type) {
		for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice || t.Kind() == reflect.Map {
			t = t.Elem()
		}
		if t.Kind() != reflect.Struct || seen[t] {
			return
		}
		seen[t] = true
		// All names of a struct come before the names inside its fields, or a name deep in metadata would decide.
		for f := range t.Fields() {
			name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			if _, known := ranks[name]; name != "" && name != "-" && !known {
				ranks[name] = len(ranks)
			}
		}
		for f := range t.Fields() {
			visit(f.Type)
		}
	}
	visit(reflect.TypeFor[rayv1.RayCluster]())
	return ranks
})
