package pod

import (
	"maps"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	rayv1 "github.com/raygate/raygate/operator/api/ray/v1"
	"github.com/raygate/raygate/operator/internal/build/names"
)

// metadata starts from the template's metadata; what the operator selects Pods by cannot be overridden.
func (n *node) metadata() metav1.ObjectMeta {
	m := *n.template.ObjectMeta.DeepCopy()
	m.Namespace = n.rc.Namespace
	m.Labels = n.podLabels()
	m.Annotations = n.podAnnotations()
	m.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(n.rc, rayv1.GroupVersion.WithKind("RayCluster"))}
	return m
}

func (n *node) podLabels() map[string]string {
	l := map[string]string{
		rayv1.LabelIsRayNode:  rayv1.LabelIsRayNodeValue,
		rayv1.LabelIdentifier: names.Identifier(n.rc.Name, n.kind),
		rayv1.LabelAppName:    rayv1.AppName,
		rayv1.LabelCreatedBy:  rayv1.ControllerName,
	}
	maps.Copy(l, n.template.Labels)
	maps.Copy(l, n.labels)
	l[rayv1.LabelCluster] = n.rc.Name
	l[rayv1.LabelNodeType] = string(n.kind)
	l[rayv1.LabelGroup] = n.group
	addMissing(l, n.o.Labels)
	if n.ofRayService() {
		// The RayService controller turns the head's label to true once its proxy serves.
		l[rayv1.LabelServe] = rayv1.LabelServeTrue
		if n.isHead() {
			l[rayv1.LabelServe] = rayv1.LabelServeFalse
		}
	}
	return l
}

func (n *node) podAnnotations() map[string]string {
	a := map[string]string{}
	maps.Copy(a, n.template.Annotations)
	if isTrue(n.rc.Annotations[rayv1.AnnotationOverwriteContainerCmd]) {
		a[rayv1.AnnotationOverwriteContainerCmd] = "true"
	}
	if n.isHead() {
		a[rayv1.AnnotationFTEnabled] = "false"
		if n.gcsFaultTolerance() {
			a[rayv1.AnnotationFTEnabled] = "true"
		}
	}
	addMissing(a, n.o.Annotations)
	return a
}

// gcsFaultTolerance reports whether workers outlive the head, by the options or by the older annotation.
func (n *node) gcsFaultTolerance() bool {
	return n.rc.Spec.GcsFaultToleranceOptions != nil || isTrue(n.rc.Annotations[rayv1.AnnotationFTEnabled])
}

func addMissing(to, from map[string]string) {
	for k, v := range from {
		if _, ok := to[k]; !ok {
			to[k] = v
		}
	}
}

func isTrue(s string) bool { return strings.EqualFold(s, "true") }
