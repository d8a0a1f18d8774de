package submit

import (
	"fmt"

	"k8s.io/apimachinery/pkg/runtime"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/pkg/manifest"
)

// Document returns a RayJob as users write it: without a status and without empty fields.
func Document(job *rayv1.RayJob) (map[string]any, error) {
	tree, err := runtime.DefaultUnstructuredConverter.ToUnstructured(job)
	if err != nil {
		return nil, fmt.Errorf("encoding RayJob: %w", err)
	}
	delete(tree, "status")
	manifest.DropNulls(tree)
	dropEmpty(tree)
	return tree, nil
}

// dropEmpty removes empty objects but rayStartParams, which KubeRay's schema requires.
func dropEmpty(value any) {
	switch v := value.(type) {
	case map[string]any:
		for key, member := range v {
			dropEmpty(member)
			if m, ok := member.(map[string]any); ok && len(m) == 0 && key != "rayStartParams" {
				delete(v, key)
			}
		}
	case []any:
		for _, item := range v {
			dropEmpty(item)
		}
	}
}
