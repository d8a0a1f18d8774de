package celrules

import "github.com/raygate/raygate/pkg/validation/rule"

// Native reports whether the types in api declare the rule themselves. It is as in KubeRay 1.7 then, and has its words.
func Native(id string) bool { return rule.ByID(id).Marker != "" }

// InPolicy reports whether a policy has the rule.
func InPolicy(id string) bool { return len(rule.ByID(id).Policies) > 0 }

// LayersOf returns where the API server enforces the rule by the CRD. Empty if nowhere.
func LayersOf(id string) []rule.APILayer {
	var layers []rule.APILayer
	r := rule.ByID(id)
	if r.Keyword != nil || r.Marker == rule.InSchema {
		layers = append(layers, rule.InSchema)
	}
	if len(r.CEL) > 0 || r.Marker == rule.InCEL {
		layers = append(layers, rule.InCEL)
	}
	return layers
}
