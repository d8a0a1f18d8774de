package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"strings"

	"github.com/raygate/raygate/hack/celrules"
)

// addRules puts the rules and bounds of hack/celrules into the schema of a kind.
func addRules(root object, plural string) error {
	// Declared so that rules can refer to the name. The API server itself validates metadata.
	metadata, ok := child(root, "metadata")
	if !ok {
		return fmt.Errorf("the schema has no metadata")
	}
	metadata["properties"] = object{"name": object{"type": "string"}}

	for _, b := range celrules.BoundsOf(plural) {
		node, err := find(root, b.Node)
		if err != nil {
			return fmt.Errorf("placing a bound: %w", err)
		}
		maps.Copy(node, b.Item.Keywords())
	}
	for _, v := range celrules.ValidationsOf(plural) {
		node, err := find(root, v.Node)
		if err != nil {
			return fmt.Errorf("placing a rule: %w", err)
		}
		list, _ := node["x-kubernetes-validations"].([]any)
		rule, err := toObject(v.Item)
		if err != nil {
			return fmt.Errorf("encoding a rule: %w", err)
		}
		node["x-kubernetes-validations"] = append(list, rule)
	}
	return nil
}

// find returns the schema at a path as in spec.workerGroupSpecs[].labels{}.
func find(root object, path string) (object, error) {
	node := root
	for step := range strings.SplitSeq(path, ".") {
		if path == "" {
			break
		}
		name, items := strings.CutSuffix(step, "[]")
		name, values := strings.CutSuffix(name, "{}")
		next, ok := child(node, name)
		if ok && items {
			next, ok = next["items"].(object)
		}
		if ok && values {
			next, ok = next["additionalProperties"].(object)
		}
		if !ok {
			return nil, fmt.Errorf("the schema has no %q of %q", step, path)
		}
		node = next
	}
	return node, nil
}

func child(node object, name string) (object, bool) {
	properties, _ := node["properties"].(object)
	found, ok := properties[name].(object)
	return found, ok
}

func toObject(v any) (object, error) {
	raw, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	out := object{}
	return out, json.Unmarshal(raw, &out)
}
