// Package service builds the Services of a RayCluster: for the head, for Ray Serve, and the headless one for multi-host workers.
// Like the Pod builders it is pure and never panics. It builds what KubeRay 1.7 builds; comments mark deliberate differences.
package service

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/operator/internal/build/child"
	"github.com/raygate/raygate/operator/internal/build/names"
)

// Options are the inputs of Services besides the RayCluster. The zero value builds what KubeRay 1.7 builds by default.
type Options struct {
	// HeadClusterIP assigns a cluster IP to head Services of type ClusterIP instead of making them headless.
	HeadClusterIP bool
}

// Head builds the head Service: the one in spec.headGroupSpec.headService with the operator's selector and ports added, else the
// operator's own.
func Head(rc *rayv1.RayCluster, o Options) *corev1.Service {
	if user := rc.Spec.HeadGroupSpec.HeadService; user != nil {
		return mergedHead(rc, user)
	}
	svc := &corev1.Service{
		ObjectMeta: child.Meta(rc, names.HeadService(rc), headLabels(rc)),
		Spec: corev1.ServiceSpec{
			Type:     rc.Spec.HeadGroupSpec.ServiceType,
			Selector: headSelector(rc),
			Ports:    headServicePorts(rc),
		},
	}
	svc.Annotations = maps.Clone(rc.Spec.HeadServiceAnnotations)
	if t := svc.Spec.Type; !o.HeadClusterIP && (t == "" || t == corev1.ServiceTypeClusterIP) {
		// The name then resolves to the head Pod even before it is ready, which workers need while they wait.
		svc.Spec.ClusterIP = corev1.ClusterIPNone
		svc.Spec.PublishNotReadyAddresses = true
	}
	return svc
}

// mergedHead completes the user's Service. It is never made headless.
func mergedHead(rc *rayv1.RayCluster, user *corev1.Service) *corev1.Service {
	svc := &corev1.Service{ObjectMeta: *user.ObjectMeta.DeepCopy(), Spec: *user.Spec.DeepCopy()}
	svc.Name, svc.GenerateName, svc.Namespace = names.HeadService(rc), "", rc.Namespace
	svc.OwnerReferences = []metav1.OwnerReference{child.Controller(rc)}
	svc.Labels = labels.Merge(svc.Labels, headLabels(rc))
	svc.Annotations = labels.Merge(svc.Annotations, rc.Spec.HeadServiceAnnotations)
	svc.Spec.Selector = headSelector(rc)
	svc.Spec.Type = cmp.Or(svc.Spec.Type, rc.Spec.HeadGroupSpec.ServiceType)
	svc.Spec.Ports = withGenerated(svc.Spec.Ports, headServicePorts(rc))
	return svc
}

// withGenerated appends the generated ports whose name and number do not clash with a port of the user. KubeRay appends all, and
// the API server then rejects the Service.
func withGenerated(ports, generated []corev1.ServicePort) []corev1.ServicePort {
	for _, g := range generated {
		clashes := func(p corev1.ServicePort) bool {
			return p.Name == g.Name || p.Port == g.Port && (p.Protocol == "" || p.Protocol == corev1.ProtocolTCP)
		}
		if !slices.ContainsFunc(ports, clashes) {
			ports = append(ports, g)
		}
	}
	return ports
}

// headLabels are the labels by which the operator finds the Service.
func headLabels(rc *rayv1.RayCluster) map[string]string {
	l := child.Labels(rc)
	l[rayv1.LabelNodeType] = string(rayv1.HeadNode)
	l[rayv1.LabelIdentifier] = names.Identifier(rc.Name, rayv1.HeadNode)
	if v, ok := headPodLabel(rc, rayv1.LabelAppName); ok {
		l[rayv1.LabelAppName] = v
	}
	return l
}

// headSelector uses the final labels of the head Pod. KubeRay considers only the user's value of app.kubernetes.io/name, so its
// Service does not select the Pod if the other two are overridden.
func headSelector(rc *rayv1.RayCluster) map[string]string {
	selector := headLabels(rc)
	for _, key := range []string{rayv1.LabelIdentifier, rayv1.LabelAppName, rayv1.LabelCreatedBy} {
		if v, ok := headPodLabel(rc, key); ok {
			selector[key] = v
		}
	}
	return selector
}

// headPodLabel returns the user's value of a label of the head Pod.
func headPodLabel(rc *rayv1.RayCluster, key string) (string, bool) {
	if v, ok := rc.Spec.HeadGroupSpec.Labels[key]; ok {
		return v, true
	}
	v, ok := rc.Spec.HeadGroupSpec.Template.Labels[key]
	return v, ok
}

// isServe reports whether a port with this name belongs to Ray Serve.
func isServe(port string) bool {
	return port == rayv1.PortServe || strings.HasPrefix(port, rayv1.PortServe+"-")
}
