// Package child contains what all children of a RayCluster have in common: owner references and labels.
package child

import (
	"maps"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
)

// Meta returns the metadata of a child: in the cluster's namespace, controlled by it, with the given labels. Nil labels stay nil.
func Meta(rc *rayv1.RayCluster, name string, labels map[string]string) metav1.ObjectMeta {
	return metav1.ObjectMeta{
		Name:            name,
		Namespace:       rc.Namespace,
		Labels:          labels,
		OwnerReferences: []metav1.OwnerReference{Controller(rc)},
	}
}

// Unstructured returns a child of a kind without Go types.
func Unstructured(rc *rayv1.RayCluster, kind schema.GroupVersionKind, name string, labels map[string]string, spec map[string]any) *unstructured.Unstructured {
	o := &unstructured.Unstructured{Object: map[string]any{"spec": spec}}
	o.SetGroupVersionKind(kind)
	o.SetName(name)
	o.SetNamespace(rc.Namespace)
	o.SetLabels(labels)
	o.SetOwnerReferences([]metav1.OwnerReference{Controller(rc)})
	return o
}

// Controller returns the owner reference of a child: garbage collection deletes it with the cluster.
func Controller(rc *rayv1.RayCluster) metav1.OwnerReference {
	return *metav1.NewControllerRef(rc, rayv1.GroupVersion.WithKind("RayCluster"))
}

// Annotations returns a copy of the annotations without kubectl's last-applied annotation: it describes another object, and kubectl
// would apply it to the child.
func Annotations(of metav1.Object) map[string]string {
	a := maps.Clone(of.GetAnnotations())
	delete(a, corev1.LastAppliedConfigAnnotation)
	return a
}

// Labels returns the labels of most children in a new map.
func Labels(rc *rayv1.RayCluster) map[string]string {
	return map[string]string{
		rayv1.LabelCluster:   rc.Name,
		rayv1.LabelAppName:   rayv1.AppName,
		rayv1.LabelCreatedBy: rayv1.ControllerName,
	}
}
