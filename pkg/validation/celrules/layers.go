package celrules

import "slices"

// Layer is a place in the API server that can refuse an object for a rule.
type Layer string

// Layers, in the order in which an object meets them.
const (
	// Schema is a keyword of the CRD's schema.
	Schema Layer = "schema"
	// CEL is a CEL rule of the CRD's schema.
	CEL Layer = "CEL"
)

// native are the rules that the types in api declare themselves, by markers. They are as in KubeRay 1.7, and
// have its words.
var native = map[string]Layer{
	"RC-003": Schema, "RC-006": Schema, "RC-007": Schema, "RC-008": Schema, "RC-009": Schema, "RC-010": Schema, "RC-012": Schema, "RC-013": Schema,
	"RC-014": Schema, "RC-015": Schema, "RC-017": Schema, "RC-018": Schema, "RC-501": Schema,
	"RJ-001": Schema, "RJ-002": Schema, "RJ-003": Schema, "RJ-004": Schema, "RJ-005": Schema, "RJ-006": Schema, "RJ-007": Schema,
	"RS-002": Schema, "RS-003": Schema, "CJ-002": Schema, "CJ-003": Schema,
	"RC-021": CEL, "RC-022": CEL, "RC-023": CEL, "RJ-009": CEL, "RJ-010": CEL, "RJ-011": CEL, "RJ-012": CEL, "RJ-013": CEL, "RJ-014": CEL,
	"RS-004": CEL, "RS-005": CEL,
}

// Native reports whether the types in api declare the rule themselves.
func Native(id string) bool {
	_, ok := native[id]
	return ok
}

// LayersOf returns where the API server enforces the rule. Empty if nowhere.
func LayersOf(id string) []Layer {
	var layers []Layer
	add := func(l Layer) {
		if !slices.Contains(layers, l) {
			layers = append(layers, l)
		}
	}
	if slices.ContainsFunc(Bounds(), func(b Bound) bool { return b.ID == id }) || native[id] == Schema {
		add(Schema)
	}
	if slices.ContainsFunc(Rules(), func(r Rule) bool { return r.ID == id }) || native[id] == CEL {
		add(CEL)
	}
	return layers
}

// ofKubernetes are the rules of this package that are of that tier.
var ofKubernetes = []string{
	"RC-016", "RC-502", "RC-503", "RC-524", "RC-525", "RC-530", "RC-539", "RC-540", "RC-541", "RC-542", "RC-543", "RC-544", "RC-545", "RC-557", "RC-558", "RC-560",
	"RC-565", "RC-573", "RJ-509", "RJ-510", "RJ-511", "RJ-533", "RS-514", "RS-515",
}

// OfKubernetes reports whether the API server refuses the child that follows from a part that breaks the rule. Where no child follows, nobody
// does.
func OfKubernetes(id string) bool { return slices.Contains(ofKubernetes, id) }
