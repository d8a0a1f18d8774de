package validation

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/raygate/raygate/pkg/validation/internal/metadata"
	"github.com/raygate/raygate/pkg/validation/rule"
)

// Types and functions of package rule that callers need.
type (
	// Object is a pointer to an object of one of the kinds that this package supports.
	Object = metadata.Object
	// Rule is the declaration of a rule.
	Rule = rule.Rule
	// Options are the inputs of the rules besides the object.
	Options = rule.Options
	// Facts are what a controller has read in the namespace of the object.
	Facts = rule.Facts
	// Gate is the name of a feature gate of the operator that decides about a field.
	Gate = rule.Gate
)

// Gates that rules depend on.
const (
	GateDeletionPolicy          = rule.GateDeletionPolicy
	GateMultiHostIndexing       = rule.GateMultiHostIndexing
	GateNetworkPolicy           = rule.GateNetworkPolicy
	GateMTLS                    = rule.GateMTLS
	GateHistoryServer           = rule.GateHistoryServer
	GateEmbeddedGCSStorage      = rule.GateEmbeddedGCSStorage
	GateIncrementalUpgrade      = rule.GateIncrementalUpgrade
	GateCronJob                 = rule.GateCronJob
	GateSidecarSubmitterRestart = rule.GateSidecarSubmitterRestart
)

// ParseGates reads settings such as "RayClusterMTLS=true" into Options.Gates.
var ParseGates = rule.ParseGates

// Rules returns every rule that this package reports, in the order of their ids.
func Rules() []*Rule { return rule.All() }

// Ids of rules that callers treat separately, such as those that need facts about other objects. The others are next to their checks.
const (
	// RuleAutoscalerRestartPolicy warns of restart policies that version 1 of the autoscaler cannot live with.
	RuleAutoscalerRestartPolicy = "RC-118"
	// RuleUnevenReplicas is about groups whose number of Pods is not a whole number of replicas.
	RuleUnevenReplicas = "RC-121"
	// RuleNetworkPolicyNames is about NetworkPolicies with another owner.
	RuleNetworkPolicyNames = "RC-122"
	// RuleAutoscalerServiceAccount is about the ServiceAccount of a head with autoscaling.
	RuleAutoscalerServiceAccount = "RC-123"
	// RuleAuthSecret is about a user-provided Secret with the token.
	RuleAuthSecret = "RC-124"
	// RuleClaim warns of a volume claim that differs from the existing one.
	RuleClaim = "RC-125"
	// RuleWorkersToDelete warns of workers to delete that are none.
	RuleWorkersToDelete = "RC-511"
)

// Rules that only the schema of the CRDs can enforce: Go cannot represent an object that breaks them.

var _ = rule.New(rule.Rule{ID: "RC-001", Field: "headGroupSpec", Condition: "absent", Peer: rule.BySchema, Layers: rule.SchemaOnly})
var _ = rule.New(rule.Rule{ID: "RC-002", Field: "headGroupSpec.template, workerGroupSpecs[i].template", Condition: "absent", Peer: rule.BySchema, Layers: rule.SchemaOnly})
var _ = rule.New(rule.Rule{ID: "RC-005", Field: "every scalar", Condition: "wrong JSON type, integer outside int32, value of a map that is no text", Peer: rule.BySchema, Layers: rule.SchemaOnly})
var _ = rule.New(rule.Rule{ID: "RC-011", Field: "every quantity", Condition: "not a quantity, as in 1Gi", Peer: rule.BySchema, Layers: rule.SchemaOnly})
var _ = rule.New(rule.Rule{ID: "RC-019", Kind: rule.KindAny, Field: "metadata.name", Condition: "not a DNS subdomain, or longer than 253", Peer: rule.BySchema, Layers: rule.SchemaOnly})
var _ = rule.New(rule.Rule{ID: "RC-020", Kind: rule.KindAny, Field: "any", Condition: "unknown or repeated field, where the client asks for strict field validation", Peer: rule.BySchema, Layers: rule.SchemaOnly})
var _ = rule.New(rule.Rule{ID: "RJ-008", Field: "every scalar", Condition: "wrong JSON type, integer outside int32", Peer: rule.BySchema, Layers: rule.SchemaOnly})
var _ = rule.New(rule.Rule{ID: "RS-001", Field: "spec.rayClusterConfig", Condition: "absent", Peer: rule.BySchema, Layers: rule.SchemaOnly})

// clusterSpecs are the places of cluster specs in objects of the four kinds.
var clusterSpecs = [][]string{{"spec"}, {"spec", "rayClusterSpec"}, {"spec", "rayClusterConfig"}, {"spec", "jobTemplate", "rayClusterSpec"}}

var rc003 = rule.New(rule.Rule{ID: "RC-003", Field: "workerGroupSpecs[i].groupName", Condition: "absent; an empty one passes", Peer: rule.BySchema, Remedy: "give the group a name, as in cpu-workers",
	Marker: rule.InSchema})

// GroupsWithoutName returns an error for each worker group in the JSON of an object that lacks groupName (RC-003). The Go types cannot tell
// that from an empty name, which the schema of KubeRay accepts.
func GroupsWithoutName(tree map[string]any) field.ErrorList {
	out := &rule.Report{}
	for _, at := range clusterSpecs {
		spec, _, _ := unstructured.NestedFieldNoCopy(tree, at...)
		members, _ := spec.(map[string]any)
		groups, _ := members["workerGroupSpecs"].([]any)
		for i, g := range groups {
			if g, ok := g.(map[string]any); ok && g["groupName"] == nil {
				path := field.NewPath(at[0], at[1:]...).Child("workerGroupSpecs").Index(i).Child("groupName")
				out.Required(rc003, path)
			}
		}
	}
	return out.Problems
}
