package migrate

import (
	"bytes"
	"cmp"
	"context"
	"embed"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
)

// roles are copies of the roles in operator/config, written by hack/generate-rbac.sh.
//
//go:embed roles/*.yaml
var roles embed.FS

var serviceAccountResource = schema.GroupVersionResource{Version: "v1", Resource: "serviceaccounts"}

// ownAccount is the ServiceAccount of an installation of raygate.
const ownNamespace, ownAccount = "raygate-system", "raygate-operator"

// Rights are the rights that the operator needs and its ServiceAccount lacks.
type Rights struct {
	// ServiceAccount as NAMESPACE/NAME; empty if there was none to check.
	ServiceAccount string `json:"serviceAccount,omitempty"`
	// Checked is the number of rights that were checked.
	Checked int       `json:"checked"`
	Missing []Missing `json:"missing,omitempty"`
}

// Missing are verbs on a resource.
type Missing struct {
	Group    string   `json:"group"`
	Resource string   `json:"resource"`
	Verbs    []string `json:"verbs"`
	// Namespace is where they are missing; empty for everywhere.
	Namespace string `json:"namespace,omitempty"`
	// Role is the file below operator/config that grants them.
	Role string `json:"role"`
}

func (c *Checker) checkRights(ctx context.Context, r *Report) error {
	namespace, name, err := c.account(ctx, r)
	if err != nil {
		return err
	}
	if name == "" {
		r.add(Finding{Area: AreaRights, Severity: Note, Message: "there is no ServiceAccount to ask about: neither operator is installed", Remedy: "name one by --service-account NAMESPACE/NAME"})
		return nil
	}
	r.Rights.ServiceAccount = namespace + "/" + name
	for _, role := range rolesFor(r.Operators) {
		rules, err := rulesOf(role)
		if err != nil {
			return err
		}
		namespaces := watched(r.Operators)
		if role == leaderElection {
			namespaces = []string{namespace}
		}
		for _, ns := range namespaces {
			if err := c.checkRules(ctx, r, role, ns, rules); err != nil {
				if apierrors.IsForbidden(err) {
					r.add(Finding{Area: AreaRights, Severity: Note, Message: "not known: you may not create subjectaccessreviews.authorization.k8s.io", Remedy: "run it with the rights of an administrator"})
					return nil
				}
				return err
			}
		}
	}
	return nil
}

// account returns the account whose rights are checked.
func (c *Checker) account(ctx context.Context, r *Report) (namespace, name string, err error) {
	if c.options.ServiceAccount != "" {
		namespace, name, _ = strings.Cut(c.options.ServiceAccount, "/")
		return namespace, name, nil
	}
	found, err := c.get(ctx, serviceAccountResource, ownNamespace, ownAccount, &corev1.ServiceAccount{})
	switch {
	case err != nil:
		return "", "", err
	case found:
		return ownNamespace, ownAccount, nil
	case len(r.Operators) > 0:
		return r.Operators[0].Namespace, r.Operators[0].ServiceAccount, nil
	}
	return "", "", nil
}

const leaderElection = "leader-election"

// rolesFor are the roles that the settings of the running operators make necessary.
func rolesFor(operators []Operator) []string {
	all := []string{"operator", leaderElection, "token-auth"}
	add := func(name string, needed bool) {
		if needed && !slices.Contains(all, name) {
			all = append(all, name)
		}
	}
	for _, o := range operators {
		_, err := roles.Open("roles/" + o.scheduler + ".yaml")
		add(o.scheduler, err == nil) // of a batch scheduler with objects
		add("kubernetes-proxy", o.proxy)
		add("mtls", o.gates["RayClusterMTLS"])
		add("workload-aware-scheduling", o.gates["KubernetesWAS"])
	}
	return all
}

// watched are the namespaces that the operators watch; one empty name means all.
func watched(operators []Operator) []string {
	var all []string
	for _, o := range operators {
		if len(o.watched) == 0 {
			return []string{""}
		}
		all = append(all, o.watched...)
	}
	if len(all) == 0 {
		return []string{""}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// rulesOf reads the rules of all roles in a file.
func rulesOf(role string) ([]rbacv1.PolicyRule, error) {
	text, err := roles.ReadFile("roles/" + role + ".yaml")
	if err != nil {
		return nil, fmt.Errorf("reading the role %s: %w", role, err)
	}
	var rules []rbacv1.PolicyRule
	decoder := utilyaml.NewYAMLOrJSONDecoder(bytes.NewReader(text), 4096)
	for {
		object := rbacv1.ClusterRole{} // a Role has the same rules
		if err := decoder.Decode(&object); errors.Is(err, io.EOF) {
			return rules, nil
		} else if err != nil {
			return nil, fmt.Errorf("decoding the role %s: %w", role, err)
		}
		rules = append(rules, object.Rules...)
	}
}

func (c *Checker) checkRules(ctx context.Context, r *Report, role, namespace string, rules []rbacv1.PolicyRule) error {
	for _, rule := range rules {
		for _, group := range rule.APIGroups {
			for _, resource := range rule.Resources {
				name, subresource, _ := strings.Cut(resource, "/")
				var missing []string
				for _, verb := range rule.Verbs {
					allowed, err := c.allowed(ctx, r.Rights.ServiceAccount, authorizationv1.ResourceAttributes{
						Namespace: namespace, Group: group, Version: "*", Resource: name, Subresource: subresource, Verb: verb,
					})
					if err != nil {
						return err
					}
					r.Rights.Checked++
					if !allowed {
						missing = append(missing, verb)
					}
				}
				if missing != nil {
					r.addMissing(Missing{Group: group, Resource: resource, Verbs: missing, Namespace: namespace, Role: fileOf(role)})
				}
			}
		}
	}
	return nil
}

func (r *Report) addMissing(m Missing) {
	r.Rights.Missing = append(r.Rights.Missing, m)
	namespace, name, _ := strings.Cut(r.Rights.ServiceAccount, "/")
	where := "everywhere"
	if m.Namespace != "" {
		where = "in " + m.Namespace
	}
	resource := schema.GroupResource{Group: m.Group, Resource: m.Resource}
	r.add(Finding{Area: AreaRights, Severity: Error, Kind: "ServiceAccount", Namespace: namespace, Name: name, Field: cmp.Or(resource.String(), m.Resource),
		Message: "may not " + strings.Join(m.Verbs, ", ") + " " + where, Remedy: "bind the role in " + m.Role})
}

// fileOf is the role's place in the repository.
func fileOf(role string) string {
	switch role {
	case "operator":
		return "operator/config/rbac/role.yaml"
	case leaderElection:
		return "operator/config/rbac/leader_election_role.yaml"
	}
	return "operator/config/components/" + role
}

// allowed reports whether a ServiceAccount, as NAMESPACE/NAME, has a right.
func (c *Checker) allowed(ctx context.Context, account string, right authorizationv1.ResourceAttributes) (bool, error) {
	namespace, name, _ := strings.Cut(account, "/")
	review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
		User:               "system:serviceaccount:" + namespace + ":" + name,
		Groups:             []string{"system:serviceaccounts", "system:serviceaccounts:" + namespace, "system:authenticated"},
		ResourceAttributes: &right,
	}}
	answer, err := c.reviews.Create(ctx, review, metav1.CreateOptions{})
	if err != nil {
		return false, fmt.Errorf("asking for a right: %w", err)
	}
	return answer.Status.Allowed, nil
}
