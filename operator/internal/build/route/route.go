// Package route builds the object that publishes the dashboard outside the Kubernetes cluster: an Ingress, or a Route on
// OpenShift.
package route

import (
	"cmp"

	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/ptr"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/operator/internal/build/child"
	"github.com/raygate/raygate/operator/internal/build/names"
	"github.com/raygate/raygate/operator/internal/build/service"
)

// annotationIngressClass is the deprecated way to choose an ingress class. Users set it on the RayCluster.
const annotationIngressClass = "kubernetes.io/ingress.class"

// Needed reports whether the spec requests to publish the dashboard.
func Needed(rc *rayv1.RayCluster) bool {
	return ptr.Deref(rc.Spec.HeadGroupSpec.EnableIngress, false)
}

// Ingress builds the Ingress of the dashboard: one rule with one path. It copies the annotations of the cluster, because users of
// KubeRay set those for their ingress controller there.
func Ingress(rc *rayv1.RayCluster) *networkingv1.Ingress {
	o := rayv1.IngressOptions{}
	if user := rc.Spec.HeadGroupSpec.IngressOptions; user != nil {
		o = *user.DeepCopy()
	}
	ingress := &networkingv1.Ingress{
		ObjectMeta: child.Meta(rc, names.HeadIngress(rc.Name), labels(rc)),
		Spec: networkingv1.IngressSpec{
			TLS: o.TLS,
			Rules: []networkingv1.IngressRule{{
				Host: ptr.Deref(o.Host, ""),
				IngressRuleValue: networkingv1.IngressRuleValue{HTTP: &networkingv1.HTTPIngressRuleValue{Paths: []networkingv1.HTTPIngressPath{{
					Path:     cmp.Or(ptr.Deref(o.Path, ""), "/"),
					PathType: new(networkingv1.PathType(cmp.Or(ptr.Deref(o.PathType, ""), rayv1.IngressPathTypePrefix))),
					Backend: networkingv1.IngressBackend{Service: &networkingv1.IngressServiceBackend{
						Name: names.HeadService(rc),
						Port: networkingv1.ServiceBackendPort{Number: service.DashboardPort(rc)},
					}},
				}}}},
			}},
		},
	}
	ingress.Annotations = child.Annotations(rc)
	if class, ok := rc.Annotations[annotationIngressClass]; ok {
		delete(ingress.Annotations, annotationIngressClass)
		ingress.Spec.IngressClassName = &class
	}
	return ingress
}

func labels(rc *rayv1.RayCluster) map[string]string {
	l := child.Labels(rc)
	l[rayv1.LabelIdentifier] = names.Identifier(rc.Name, rayv1.HeadNode)
	return l
}

// Kind is OpenShift's Route. Its Go types are not used: one object does not justify the dependency.
var Kind = schema.GroupVersionKind{Group: "route.openshift.io", Version: "v1", Kind: "Route"}

// Route builds the Route of the dashboard.
func Route(rc *rayv1.RayCluster) *unstructured.Unstructured {
	r := child.Unstructured(rc, Kind, names.HeadRoute(rc.Name, rc.Namespace), labels(rc), map[string]any{
		"to":             map[string]any{"kind": "Service", "name": names.HeadService(rc), "weight": int64(100)},
		"port":           map[string]any{"targetPort": int64(service.DashboardPort(rc))},
		"wildcardPolicy": "None",
	})
	r.SetAnnotations(child.Annotations(rc))
	return r
}
