package raycluster

import (
	"context"
	"slices"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/raygate/raygate/operator/internal/build/names"
	"github.com/raygate/raygate/operator/internal/build/rbac"
	"github.com/raygate/raygate/operator/internal/children"
)

// +kubebuilder:rbac:groups="",resources=serviceaccounts,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups=rbac.authorization.k8s.io,resources=roles;rolebindings,verbs=get;list;watch;create;patch;delete
// Nobody may grant what he does not hold, so these are the rights of the autoscaler:
// +kubebuilder:rbac:groups="",resources=pods,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups="",resources=pods/resize,verbs=patch
// +kubebuilder:rbac:groups=ray.io,resources=rayclusters,verbs=get;patch

// autoscalerRBAC creates the permissions of the autoscaler in the head Pod.
func (r *Reconciler) autoscalerRBAC(ctx context.Context, s *scope) {
	rc := s.cluster
	if !rbac.Needed(rc) {
		r.removeAutoscalerRBAC(ctx, s)
		return
	}
	if rbac.OwnServiceAccount(rc) {
		s.dependent(r.children.Ensure(ctx, rc, children.Child{Desired: rbac.ServiceAccount(rc)}))
	} else {
		sa := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: rc.Namespace, Name: names.ServiceAccount(rc)}}
		s.facts.ServiceAccountMissing = s.missing(r.children.Missing(ctx, rc, children.Look{ID: "ServiceAccount " + sa.Name, Find: r.children.Exists(sa)}))
	}
	role := rbac.Role(rc)
	s.dependent(r.children.Ensure(ctx, rc, children.Child{
		Desired: role,
		Keep:    func(current client.Object) { role.Rules = rbac.KeepRules(role.Rules, current.(*rbacv1.Role).Rules) },
	}))
	binding := rbac.RoleBinding(rc)
	roleRef := binding.RoleRef
	result := r.children.Ensure(ctx, rc, children.Child{
		Desired: binding,
		Keep: func(current client.Object) {
			binding.Subjects = rbac.KeepSubjects(binding.Subjects, current.(*rbacv1.RoleBinding).Subjects)
		},
	})
	s.dependent(result)
	if rb, ok := result.Object.(*rbacv1.RoleBinding); ok && rb.RoleRef.Name != "" && rb.RoleRef != roleRef {
		// The role of a binding is immutable. Its watch triggers the reconcile that recreates it.
		s.dependent(r.children.Remove(ctx, rc, rbac.RoleBinding(rc)))
	}
}

// removeAutoscalerRBAC removes the permissions after the head is gone: its autoscaler would fail and make the head unready. The
// binding goes first, which ends the permissions even if the rest fails.
func (r *Reconciler) removeAutoscalerRBAC(ctx context.Context, s *scope) {
	rc := s.cluster
	uses := func(p *corev1.Pod) bool { return p.Spec.ServiceAccountName == names.ServiceAccount(rc) }
	if slices.ContainsFunc(s.pods, uses) {
		return
	}
	s.dependent(r.children.Remove(ctx, rc, rbac.RoleBinding(rc)))
	s.dependent(r.children.Remove(ctx, rc, rbac.Role(rc)))
	if rbac.OwnServiceAccount(rc) {
		s.dependent(r.children.Remove(ctx, rc, rbac.ServiceAccount(rc)))
	}
}
