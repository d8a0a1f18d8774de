// Package page renders the rules of pkg/validation for people.
package page

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/raygate/raygate/pkg/validation"
)

const intro = `# Validation rules

This page is generated from the rules in ` + "`pkg/validation`" + ` by ` + "`go run ./hack/rulesdoc`" + `; do not edit it.

The gateway, the webhook, the operator and ` + "`raygate validate`" + ` apply the same rules and print the same words. Each problem names its rule by
an id that never changes. Ids below 500 are rules of KubeRay 1.7; those from 501 are additions.

* **Kind** RayClusterSpec means that the rule holds wherever a cluster is described: in ` + "`spec`" + ` of a RayCluster, ` + "`spec.rayClusterSpec`" + ` of a RayJob,
  ` + "`spec.rayClusterConfig`" + ` of a RayService, ` + "`spec.jobTemplate.rayClusterSpec`" + ` of a RayCronJob. The field is then the path below that.
* **Severity** An error refuses the object; an update is refused only for errors that it brings in. A warning never refuses.
* **Layers** package: the programs above. schema, CEL: can be said in the CRD as well.
* **Stop** The operator does not act on an object that breaks the rule, even if the object ran before.

`

// Markdown is the content of docs/validation.md.
func Markdown() []byte {
	var b bytes.Buffer
	b.WriteString(intro)
	b.WriteString("| Rule | Kind | Field | Broken when | Severity | Layers | Stop |\n|---|---|---|---|---|---|---|\n")
	for _, r := range validation.Rules() {
		layers := make([]string, len(r.Layers))
		for i, l := range r.Layers {
			layers[i] = string(l)
		}
		stop := ""
		if r.Stop {
			stop = "yes"
		}
		fmt.Fprintf(&b, "| %s | %s | `%s` | %s | %s | %s | %s |\n", r.ID, r.Kind, cell(r.Field), cell(r.Condition), r.Severity, strings.Join(layers, ", "), stop)
	}
	return b.Bytes()
}

// cell keeps text from ending its table cell.
func cell(text string) string { return strings.ReplaceAll(text, "|", `\|`) }
