package service

import (
	corev1 "k8s.io/api/core/v1"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/operator/internal/build/child"
	"github.com/raygate/raygate/operator/internal/build/names"
)

// NeedsServe reports whether the user asked, by annotation, for a Service for Ray Serve on a plain cluster.
func NeedsServe(rc *rayv1.RayCluster) bool {
	return rc.Annotations[rayv1.AnnotationEnableServeService] == "true"
}

// Serve builds the Service for Ray Serve of a plain cluster. It selects all Pods of the cluster. A head without any
// serve port gives a Service without ports, which the caller must report instead of creating it.
func Serve(rc *rayv1.RayCluster) *corev1.Service {
	svc := &corev1.Service{
		ObjectMeta: child.Meta(rc, names.ServeService(rc.Name), map[string]string{
			rayv1.LabelCluster:              rc.Name, // KubeRay has it not; the operator's cache goes by it
			rayv1.LabelOriginatedFromCRName: rc.Name,
			rayv1.LabelOriginatedFromCRD:    "RayCluster",
			rayv1.LabelServe:                names.LabelValue(rc.Name + "-serve"),
		}),
		Spec: corev1.ServiceSpec{
			Type:     rc.Spec.HeadGroupSpec.ServiceType,
			Selector: map[string]string{rayv1.LabelCluster: rc.Name},
		},
	}
	for _, p := range headServicePorts(rc) {
		if isServe(p.Name) {
			p.AppProtocol = nil
			svc.Spec.Ports = append(svc.Spec.Ports, p)
		}
	}
	return svc
}
