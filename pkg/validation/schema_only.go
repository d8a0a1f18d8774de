package validation

import (
	"github.com/raygate/raygate/pkg/validation/rule"
)

// Rules that the schema of the CRDs alone can enforce: Go cannot hold an object that breaks them.

var _ = rule.New(rule.Rule{ID: "RC-001", Field: "headGroupSpec", Condition: "absent", Peer: rule.BySchema, Layers: rule.SchemaOnly})
var _ = rule.New(rule.Rule{ID: "RC-002", Field: "headGroupSpec.template, workerGroupSpecs[i].template", Condition: "absent", Peer: rule.BySchema, Layers: rule.SchemaOnly})
var _ = rule.New(rule.Rule{ID: "RC-005", Field: "every scalar", Condition: "wrong JSON type, integer outside int32, value of a map that is no text", Peer: rule.BySchema, Layers: rule.SchemaOnly})
var _ = rule.New(rule.Rule{ID: "RC-011", Field: "every quantity", Condition: "not a quantity, as in 1Gi", Peer: rule.BySchema, Layers: rule.SchemaOnly})
var _ = rule.New(rule.Rule{ID: "RC-019", Kind: rule.KindAny, Field: "metadata.name", Condition: "not a DNS subdomain, or longer than 253", Peer: rule.BySchema, Layers: rule.SchemaOnly})
var _ = rule.New(rule.Rule{ID: "RC-020", Kind: rule.KindAny, Field: "any", Condition: "unknown or repeated field, where the client asks for strict field validation", Peer: rule.BySchema, Layers: rule.SchemaOnly})
var _ = rule.New(rule.Rule{ID: "RJ-008", Field: "every scalar", Condition: "wrong JSON type, integer outside int32", Peer: rule.BySchema, Layers: rule.SchemaOnly})
var _ = rule.New(rule.Rule{ID: "RS-001", Field: "spec.rayClusterConfig", Condition: "absent", Peer: rule.BySchema, Layers: rule.SchemaOnly})
