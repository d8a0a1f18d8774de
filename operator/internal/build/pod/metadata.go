package pod

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/operator/internal/build/child"
	"github.com/raygate/raygate/operator/internal/build/gcs"
	"github.com/raygate/raygate/operator/internal/build/names"
)

// metadata copies the metadata that the schema of templates allows; the namespace is always that of the cluster.
func (n *node) metadata() metav1.ObjectMeta {
	return metav1.ObjectMeta{
		Name:            n.template.Name,
		Namespace:       n.rc.Namespace,
		Labels:          n.podLabels(),
		Annotations:     n.podAnnotations(),
		Finalizers:      slices.Clone(n.template.Finalizers),
		OwnerReferences: []metav1.OwnerReference{child.Controller(n.rc)},
	}
}

// podLabels merges labels. Those of the user override those of the operator, except the labels by which Pods are selected.
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
		// The RayService controller sets the head's label to true once its proxy serves.
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
		a[rayv1.AnnotationFTEnabled] = strconv.FormatBool(gcs.Backend(n.rc) != "")
		if gcs.Backend(n.rc) == rayv1.GcsFTBackendRedis {
			a[rayv1.AnnotationExternalStorageNamespace] = gcs.StorageNamespace(n.rc)
		}
	}
	addMissing(a, n.o.Annotations)
	if d := n.o.Claims[n.group]; d != nil && len(d.Pod) > 0 {
		a[rayv1.AnnotationClaimedDevices] = d.Pod.String()
	}
	return a
}

func addMissing(to, from map[string]string) {
	for k, v := range from {
		if _, ok := to[k]; !ok {
			to[k] = v
		}
	}
}

func isTrue(s string) bool { return strings.EqualFold(s, "true") }
