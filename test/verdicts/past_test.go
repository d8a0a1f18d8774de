package verdicts

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/raygate/raygate/pkg/validation/examples"
)

// past is what was stored in the namespace of the CRDs alone, and in that of the old version, before there were rules.
var past struct {
	guarded, grouped, old *unstructured.Unstructured
	// conflict is the answer to a second apply of all groups, after the autoscaler scaled one of a plain list.
	conflict error
}

func storePast(ctx context.Context) error {
	for _, o := range []struct {
		to     **unstructured.Unstructured
		object *unstructured.Unstructured
	}{
		{&past.guarded, withRocksDB("old-guard", map[string]any{"redisAddress": "redis:6379"})},
		{&past.grouped, withGroups("old-groups", -1, 1, 1)},
	} {
		created, err := resourceOf("rayclusters").Create(ctx, o.object, metav1.CreateOptions{})
		if err != nil {
			return err
		}
		*o.to = created
	}
	for _, name := range []string{"moved", "dropping"} {
		if err := byGitOps(name, groupOf("a", "v1", ""), groupOf("b", "v1", ""))(ctx); err != nil {
			return fmt.Errorf("applying a cluster: %w", err)
		}
	}
	if err := scale(ctx, "moved", "a", 3); err != nil {
		return err
	}
	past.conflict = byGitOps("moved", groupOf("a", "v1", ""), groupOf("b", "v1", ""))(ctx)
	return storeOldVersion(ctx)
}

// storeOldVersion creates a cluster through v1alpha1, whose schema has no rules.
func storeOldVersion(ctx context.Context) error {
	rc := examples.Base()
	rc.Name = "old-version"
	rc.Spec.WorkerGroupSpecs[0].MinReplicas = new(int32(9))                     // RC-042
	rc.Spec.WorkerGroupSpecs[0].Template.Labels = map[string]string{"a b": "c"} // RC-530
	rc.Spec.HeadGroupSpec.RayStartParams = map[string]string{"labels": "a"}     // RC-035
	u := asUnstructured(rc)
	u.SetAPIVersion("ray.io/v1alpha1")
	u.SetNamespace(nsOldVersion)
	delete(u.Object, "status")
	past.old = u.DeepCopy()
	_, err := lab.dynamic.Resource(oldRayClusters).Namespace(nsOldVersion).Create(ctx, u, metav1.CreateOptions{})
	return err
}

var oldRayClusters = rayclusters.GroupResource().WithVersion("v1alpha1")
