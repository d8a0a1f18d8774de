package validation

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/raygate/raygate/pkg/validation/rule"
)

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
