package rbac

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/raygate/raygate/internal/testing/raytest"
)

func TestKeepRules(t *testing.T) {
	wanted := Role(raytest.RayCluster("ns/demo")).Rules
	theirs := rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"configmaps"}, Verbs: []string{"get"}}
	open := rbacv1.PolicyRule{APIGroups: []string{"ray.io"}, Resources: []string{"rayclusters"}, Verbs: []string{"get", "patch"}}
	cases := map[string]struct{ found, want []rbacv1.PolicyRule }{
		"an emptied Role gets all":           {nil, wanted},
		"nothing to do, in whatever order":   {[]rbacv1.PolicyRule{wanted[2], wanted[0], wanted[1]}, []rbacv1.PolicyRule{wanted[2], wanted[0], wanted[1]}},
		"somebody's rule stays":              {append(slices.Clone(wanted), theirs), append(slices.Clone(wanted), theirs)},
		"KubeRay's open rule is superseded":  {[]rbacv1.PolicyRule{wanted[0], wanted[1], open}, wanted},
		"a rule that was changed comes back": {[]rbacv1.PolicyRule{theirs}, append([]rbacv1.PolicyRule{theirs}, wanted...)},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			before := slices.Clone(tc.found)
			if diff := cmp.Diff(tc.want, KeepRules(wanted, tc.found)); diff != "" {
				t.Errorf("rules (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(before, tc.found); diff != "" {
				t.Errorf("the rules found were changed:\n%s", diff)
			}
		})
	}
	long := Role(raytest.RayCluster("ns/a-name-of-53-characters-is-clipped-to-the-last-fifty-x")).Rules
	if got := KeepRules(long, []rbacv1.PolicyRule{open}); !contains(got, open) {
		t.Error("a Role that clusters with long names share lost the right to the others")
	}
}

func TestKeepSubjects(t *testing.T) {
	wanted := RoleBinding(raytest.RayCluster("ns/demo")).Subjects
	theirs := rbacv1.Subject{Kind: "User", APIGroup: rbacv1.GroupName, Name: "ann"}
	got := KeepSubjects(wanted, []rbacv1.Subject{theirs})
	if diff := cmp.Diff([]rbacv1.Subject{theirs, wanted[0]}, got); diff != "" {
		t.Errorf("subjects (-want +got):\n%s", diff)
	}
}
