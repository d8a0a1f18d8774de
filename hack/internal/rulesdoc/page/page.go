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

The gateway, the webhook, the operator and ` + "`raygate validate`" + ` apply the same rules and print the same words. Each problem names its rule by
an id that never changes. Ids below 500 are rules of KubeRay 1.7; those from 501 are additions.

* **For example** What an object that breaks the rule is told, and at which field; **What would be right** is the rest of the message. Both come from the
  objects in ` + "`pkg/validation/examples`" + `, which tests of all entry points use.
* **Tier** Why there is a rule, and with that where it may refuse. peer: KubeRay 1.7 refuses the object too, by its schema or CEL (schema), its webhook,
  the check at the top of its controller's reconcile (controller), or a later step of its controller that fails for ever (step); gateway, webhook and
  ` + "`raygate validate`" + ` refuse it, and CEL where nothing but the object decides. kubernetes: the API server would always refuse the child that follows
  from the object, whatever mode, feature gate or webhook is in play; CRD, gateway, webhook and ` + "`raygate validate`" + ` refuse it. advice: everything else;
  nobody refuses it, everybody warns in the same words. Where no child follows from a part of an object, as from the submitter of a RayJob in HTTPMode, rules
  of tier kubernetes on that part only warn, and so do those on a worker group that has no Pods as it stands: suspended, or without replicas. So do all
  rules but those of KubeRay's schema on an object that ` + "`managedBy`" + ` gives to MultiKueue.
* **Depends on** What decides besides the object. No CRD holds such a rule, and where the thing is not known, as a feature gate that is off by default is not to
  a gateway or a command line that nobody told of it, the rule only warns.
* **Severity** An error refuses the object; a warning never does. An update is refused only for errors that it brings in or makes worse: an error that
  the stored object has at the same place, with the same value and with the same values in all fields that the rule reads, becomes a warning, so that
  finalizers, labels and the autoscaler always get through. The API server ratchets too, where it enforces the rule; of rules over all worker groups it
  sees only whether more groups break them than before. On update marks rules about the way from the old object to the new one.
* **Layers** Who enforces the rule. package: the programs above. controller: the operator alone, which knows the objects around. schema, CEL: the API
  server, by the CRD. policy: the API server, where the ValidatingAdmissionPolicies in ` + "`operator/config/policies`" + ` are installed. They need no
  webhook, do not refuse what another layer lets pass, and ratchet too. Where a CRD or a policy sees only a part of what the rule sees, it refuses that.
  Rules of a CRD on one feature are one expression: the API server gives the field that they have in common, and its message the field and the id of each
  that is broken.
* **Bounds** CEL needs to know where lists end, so the CRDs bound those that rules walk, where KubeRay has no bounds. They take 10,998 worker groups: the
  smallest takes 143 bytes, and etcd 1.5 MiB for the whole object, so that nobody can have more. The same goes for containers, ports and mounts of the head,
  whose Pod is an object too. A container of the head and the autoscaler may have 10,000 variables, the collector 5,000, and the head Pod 10,000 volumes.
  Labels, and lists inside of worker groups, have no bounds; the rules on them are in policies.
* **Stop** The operator does not act on an object that breaks the rule, even if the object ran before: always means that KubeRay stops there too, new that
  it does not start with a new object. Errors of other rules do not stop it; it tells them in the status.

`

// sections are the kinds of rules, with the text above their rules.
var sections = []struct{ kind, title, about string }{
	{rule.KindClusterSpec, "Wherever a cluster is described", "Fields are below `spec` of a RayCluster, `spec.rayClusterSpec` of a RayJob, `spec.rayClusterConfig` of a RayService and `spec.jobTemplate.rayClusterSpec` of a RayCronJob."},
	{"RayCluster", "RayCluster", "These hold for an object of the kind RayCluster alone."},
	{rule.KindJobSpec, "Wherever a job is described", "Fields are below `spec` of a RayJob and `spec.jobTemplate` of a RayCronJob."},
	{"RayJob", "RayJob", "These hold for an object of the kind RayJob alone."},
	{"RayService", "RayService", "The cluster of a service is under the rules on clusters, too."},
	{"RayCronJob", "RayCronJob", "The template of its jobs is under the rules on jobs, too."},
	{rule.KindAny, "Metadata of any kind", "A RayCluster gets the labels and annotations of the RayJob or the RayService that it is made for; the jobs of a RayCronJob do not."},
}

// Markdown is the content of docs/validation.md.
func Markdown() []byte {
	var b bytes.Buffer
	b.WriteString(intro)
	shown := broken()
	for _, section := range sections {
		fmt.Fprintf(&b, "## %s\n\n%s\n\n", section.title, section.about)
		b.WriteString("| Rule | Field | Broken when | For example | What would be right | Tier | Severity | Depends on | Layers | Stop |\n|---|---|---|---|---|---|---|---|---|---|\n")
		for _, r := range validation.Rules() {
			if r.Kind == section.kind {
				row(&b, r, shown[r.ID])
			}
		}
		b.WriteString("\n")
	}
	b.WriteString("## Ids that are no rules of objects\n\nNo problem carries these ids.\n\n| Id | What it stands for | Who sees to it |\n|---|---|---|\n")
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
