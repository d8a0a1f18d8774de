// Package rbac builds the permissions of the Ray autoscaler in the head Pod: a ServiceAccount, a Role and a RoleBinding.
package rbac

import (
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/operator/internal/build/child"
	"github.com/raygate/raygate/operator/internal/build/names"
)

// Needed reports whether the cluster runs the Ray autoscaler.
func Needed(rc *rayv1.RayCluster) bool {
	return rc.Spec.EnableInTreeAutoscaling != nil && *rc.Spec.EnableInTreeAutoscaling
}

// OwnServiceAccount reports whether the operator creates the head's ServiceAccount. One that the template names belongs to the
// user.
func OwnServiceAccount(rc *rayv1.RayCluster) bool {
	return rc.Spec.HeadGroupSpec.Template.Spec.ServiceAccountName == ""
}

// ServiceAccount builds the ServiceAccount of the autoscaler.
func ServiceAccount(rc *rayv1.RayCluster) *corev1.ServiceAccount {
	return &corev1.ServiceAccount{ObjectMeta: child.Meta(rc, names.ServiceAccount(rc), child.Labels(rc))}
}

// Role builds the permissions of the autoscaler: it reads and patches its RayCluster and Pods, including their resize subresource.
// KubeRay 1.7 allows all RayClusters of the namespace; here only this one. If the name is clipped, two clusters may share the
// Role, so it is as wide as KubeRay's.
func Role(rc *rayv1.RayCluster) *rbacv1.Role {
	own := rbacv1.PolicyRule{APIGroups: []string{rayv1.GroupVersion.Group}, Resources: []string{"rayclusters"}, Verbs: []string{"get", "patch"}}
	if names.Role(rc.Name) == rc.Name {
		own.ResourceNames = []string{rc.Name}
	}
	return &rbacv1.Role{
		ObjectMeta: child.Meta(rc, names.Role(rc.Name), child.Labels(rc)),
		Rules: []rbacv1.PolicyRule{
			{APIGroups: []string{""}, Resources: []string{"pods"}, Verbs: []string{"get", "list", "watch", "patch"}},
			{APIGroups: []string{""}, Resources: []string{"pods/resize"}, Verbs: []string{"patch"}},
			own,
		},
	}
}

// RoleBinding binds the Role to the ServiceAccount.
func RoleBinding(rc *rayv1.RayCluster) *rbacv1.RoleBinding {
	return &rbacv1.RoleBinding{
		ObjectMeta: child.Meta(rc, names.Role(rc.Name), child.Labels(rc)),
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Name: names.ServiceAccount(rc), Namespace: rc.Namespace}},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: names.Role(rc.Name)},
	}
}
