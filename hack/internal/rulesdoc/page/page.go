// Package page renders the rules of pkg/validation for people.
package page

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/raygate/raygate/hack/celrules"
	"github.com/raygate/raygate/pkg/validation"
	"github.com/raygate/raygate/pkg/validation/examples"
	"github.com/raygate/raygate/pkg/validation/rule"
)

const intro = `# Validation rules

This page is generated from the rules in ` + "`pkg/validation`" + ` by ` + "`go run ./hack/internal/rulesdoc`" + `; do not edit it.

The gateway, the webhook, the operator and ` + "`raygate validate`" + ` apply the same rules with the same messages. Each problem contains the id of its rule, which
never changes. Ids below 500 are rules of KubeRay 1.7; ids from 501 are additions.

## Columns

* **For example** is the first part of the message for an object that breaks the rule, with the field. **Remedy** is the rest of the message. Both come from the
  objects in ` + "`pkg/validation/examples`" + `, which tests of all entry points use.
* **Tier** is the reason of the rule, see [Tiers](#tiers).
* **Severity**: an error refuses the object; a warning does not. *On update* marks rules about a change from the old to the new object.
* **Depends on** lists settings outside the object. CRDs do not contain such rules. A component that does not know the setting only warns, for example a gateway without
  the ` + "`--feature-gates`" + ` of the operator.
* **Layers** lists the components that enforce the rule, see [Layers](#layers).
* **Stop**: the operator does not act on an object that breaks the rule, even if the object ran before. *always*: KubeRay stops there, too. *new*: the operator
  does not start with a new object. Other errors do not stop the operator; it reports them in the status.

## Tiers

| tier | reason | refused by |
|---|---|---|
| peer | KubeRay 1.7 refuses the object: by its schema or CEL (schema), its webhook, the check at the start of a reconcile (controller), or a later step that always fails (step) | gateway, webhook, ` + "`raygate validate`" + `, and CEL if only the object decides |
| kubernetes | the API server would always refuse a child of the object, in every mode and with every feature gate | CRD, gateway, webhook, ` + "`raygate validate`" + ` |
| advice | other problems | nothing; all components warn |

Rules of tier kubernetes only warn about parts of an object that have no child. Examples are the submitter of a RayJob in HTTPMode, and a worker group that is suspended or has no
replicas. If ` + "`managedBy`" + ` gives an object to MultiKueue, all rules except those of KubeRay's schema only warn.

## Updates

An update is refused only for errors that it adds or makes worse. An old error at the same place, with the same values in all fields that the rule reads, becomes a warning. So
finalizers, labels and the autoscaler always work. The API server does the same for its rules. For a rule over all worker groups it only compares the number of groups
that break the rule.

The CEL rules of the CRDs validate new objects, and new parts of objects. The same rules validate updates in the ValidatingAdmissionPolicies ` + "`raygate-<plural>-updates`" + `, because a
CRD evaluates its rules in each write of the status, too. ` + "`operator/config/crd`" + ` and the charts install them with the CRDs. The message of a policy contains the field and the id
of each broken rule. If the API server cannot evaluate a rule, the update passes, and the operator applies the rules. A CRD alone refuses an update that breaks the layer schema, a rule of KubeRay's own CRDs, RC-120 or RJ-060.

## Layers

| layer | enforced by |
|---|---|
| package | gateway, webhook, operator and ` + "`raygate validate`" + ` |
| controller | the operator only, because the rule needs other objects |
| schema, CEL | the API server, by the CRD and, for updates, by its policy |
| policy | the API server, if the ValidatingAdmissionPolicies in ` + "`operator/config/policies`" + ` are installed; they need no webhook |

If a CRD or a policy can check only a part of a rule, it refuses that part. Rules of a CRD on optional features are one expression. Its message contains the field and the id of
each broken rule.

## Bounds

CEL needs lists with bounds, so the CRDs bound the lists that rules read. KubeRay has no such bounds.

| list | bound |
|---|---|
| worker groups | 10,998; more do not fit into etcd, because the smallest group has 143 bytes and an object at most 1.5 MiB |
| variables of a container of the head and of the autoscaler | 10,000 |
| variables of the collector | 5,000 |
| volumes of the head Pod | 10,000 |

The bounds of containers, ports and mounts of the head are as large as etcd allows. Labels, and lists inside worker groups, have no bounds; policies contain the rules about them.

`

