package e2e

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"

	"github.com/raygate/raygate/internal/testing/programs"
)

var updateRights = flag.Bool("update-rights", false, "write the tables of docs/rbac.md by the tests that are run")

const rbacPage = "../../docs/rbac.md"

// role is a file with the rights of a program, below the root of the repository.
type role struct{ program, file string }

// roles are those that the programs run with here: the default installation, and the components that the settings of these tests need.
var roles = []role{
	{"operator", "operator/config/rbac/role.yaml"},
	{"operator", "operator/config/components/token-auth/role.yaml"},
	{"operator", "operator/config/components/kubernetes-proxy/role.yaml"},
	{"operator", "operator/config/components/mtls/role.yaml"},
	{"gateway", "apiserver/config/rbac/role.yaml"},
}

// installRights gives the programs their ServiceAccounts and the roles as they are shipped.
func installRights(kubeconfig string) error {
	files := []string{
		"operator/config/manager/namespace.yaml", "operator/config/rbac/service_account.yaml", "operator/config/rbac/role_binding.yaml",
		"operator/config/components/token-auth/role_binding.yaml", "operator/config/components/kubernetes-proxy/role_binding.yaml", "operator/config/components/mtls/role_binding.yaml",
		"apiserver/config/deployment/service_account.yaml", "apiserver/config/rbac/role_binding.yaml",
	}
	for _, r := range roles {
		files = append(files, r.file)
	}
	for _, file := range files {
		cmd := exec.Command(programs.Binary("k8s/kubectl"), "--kubeconfig", kubeconfig, "apply", "--server-side", "-f", filepath.Join("../..", file))
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("applying %s: %w: %s", file, err, out)
		}
	}
	return nil
}

// rightsOf are those of a role, in its order.
func rightsOf(r role) ([]right, error) {
	file, err := os.Open(filepath.Join("../..", r.file))
	if err != nil {
		return nil, err
	}
	defer file.Close()
	decoder := utilyaml.NewYAMLOrJSONDecoder(file, 4096)
	var all []right
	for {
		role := rbacv1.ClusterRole{}
		if err := decoder.Decode(&role); errors.Is(err, io.EOF) {
			return all, nil
		} else if err != nil {
			return nil, fmt.Errorf("%s: %w", r.file, err)
		}
		for _, rule := range role.Rules {
			for _, group := range rule.APIGroups {
				for _, resource := range rule.Resources {
					for _, verb := range rule.Verbs {
						all = append(all, right{r.program, group, resource, verb})
					}
				}
			}
		}
	}
}

// unused stands before the reason of a right that no case of a run uses.
const unused = "none of these cases: "

// table says of each right which cases of a run use it.
func table() (string, error) {
	var b strings.Builder
	for _, r := range roles {
		all, err := rightsOf(r)
		if err != nil {
			return "", err
		}
		fmt.Fprintf(&b, "\n### %s\n\n| right | used by |\n|---|---|\n", r.file)
		for _, u := range all {
			cases := product.audit.usedBy(u)
			why := strings.Join(cases, ", ")
			if len(cases) == 0 {
				why = unused + reasonOf(u)
			}
			fmt.Fprintf(&b, "| %s | %s |\n", cell(u), why)
		}
	}
	return b.String(), nil
}

// TestReasonsAreOfRights: nothing is excused that the programs may not do.
func TestReasonsAreOfRights(t *testing.T) {
	var all []right
	for _, r := range roles {
		some, err := rightsOf(r)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, some...)
	}
	for _, r := range reasons {
		for _, resource := range r.resources {
			if !slices.ContainsFunc(all, func(u right) bool {
				return u.program == r.program && u.verb == r.verb && strings.TrimPrefix(u.group+"/"+u.resource, "/") == resource
			}) {
				t.Errorf("a reason for the %s to %s %s, which it may not", r.program, r.verb, resource)
			}
		}
	}
}

func cell(u right) string {
	return fmt.Sprintf("`%s` `%s`", u.verb, strings.TrimPrefix(u.group+"/"+u.resource, "/"))
}

// checkRights returns what was denied to the programs, and with -update-rights writes what they used.
func checkRights() []string {
	problems := slices.Clone(product.audit.denied)
	if *updateRights {
		if err := writeRights(); err != nil {
			problems = append(problems, err.Error())
		}
	}
	return problems
}

const rightsBegin, rightsEnd = "<!-- rights: generated -->\n", "<!-- end -->"

func writeRights() error {
	text, err := os.ReadFile(rbacPage)
	if err != nil {
		return err
	}
	head, rest, ok1 := strings.Cut(string(text), rightsBegin)
	_, tail, ok2 := strings.Cut(rest, rightsEnd)
	if !ok1 || !ok2 {
		return fmt.Errorf("%s has no place for the rights", rbacPage)
	}
	rows, err := table()
	if err != nil {
		return err
	}
	return os.WriteFile(rbacPage, []byte(head+rightsBegin+rows+"\n"+rightsEnd+tail), 0o600)
}

// TestRightsAreListed: docs/rbac.md has each right of the roles, with the cases that use it or the reason why it is there all the same, and no other.
func TestRightsAreListed(t *testing.T) {
	text, err := os.ReadFile(rbacPage)
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(text), rightsBegin)
	listed, _, _ := strings.Cut(rest, rightsEnd)
	for _, r := range roles {
		all, err := rightsOf(r)
		if err != nil {
			t.Fatal(err)
		}
		_, part, ok := strings.Cut(listed, "### "+r.file+"\n")
		part, _, _ = strings.Cut(part, "\n### ")
		if !ok || len(all) == 0 {
			t.Errorf("%s is not listed, or has no rights", r.file)
		}
		rows := strings.Count(part, "\n| `")
		for _, u := range all {
			_, row, _ := strings.Cut(part, "| "+cell(u)+" | ")
			row, _, _ = strings.Cut(row, " |\n")
			switch why, none := strings.CutPrefix(row, unused); {
			case row == "":
				t.Errorf("%s: %s is not listed with what uses it; run: go test ./test/e2e -update-rights", r.file, cell(u))
			case none && (why == "" || why != reasonOf(u)):
				t.Errorf("%s: no case uses %s, and the reason is %q, want %q", r.file, cell(u), why, reasonOf(u))
			}
		}
		if rows != len(all) {
			t.Errorf("%s: %d rows for %d rights", r.file, rows, len(all))
		}
	}
}
