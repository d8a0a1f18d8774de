package service

import (
	"cmp"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/operator/internal/build/child"
	"github.com/raygate/raygate/operator/internal/build/names"
)

const rayService = "RayService"

// ServiceHead builds the Service that leads to the head of the cluster that a RayService uses, under a name that does not change with
// the cluster. Of the annotations it has those of the user's template only, as with KubeRay.
func ServiceHead(rs *rayv1.RayService, rc *rayv1.RayCluster, o Options) *corev1.Service {
	svc := Head(rc, o)
	meta := serviceMeta(rs, rc, names.ServiceHeadService(rs.Name))
	meta.Labels[rayv1.LabelNodeType] = string(rayv1.HeadNode)
	meta.Labels[rayv1.LabelIdentifier] = names.Identifier(rs.Name, rayv1.HeadNode)
	if user := rc.Spec.HeadGroupSpec.HeadService; user != nil {
		meta.Annotations = maps.Clone(user.Annotations)
	}
	svc.ObjectMeta = meta
	unshared(&svc.Spec)
	return svc
}

// unshared drops what only one Service can have, and the cluster's own has.
func unshared(s *corev1.ServiceSpec) {
	if s.ClusterIP != corev1.ClusterIPNone {
		s.ClusterIP, s.ClusterIPs = "", nil
	}
	s.HealthCheckNodePort, s.LoadBalancerIP = 0, ""
	for i := range s.Ports {
		s.Ports[i].NodePort = 0
	}
}

// ServiceServe builds the Service that users of a RayService call. Of the user's template its selector and namespace do not count, and
// of its ports those whose names the head has; without a serve port of the head all of them do. A Service without ports is for the
// caller to report.
func ServiceServe(rs *rayv1.RayService, rc *rayv1.RayCluster) *corev1.Service {
	svc := &corev1.Service{ObjectMeta: serviceMeta(rs, rc, names.ServiceServeService(rs))}
	svc.Labels[rayv1.LabelServe] = names.LabelValue(rs.Name + "-serve")
	if t := rs.Spec.ServeService; t != nil {
		svc.Labels = overlaid(maps.Clone(t.Labels), svc.Labels)
		svc.Annotations = maps.Clone(t.Annotations)
		svc.Spec = *t.Spec.DeepCopy()
	}
	if svc.Spec.Type == "" {
		svc.Spec.Type = rc.Spec.HeadGroupSpec.ServiceType
	}
	svc.Spec.Selector = servingPods(rc)
	svc.Spec.Ports = overTemplate(servePorts(rc), svc.Spec.Ports)
	return svc
}

// overTemplate takes from the template what it says about ports of the same names.
func overTemplate(found, template []corev1.ServicePort) []corev1.ServicePort {
	if len(found) == 0 {
		return template
	}
	for i := range found {
		same := func(p corev1.ServicePort) bool { return p.Name == found[i].Name }
		if j := slices.IndexFunc(template, same); j >= 0 {
			found[i] = template[j]
		}
	}
	return found
}

// ClusterServe builds the Service that leads to one of the two clusters of an upgrade in steps. It belongs to the cluster.
func ClusterServe(rc *rayv1.RayCluster) *corev1.Service {
	return &corev1.Service{
		ObjectMeta: child.Meta(rc, names.ServeService(rc.Name), map[string]string{
			rayv1.LabelCluster:              rc.Name, // KubeRay has it not; the operator's cache goes by it
			rayv1.LabelOriginatedFromCRName: rc.Name,
			rayv1.LabelOriginatedFromCRD:    rayService,
			rayv1.LabelServe:                names.LabelValue(rc.Name + "-serve"),
		}),
		Spec: corev1.ServiceSpec{Type: rc.Spec.HeadGroupSpec.ServiceType, Selector: servingPods(rc), Ports: servePorts(rc)},
	}
}

// servingPods selects the Pods that may serve requests.
func servingPods(rc *rayv1.RayCluster) map[string]string {
	return map[string]string{rayv1.LabelCluster: rc.Name, rayv1.LabelServe: rayv1.LabelServeTrue}
}

// servePorts are the serve ports of the head, sorted by name.
func servePorts(rc *rayv1.RayCluster) []corev1.ServicePort {
	var ports []corev1.ServicePort
	for _, p := range headServicePorts(rc) {
		if isServe(p.Name) {
			ports = append(ports, corev1.ServicePort{Name: p.Name, Port: p.Port})
		}
	}
	return ports
}

// ServePort is the port at which a cluster serves requests: that of the head's container which is named serve, else 8000.
func ServePort(rc *rayv1.RayCluster) int32 {
	return cmp.Or(headPorts(rc)[rayv1.PortServe], rayv1.DefaultServePort)
}

func serviceMeta(rs *rayv1.RayService, rc *rayv1.RayCluster, name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{
		Name:      name,
		Namespace: rs.Namespace,
		Labels: map[string]string{
			rayv1.LabelCluster:              rc.Name, // KubeRay has it not; the operator's cache goes by it
			rayv1.LabelOriginatedFromCRName: rs.Name,
			rayv1.LabelOriginatedFromCRD:    rayService,
		},
		OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(rs, rayv1.GroupVersion.WithKind(rayService))},
	}
}

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
