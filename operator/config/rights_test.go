package config_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// optional are the components with rights on what a Kubernetes cluster may lack or a user may not want, and what they allow, as
// "group/resource: verbs".
var optional = map[string][]string{
	"routes":                    {"route.openshift.io/routes: create delete get list patch watch"},
	"mtls":                      {"/secrets: get patch", "cert-manager.io/certificates: create delete get list patch watch", "cert-manager.io/issuers: create delete get list patch watch"},
	"volcano":                   {"scheduling.volcano.sh/podgroups: create get list patch watch"},
	"scheduler-plugins":         {"scheduling.x-k8s.io/podgroups: create get list patch watch"},
	"workload-aware-scheduling": {"scheduling.k8s.io/podgroups: create delete get list patch watch", "scheduling.k8s.io/workloads: create delete get list patch watch"},
	"device-admission": {"/namespaces: get", "/resourcequotas: get list watch",
		"admissionregistration.k8s.io/mutatingwebhookconfigurations: create", "admissionregistration.k8s.io/mutatingwebhookconfigurations: get update",
		"admissionregistration.k8s.io/validatingwebhookconfigurations: create", "admissionregistration.k8s.io/validatingwebhookconfigurations: get update"},
	"history":          {"/events: list"},
	"token-auth":       {"/secrets: create delete patch"},
	"kubernetes-proxy": {"/pods/proxy: get", "/services/proxy: create get update"},
}

// allowed are the rights of a ClusterRole, empty if nobody binds it to the operator.
func allowed(t *testing.T, objects []*unstructured.Unstructured, role string) []string {
	t.Helper()
	bound := slices.ContainsFunc(find[rbacv1.ClusterRoleBinding](t, objects, "ClusterRoleBinding"), func(b *rbacv1.ClusterRoleBinding) bool {
		return b.RoleRef.Name == role && len(b.Subjects) == 1 && b.Subjects[0].Name == "raygate-operator" && b.Subjects[0].Namespace == namespace
	})
	var out []string
	for _, r := range find[rbacv1.ClusterRole](t, objects, "ClusterRole") {
		for _, rule := range r.Rules {
			for _, group := range rule.APIGroups {
				for _, resource := range rule.Resources {
					if r.Name == role && bound {
						out = append(out, group+"/"+resource+": "+strings.Join(rule.Verbs, " "))
					}
				}
			}
		}
	}
	slices.Sort(out)
	return out
}

// TestOptionalRights: a component adds what its name says to an overlay, and an overlay has no right of a component that it does not
// name.
func TestOptionalRights(t *testing.T) {
	for component, want := range optional {
		t.Run(component, func(t *testing.T) {
			role := "raygate-operator-" + component
			objects := build(t, "default", func(s string) string {
				s = strings.Replace(s, "components:\n", "components:\n- ../components/"+component+"\n", 1)
				return strings.TrimSuffix(s, "- ../components/token-auth\n")
			})
			if diff := cmp.Diff(want, allowed(t, objects, role)); diff != "" {
				t.Errorf("rights (-want +got):\n%s", diff)
			}
			var base []string
			for _, right := range allowed(t, objects, "raygate-operator") {
				if slices.ContainsFunc(want, func(w string) bool { return strings.HasPrefix(right, w[:strings.Index(w, ":")+1]) }) {
					base = append(base, right)
				}
			}
			if component == "mtls" || component == "token-auth" { // Secrets that users bring are read, and the operator's are watched
				if diff := cmp.Diff([]string{"/secrets: get list watch"}, base); diff != "" {
					t.Errorf("rights on Secrets of every installation (-want +got):\n%s", diff)
				}
			} else if len(base) > 0 {
				t.Errorf("every installation has %v", base)
			}
		})
	}
	for _, overlay := range overlays {
		objects := build(t, overlay, nil)
		for component := range optional {
			if got := allowed(t, objects, "raygate-operator-"+component); (len(got) > 0) != (component == "token-auth") {
				t.Errorf("overlay %s: rights of %s: %v", overlay, component, got)
			}
		}
	}
}
