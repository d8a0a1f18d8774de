package service

import (
	corev1 "k8s.io/api/core/v1"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
)

// NeedsServe reports whether the user asked, by annotation, for a Service for Ray Serve on a plain cluster.
func NeedsServe(rc *rayv1.RayCluster) bool {
	return rc.Annotations[rayv1.AnnotationEnableServeService] == "true"
}

// Serve builds the Service for Ray Serve of a plain cluster. It selects all Pods of the cluster. A head without any
// serve port gives a Service without ports, which the caller must report instead of creating it.
func Serve(rc *rayv1.RayCluster) *corev1.Service {
	svc := ClusterServe(rc)
	svc.Labels[rayv1.LabelOriginatedFromCRD] = "RayCluster"
	delete(svc.Spec.Selector, rayv1.LabelServe)
	return svc
}
