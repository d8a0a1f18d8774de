package service

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/operator/internal/build/names"
)

// JobHead builds the Service for the head of a RayJob's current cluster; its name does not change between attempts. Otherwise it
// equals the cluster's head Service, including annotations, which decide who can reach a load balancer. It omits addresses and
// ports that only one Service can have.
func JobHead(job *rayv1.RayJob, rc *rayv1.RayCluster, o Options) *corev1.Service {
	svc := Head(rc, o)
	svc.ObjectMeta = metav1.ObjectMeta{
		Name:      names.CurrentHeadService(job.Name),
		Namespace: job.Namespace,
		Labels: map[string]string{
			rayv1.LabelOriginatedFromCRName: job.Name,
			rayv1.LabelOriginatedFromCRD:    "RayJob",
			rayv1.LabelCluster:              rc.Name, // not set by KubeRay; the operator's cache selects by it
			rayv1.LabelNodeType:             string(rayv1.HeadNode),
			rayv1.LabelIdentifier:           names.Identifier(job.Name, rayv1.HeadNode),
		},
		Annotations:     svc.Annotations,
		OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(job, rayv1.GroupVersion.WithKind("RayJob"))},
	}
	unshared(&svc.Spec)
	return svc
}
