package examples

import (
	"encoding/json"

	"github.com/raygate/raygate/pkg/validation"
)

// Unreadable is an object that breaks a rule of the schema which no object in Go can break: a field is absent or has
// another type. Entry points that read JSON see it before the rules do.
type Unreadable struct {
	// ID is the rule.
	ID string
	// Name describes the example.
	Name string
	// Kind is the kind of the object.
	Kind string
	// WantField is the path at which the API server reports the problem.
	WantField string
	// JSON is the object.
	JSON []byte
}

// AllUnreadable returns the examples of the rules that only the API server and strict decoding enforce.
func AllUnreadable() []Unreadable {
	// object is the map at the path below the base of the kind; numbers are indices of lists.
	type edit struct {
		id, name, kind, want string
		path                 []any
		change               func(map[string]any)
	}
	drop := func(key string) func(map[string]any) { return func(m map[string]any) { delete(m, key) } }
	set := func(key string, value any) func(map[string]any) {
		return func(m map[string]any) { m[key] = value }
	}
	head, group := []any{"spec", "headGroupSpec"}, []any{"spec", "workerGroupSpecs", 0}
	edits := []edit{
		{"RC-001", "no head", "RayCluster", "spec.headGroupSpec", []any{"spec"}, drop("headGroupSpec")},
		{"RC-002", "no template of the head", "RayCluster", "spec.headGroupSpec.template", head, drop("template")},
		{"RC-002", "no template of a group", "RayCluster", "spec.workerGroupSpecs[0].template", group, drop("template")},
		{"RC-003", "no name of a group", "RayCluster", "spec.workerGroupSpecs[0].groupName", group, drop("groupName")},
		{"RC-005", "number for text", "RayCluster", "spec.headGroupSpec.rayStartParams.port", append(head, "rayStartParams"), set("port", 6379)},
		{"RC-005", "beyond int32", "RayCluster", "spec.workerGroupSpecs[0].replicas", group, set("replicas", int64(3000000000))},
		{"RC-011", "many", "RayCluster", "spec.gcsFaultToleranceOptions.storage.size", []any{"spec"},
			set("gcsFaultToleranceOptions", map[string]any{"backend": "rocksdb", "storage": map[string]any{"size": "many"}})},
		{"RC-019", "underscore", "RayCluster", "metadata.name", []any{"metadata"}, set("name", "in_valid")},
		{"RC-020", "misspelt", "RayCluster", "spec.headGroupSpecs", []any{"spec"}, set("headGroupSpecs", map[string]any{})},
		{"RJ-008", "text for a number", "RayJob", "spec.backoffLimit", []any{"spec"}, set("backoffLimit", "1")},
		{"RS-001", "no cluster", "RayService", "spec.rayClusterConfig", []any{"spec"}, drop("rayClusterConfig")},
	}
	bases := map[string]func() validation.Object{
		"RayCluster": func() validation.Object { return Base() },
		"RayJob":     func() validation.Object { return BaseJob() },
		"RayService": func() validation.Object { return BaseService() },
	}
	var all []Unreadable
	for _, e := range edits {
		root := asMap(bases[e.kind]())
		e.change(find(root, e.path))
		data, err := json.Marshal(root)
		if err != nil {
			panic(err) // the table is wrong
		}
		all = append(all, Unreadable{ID: e.id, Name: e.name, Kind: e.kind, WantField: e.want, JSON: data})
	}
	return all
}

func asMap(object validation.Object) map[string]any {
	data, err := json.Marshal(object)
	if err != nil {
		panic(err) // the base is wrong
	}
	var m map[string]any
	if err := json.Unmarshal(data, &m); err != nil {
		panic(err)
	}
	return m
}

func find(at any, path []any) map[string]any {
	for _, step := range path {
		switch step := step.(type) {
		case string:
			at = at.(map[string]any)[step]
		case int:
			at = at.([]any)[step]
		}
	}
	return at.(map[string]any)
}