// sections are the kinds of rules, with the text above their rules.
var sections = []struct{ kind, title, about string }{
	{rule.KindClusterSpec, "Wherever a cluster is described", "Fields are below `spec` of a RayCluster, `spec.rayClusterSpec` of a RayJob, `spec.rayClusterConfig` of a RayService and `spec.jobTemplate.rayClusterSpec` of a RayCronJob."},
	{"RayCluster", "RayCluster", "These rules apply to the kind RayCluster only."},
	{rule.KindJobSpec, "Wherever a job is described", "Fields are below `spec` of a RayJob and `spec.jobTemplate` of a RayCronJob."},
	{"RayJob", "RayJob", "These rules apply to the kind RayJob only."},
	{"RayService", "RayService", "The rules for clusters apply to the cluster of a service, too."},
	{"RayCronJob", "RayCronJob", "The rules for jobs apply to the template of its jobs, too."},
	{rule.KindAny, "Metadata of any kind", "A RayCluster gets the labels and annotations of its RayJob or RayService. The jobs of a RayCronJob do not."},
}

// Markdown is the content of docs/validation.md.
func Markdown() []byte {
	var b bytes.Buffer
	b.WriteString(intro)
	shown := broken()
	for _, section := range sections {
		fmt.Fprintf(&b, "## %s\n\n%s\n\n", section.title, section.about)
		b.WriteString("| Rule | Field | Broken when | For example | Remedy | Tier | Severity | Depends on | Layers | Stop |\n|---|---|---|---|---|---|---|---|---|---|\n")
		for _, r := range validation.Rules() {
			if r.Kind == section.kind {
				row(&b, r, shown[r.ID])
			}
		}
		b.WriteString("\n")
	}
	b.WriteString("## Ids that are no rules of objects\n\nNo problem carries these ids.\n\n| Id | Meaning | Enforced by |\n|---|---|---|\n")
	for _, n := range noRules {
		fmt.Fprintf(&b, "| %s | %s | %s |\n", n.ID, cell(n.What), cell(n.Why))
	}
	return b.Bytes()
}

func row(b *bytes.Buffer, r *validation.Rule, e example) {
	stop := ""
	switch {
	case r.Stops():
		stop = "always"
	case r.Tier == rule.Kubernetes:
		stop = "new"
	}
	id, remedy := r.ID, r.Remedy
	if len(r.Same) > 0 {
		id += " (also " + strings.Join(r.Same, ", ") + ")"
	}
	if remedy == "" {
		remedy = e.remedy
	}
	fmt.Fprintf(b, "| %s | `%s` | %s | %s | %s | %s | %s | %s | %s | %s |\n", id, cell(r.Field), cell(r.Condition), cell(e.problem), cell(remedy), tier(r), severity(r), r.Depends,
		strings.Join(layersOf(r), ", "), stop)
}

// example is the problem and the remedy reported for one broken object.
type example struct{ problem, remedy string }

// broken returns, by rule, the problem of the first object in package examples that breaks the rule.
func broken() map[string]example {
	shown := map[string]example{}
	for _, e := range examples.All() {
		if _, there := shown[e.ID]; there {
			continue
		}
		checks, _ := validation.ForKind(e.Kind)
		v := checks.Create(e.Object(), e.Options)
		if e.Update {
			v = checks.Update(e.Object(), e.Old(), e.Options)
		}
		for _, problem := range append(v.Errors, v.Warnings...) {
			if problem.Origin != e.ID {
				continue
			}
			body := strings.TrimSuffix(problem.ErrorBody(), ": "+problem.Detail)
			shown[e.ID] = example{problem: e.Name + ": `" + problem.Field + "`, " + body, remedy: problem.Detail}
			break
		}
	}
	for _, u := range examples.AllUnreadable() {
		if _, there := shown[u.ID]; !there {
			shown[u.ID] = example{problem: u.Name + ": `" + u.WantField + "`"}
		}
	}
	return shown
}

// layersOf returns where the rule is enforced. The rule itself has its layers in this project. Those of the API server come from the tables
// from which the CRDs and the policies are generated.
func layersOf(r *validation.Rule) []string {
	var layers []string
	for _, l := range r.Layers {
		layers = append(layers, string(l))
	}
	for _, l := range celrules.LayersOf(r.ID) {
		layers = append(layers, string(l))
	}
	if celrules.InPolicy(r.ID) {
		layers = append(layers, "policy")
	}
	return layers
}

// tier is the tier, with the parts of KubeRay that refuse the object.
func tier(r *validation.Rule) string {
	if len(r.Peer) == 0 {
		return string(r.Tier)
	}
	parts := make([]string, len(r.Peer))
	for i, p := range r.Peer {
		parts[i] = string(p)
	}
	return fmt.Sprintf("%s (%s)", r.Tier, strings.Join(parts, ", "))
}

func severity(r *validation.Rule) string {
	text := string(r.Severity())
	if r.Transition {
		text += ", on update"
	}
	return text
}

// cell keeps text from ending its table cell.
func cell(text string) string { return strings.ReplaceAll(text, "|", `\|`) }
