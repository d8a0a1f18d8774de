package podplan

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/operator/internal/build/resources"
)

// Totals are the amounts that the whole cluster asks for, as the status reports them. GPU is the sum over all kinds.
type Totals struct{ CPU, Memory, GPU, TPU resource.Quantity }

// TotalsOf sums what the containers of the user's templates ask for, over the head and the desired workers: per resource
// the request, else the limit. Init containers and what the operator injects do not count. KubeRay 1.7 multiplies by
// replicas as written; here the replicas are kept between the bounds, so that the totals agree with the worker counts.
func TotalsOf(rc *rayv1.RayCluster) Totals {
	sum := resources.OfContainers(rc.Spec.HeadGroupSpec.Template.Spec.Containers)
	for i := range rc.Spec.WorkerGroupSpecs {
		g := &rc.Spec.WorkerGroupSpecs[i]
		if n := DesiredPods(g); n > 0 {
			resources.Add(sum, resources.OfContainers(g.Template.Spec.Containers), n)
		}
	}
	return Totals{
		CPU:    sum[corev1.ResourceCPU],
		Memory: sum[corev1.ResourceMemory],
		GPU:    resources.GPUs(sum),
		TPU:    sum[resources.TPU],
	}
}
