package rbac

import (
	"slices"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/equality"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
)

// KeepRules returns the rules for a Role: the wanted ones and those that users added to the found one. KubeRay never updates a
// Role, so users add permissions for their head Pods there. The found order stays, so that nothing is written if nothing is
// missing. KubeRay's rule for all RayClusters is replaced by the narrower wanted one.
func KeepRules(wanted, found []rbacv1.PolicyRule) []rbacv1.PolicyRule {
	open := rbacv1.PolicyRule{APIGroups: []string{rayv1.GroupVersion.Group}, Resources: []string{"rayclusters"}, Verbs: []string{"get", "patch"}}
	superseded := func(r rbacv1.PolicyRule) bool {
		return equality.Semantic.DeepEqual(r, open) && !contains(wanted, r)
	}
	kept := slices.DeleteFunc(slices.Clone(found), superseded)
	return withMissing(kept, wanted)
}

// KeepSubjects does the same for the subjects of a RoleBinding. The ServiceAccount of an earlier spec stays too, because a head
// Pod that uses it may still run.
func KeepSubjects(wanted, found []rbacv1.Subject) []rbacv1.Subject {
	return withMissing(slices.Clone(found), wanted)
}

func withMissing[T any](list, wanted []T) []T {
	for _, w := range wanted {
		if !contains(list, w) {
			list = append(list, w)
		}
	}
	return list
}

func contains[T any](list []T, x T) bool {
	return slices.ContainsFunc(list, func(y T) bool { return equality.Semantic.DeepEqual(x, y) })
}
