package service

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/operator/internal/build/names"
)

// JobHead builds the Service that leads to the head of the cluster that a RayJob has now, under a name that does not change
// with the attempt. It is the cluster's own head Service in all else, annotations included: they decide who can reach a load
// balancer. Addresses and ports that only one Service can have are left to the cluster's own.
func JobHead(job *rayv1.RayJob, rc *rayv1.RayCluster, o Options) *corev1.Service {
	svc := Head(rc, o)
	svc.ObjectMeta = metav1.ObjectMeta{
		Name:      names.JobHeadService(job.Name),
		Namespace: job.Namespace,
		Labels: map[string]string{
			rayv1.LabelOriginatedFromCRName: job.Name,
			rayv1.LabelOriginatedFromCRD:    "RayJob",
			rayv1.LabelCluster:              rc.Name, // KubeRay has it not; the operator's cache goes by it
			rayv1.LabelNodeType:             string(rayv1.HeadNode),
			rayv1.LabelIdentifier:           names.Identifier(job.Name, rayv1.HeadNode),
		},
		Annotations:     svc.Annotations,
		OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(job, rayv1.GroupVersion.WithKind("RayJob"))},
	}
	unshared(&svc.Spec)
	return svc
}
