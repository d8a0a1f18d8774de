package service

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/operator/internal/build/child"
	"github.com/raygate/raygate/operator/internal/build/names"
)

// NeedsHeadless reports whether a group has multi-host replicas, whose hosts find each other through the headless Service.
func NeedsHeadless(rc *rayv1.RayCluster) bool {
	return slices.ContainsFunc(rc.Spec.WorkerGroupSpecs, func(g rayv1.WorkerGroupSpec) bool { return g.NumOfHosts > 1 })
}

// Headless builds the Service that gives multi-host workers DNS names.
func Headless(rc *rayv1.RayCluster) *corev1.Service {
	return &corev1.Service{
		ObjectMeta: child.Meta(rc, names.HeadlessService(rc.Name), map[string]string{
			rayv1.LabelCluster:               rc.Name, // not set by KubeRay; the operator's cache selects by it
			rayv1.LabelHeadlessWorkerService: rc.Name,
		}),
		Spec: corev1.ServiceSpec{
			Type:      corev1.ServiceTypeClusterIP,
			ClusterIP: corev1.ClusterIPNone,
			// Workers resolve each other's names while they start.
			PublishNotReadyAddresses: true,
			Selector: map[string]string{
				rayv1.LabelCluster:  rc.Name,
				rayv1.LabelNodeType: string(rayv1.WorkerNode),
			},
		},
	}
}
