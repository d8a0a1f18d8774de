package v1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// Owns reports whether the object belongs to the cluster: its label names the cluster and the cluster is its controller. An object of
// an earlier cluster of the same name does not belong, nor does a Pod whose label a user changed to quarantine it.
func (in *RayCluster) Owns(o metav1.Object) bool {
	return o.GetNamespace() == in.Namespace && o.GetLabels()[LabelCluster] == in.Name && metav1.IsControlledBy(o, in)
}

// ManagedHere reports whether this operator reconciles an object with this spec.managedBy, and not another controller such as
// Kueue's for other Kubernetes clusters. Nil is the operator.
func ManagedHere(managedBy *string) bool {
	return managedBy == nil || *managedBy == ManagedByKubeRayOperator
}

// Suspended reports whether spec.suspend asks for no Pods.
func (in *RayCluster) Suspended() bool { return in.Spec.Suspend != nil && *in.Spec.Suspend }
