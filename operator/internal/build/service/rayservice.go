package service

import (
	"cmp"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/operator/internal/build/child"
	"github.com/raygate/raygate/operator/internal/build/names"
)

const rayService = "RayService"

// ServiceHead builds the Service for the head of a RayService's active cluster; its name does not change with the cluster. As in
// KubeRay, it has only the annotations of the user's template.
func ServiceHead(rs *rayv1.RayService, rc *rayv1.RayCluster, o Options) *corev1.Service {
	svc := Head(rc, o)
	meta := serviceMeta(rs, rc, names.CurrentHeadService(rs.Name))
	meta.Labels[rayv1.LabelNodeType] = string(rayv1.HeadNode)
	meta.Labels[rayv1.LabelIdentifier] = names.Identifier(rs.Name, rayv1.HeadNode)
	if user := rc.Spec.HeadGroupSpec.HeadService; user != nil {
		meta.Annotations = maps.Clone(user.Annotations)
	}
	svc.ObjectMeta = meta
	unshared(&svc.Spec)
	return svc
}

// unshared removes fields that only one Service can have; the cluster's own Service has them.
func unshared(s *corev1.ServiceSpec) {
	if s.ClusterIP != corev1.ClusterIPNone {
		s.ClusterIP, s.ClusterIPs = "", nil
	}
	s.HealthCheckNodePort, s.LoadBalancerIP = 0, ""
	for i := range s.Ports {
		s.Ports[i].NodePort = 0
	}
}

// ServiceServe builds the Service that clients of a RayService call. It ignores selector and namespace of the user's template. It
// uses the template's ports whose names the head has, or all of them if the head has no serve port. The caller must report a
// Service without ports.
func ServiceServe(rs *rayv1.RayService, rc *rayv1.RayCluster) *corev1.Service {
	svc := &corev1.Service{ObjectMeta: serviceMeta(rs, rc, names.ServiceServeService(rs))}
	svc.Labels[rayv1.LabelServe] = names.LabelValue(rs.Name + "-serve")
	if t := rs.Spec.ServeService; t != nil {
		svc.Labels = labels.Merge(t.Labels, svc.Labels)
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

// overTemplate replaces found ports by those of the template with the same names.
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

// ClusterServe builds the serve Service of one of the two clusters of an incremental upgrade. The cluster owns it.
func ClusterServe(rc *rayv1.RayCluster) *corev1.Service {
	return &corev1.Service{
		ObjectMeta: child.Meta(rc, names.ServeService(rc.Name), map[string]string{
			rayv1.LabelCluster:              rc.Name, // not set by KubeRay; the operator's cache selects by it
			rayv1.LabelOriginatedFromCRName: rc.Name,
			rayv1.LabelOriginatedFromCRD:    rayService,
			rayv1.LabelServe:                names.LabelValue(rc.Name + "-serve"),
		}),
		Spec: corev1.ServiceSpec{Type: rc.Spec.HeadGroupSpec.ServiceType, Selector: servingPods(rc), Ports: servePorts(rc)},
	}
}

// servingPods returns the selector of the Pods that may serve requests.
func servingPods(rc *rayv1.RayCluster) map[string]string {
	return map[string]string{rayv1.LabelCluster: rc.Name, rayv1.LabelServe: rayv1.LabelServeTrue}
}

// servePorts returns the serve ports of the head, sorted by name.
func servePorts(rc *rayv1.RayCluster) []corev1.ServicePort {
	var ports []corev1.ServicePort
	for _, p := range headServicePorts(rc) {
		if isServe(p.Name) {
			ports = append(ports, corev1.ServicePort{Name: p.Name, Port: p.Port})
		}
	}
	return ports
}

// GRPCPort returns the port on which clusters with a spec serve gRPC requests: the port "serve-grpc" of the head's container; 0 for none.
func GRPCPort(spec *rayv1.RayClusterSpec) int32 {
	return headPorts(&rayv1.RayCluster{Spec: *spec})[rayv1.PortServeGRPC]
}

// SpeakGRPC declares the protocol of the gRPC port of a Service for implementations of the Gateway API.
func SpeakGRPC(svc *corev1.Service) {
	for i := range svc.Spec.Ports {
		if svc.Spec.Ports[i].Name == rayv1.PortServeGRPC {
			svc.Spec.Ports[i].AppProtocol = new("kubernetes.io/h2c")
		}
	}
}

// ServePort returns the port on which a cluster serves requests: the port "serve" of the head's container, else 8000.
func ServePort(rc *rayv1.RayCluster) int32 {
	return cmp.Or(headPorts(rc)[rayv1.PortServe], rayv1.DefaultServePort)
}

func serviceMeta(rs *rayv1.RayService, rc *rayv1.RayCluster, name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{
		Name:      name,
		Namespace: rs.Namespace,
		Labels: map[string]string{
			rayv1.LabelCluster:              rc.Name, // not set by KubeRay; the operator's cache selects by it
			rayv1.LabelOriginatedFromCRName: rs.Name,
			rayv1.LabelOriginatedFromCRD:    rayService,
		},
		OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(rs, rayv1.GroupVersion.WithKind(rayService))},
	}
}

// NeedsServe reports whether an annotation requests a Service for Ray Serve on a plain cluster.
func NeedsServe(rc *rayv1.RayCluster) bool {
	return rc.Annotations[rayv1.AnnotationEnableServeService] == "true"
}

// Serve builds the Service for Ray Serve on a plain cluster. It selects all Pods of the cluster. If the head has no serve port,
// the Service has no ports; the caller must then report that instead of creating it.
func Serve(rc *rayv1.RayCluster) *corev1.Service {
	svc := ClusterServe(rc)
	svc.Labels[rayv1.LabelOriginatedFromCRD] = "RayCluster"
	delete(svc.Spec.Selector, rayv1.LabelServe)
	return svc
}
