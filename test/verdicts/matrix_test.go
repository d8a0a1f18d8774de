package verdicts

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/raygate/raygate/pkg/validation"
)

// entryPoints are the columns, in the order of the table.
var entryPoints = []string{"raygate validate", "REST", "gRPC", "controller", "webhooks alone", "CRDs", "CRDs + webhooks", "CRDs + policies"}

// TestVerdicts shows every example to every entry point, and holds verdicts.md to what they said.
func TestVerdicts(t *testing.T) {
	needLab(t)
	byTool := map[*setting]map[*testCase]answer{}
	for _, s := range settings {
		var cases []*testCase
		for _, c := range lab.cases {
			if c.setting == s && !c.Update {
				cases = append(cases, c)
			}
		}
		answers, err := askTool(t.Context(), s, cases)
		if err != nil {
			t.Fatal(err)
		}
		byTool[s] = answers
	}
	outcomes := make([]map[string]outcome, len(lab.cases))
	_ = forEach(len(lab.cases), func(i int) error {
		if c := lab.cases[i]; c.setting != nil {
			outcomes[i] = throughAll(t, c, byTool[c.setting][c])
		}
		return nil
	})
	for i, c := range lab.cases {
		for _, entryPoint := range entryPoints {
			if diff := outcomes[i][entryPoint].diff; diff != "" {
				t.Errorf("%s: %s disagrees with the Go rules:\n%s", c, entryPoint, diff)
			}
		}
	}
	holdTable(t, table(outcomes, unreadable(t)))
}

func throughAll(t *testing.T, c *testCase, tool answer) map[string]outcome {
	ctx := t.Context()
	crd := create(ctx, c, nsCRDs)
	all := map[string]outcome{
		"raygate validate": {cell: notApplicable + "sees one object, not a change"},
		"REST":             compareExact(c, c.clientOptions(), askREST(ctx, c)),
		"gRPC":             compareExact(c, c.clientOptions(), askGRPC(ctx, c)),
		"controller":       compareController(c),
		"webhooks alone":   compareAlone(c),
		"CRDs":             compareCRD(c, crd),
		"CRDs + webhooks":  compareWebhooks(c, crd, create(ctx, c, nsWebhooks(c.setting))),
		"CRDs + policies":  comparePolicies(c, crd, create(ctx, c, nsPolicies)),
	}
	if !c.Update {
		all["raygate validate"] = compareExact(c, c.clientOptions(), tool)
	}
	return all
}

// table prints a row for each rule.
func table(outcomes []map[string]outcome, unreadable []byte) []byte {
	type row struct{ cells map[string][]string }
	rows := map[string]*row{}
	var reasons []string
	cellOf := func(cell string) string {
		reason, ok := strings.CutPrefix(cell, notApplicable)
		if !ok {
			return cell
		}
		n := slices.Index(reasons, reason)
		if n < 0 {
			n, reasons = len(reasons), append(reasons, reason)
		}
		return fmt.Sprintf("(%d)", n+1)
	}
	skipped := map[string][]string{}
	for i, c := range lab.cases {
		if c.setting == nil {
			skipped[c.skip] = append(skipped[c.skip], c.String())
			continue
		}
		r := rows[c.ID]
		if r == nil {
			r = &row{cells: map[string][]string{}}
			rows[c.ID] = r
		}
		for _, entryPoint := range entryPoints {
			cell := cellOf(outcomes[i][entryPoint].cell)
			if !slices.Contains(r.cells[entryPoint], cell) {
				r.cells[entryPoint] = append(r.cells[entryPoint], cell)
			}
		}
	}
	var b bytes.Buffer
	b.WriteString(preamble)
	b.WriteString("| rule | kind | " + strings.Join(entryPoints, " | ") + " |\n|---|---" + strings.Repeat("|---", len(entryPoints)) + "|\n")
	var without []string
	for _, rule := range validation.Rules() {
		r := rows[rule.ID]
		if r == nil {
			without = append(without, rule.ID)
			continue
		}
		fmt.Fprintf(&b, "| %s | %s |", rule.ID, rule.Kind)
		for _, entryPoint := range entryPoints {
			slices.Sort(r.cells[entryPoint])
			b.WriteString(" " + strings.Join(r.cells[entryPoint], ", ") + " |")
		}
		b.WriteByte('\n')
	}
	b.WriteString("\n## Not applicable\n\n")
	for n, reason := range reasons {
		fmt.Fprintf(&b, "%d. %s\n", n+1, reason)
	}
	b.WriteString("\n## Examples that no entry point was shown\n\n")
	for _, reason := range slices.Sorted(maps.Keys(skipped)) {
		fmt.Fprintf(&b, "* %s: %s\n", reason, strings.Join(skipped[reason], "; "))
	}
	fmt.Fprintf(&b, "\n## Rules without a row\n\nAll of their examples are among those above, or they follow here: %s\n", strings.Join(without, ", "))
	b.WriteString("\n## What only decoding and the schema can tell\n\nNo object of the Go types breaks these rules.\n\n")
	b.Write(unreadable)
	return b.Bytes()
}

const preamble = `<!-- Written by go test ./test/verdicts -update. DO NOT EDIT. -->
# One verdict at every entry point

Each invalid example of pkg/validation/examples was shown to each entry point of the built programs on a real API server, and
every answer was held to the Go rules: entry points that ask those rules to every word and field path, the others to rule and
path wherever their layer has the rule ([validation.md](../../docs/validation.md) lists the layers).

* **refuses**: the object is refused for this rule at its field; **refuses°**: at the field around it, which is as far as
  a rule of the API server can point. **warns**: it passes, and the client gets a warning.
* **CRD**: the CRD has refused it before this layer was asked. **CRD for** or **refuses for** names the other rule.
* **acts**: the controller acts on it, since KubeRay's does and the API server may take the children.
* **API server**: it stores no object of such a name, whatever the CRD says.
* **–**: it passes, because the layer does not have the rule. Numbers say why an entry point was not asked; see below.
* Several entries in a cell: the examples of the rule differ.

The controller and "webhooks alone" saw the objects while the CRDs had no constraints.

`

// holdTable compares verdicts.md with the table, or writes it.
func holdTable(t *testing.T, got []byte) {
	t.Helper()
	t.Logf("\n%s", got)
	const path = "verdicts.md"
	if *update {
		if err := os.WriteFile(path, got, 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("verdicts.md is not what the entry points answer; look at the difference, then run go test ./test/verdicts -update (-file +now):\n%s", diff)
	}
}
