package child

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
)

// Meta is the metadata of a child: in the namespace of the cluster, controlled by it, and with the labels given. A nil map
// of labels stays nil.
func Meta(rc *rayv1.RayCluster, name string, labels map[string]string) metav1.ObjectMeta {
	return metav1.ObjectMeta{
		Name:            name,
		Namespace:       rc.Namespace,
		Labels:          labels,
		OwnerReferences: []metav1.OwnerReference{Controller(rc)},
	}
}

// Unstructured is a child of a kind whose Go types are not used.
func Unstructured(rc *rayv1.RayCluster, kind schema.GroupVersionKind, name string, labels map[string]string, spec map[string]any) *unstructured.Unstructured {
	o := &unstructured.Unstructured{Object: map[string]any{"spec": spec}}
	o.SetGroupVersionKind(kind)
	o.SetName(name)
	o.SetNamespace(rc.Namespace)
	o.SetLabels(labels)
	o.SetOwnerReferences([]metav1.OwnerReference{Controller(rc)})
	return o
}

// Controller is the owner reference of a child: garbage collection removes it with the cluster.
func Controller(rc *rayv1.RayCluster) metav1.OwnerReference {
	return *metav1.NewControllerRef(rc, rayv1.GroupVersion.WithKind("RayCluster"))
}

// Labels are those of most children. The map is new with every call.
func Labels(rc *rayv1.RayCluster) map[string]string {
	return map[string]string{
		rayv1.LabelCluster:   rc.Name,
		rayv1.LabelAppName:   rayv1.AppName,
		rayv1.LabelCreatedBy: rayv1.ControllerName,
	}
}
