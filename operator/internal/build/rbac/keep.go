package rbac

import (
	"slices"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/equality"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
)

// KeepRules returns the rules that a Role should have: those of Role, and those that somebody added to the one found. KubeRay
// never touches a Role again, so people give their head Pods more rights there. The order of what is found stays, so that
// nothing is written when nothing is missing. KubeRay's rule about all RayClusters is not kept: ours takes its place.
func KeepRules(wanted, found []rbacv1.PolicyRule) []rbacv1.PolicyRule {
	open := rbacv1.PolicyRule{APIGroups: []string{rayv1.GroupVersion.Group}, Resources: []string{"rayclusters"}, Verbs: []string{"get", "patch"}}
	superseded := func(r rbacv1.PolicyRule) bool {
		return equality.Semantic.DeepEqual(r, open) && !contains(wanted, r)
	}
	kept := slices.DeleteFunc(slices.Clone(found), superseded)
	return withMissing(kept, wanted)
}

// KeepSubjects is KeepRules for the subjects of a RoleBinding: those that somebody added stay. The ServiceAccount that an
// earlier spec of the cluster named stays as well, because a head Pod made from it may still run.
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
