// Package axe checks the accessibility of a page with axe-core. The files are those of the npm package as downloaded by hack/fetch-axe.sh.
// axe-core is licensed under the MPL 2.0 (LICENSE), and parts of it by others (LICENSE-3RD-PARTY.txt). It is used by tests only.
package axe

import (
	_ "embed"
	"fmt"
	"strings"

	"github.com/raygate/raygate/test/console/internal/browser"
)

//go:embed axe.min.js
var source string

// run checks the rules of WCAG 2.2 A and AA, and the best practices.
const run = `axe.run(document, {runOnly: {type: 'tag', values: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice']}, resultTypes: ['violations']})
	.then((r) => r.violations.map((v) => ({id: v.id, impact: v.impact, help: v.help, nodes: v.nodes.map((n) => ({target: n.target.join(' '), why: n.failureSummary}))})))`

// Finding is a rule that a page breaks.
type Finding struct {
	ID, Impact, Help string
	Nodes            []struct{ Target, Why string }
}

// Grave reports whether the finding is serious or critical.
func (f Finding) Grave() bool { return f.Impact == "serious" || f.Impact == "critical" }

func (f Finding) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s (%s): %s", f.ID, f.Impact, f.Help)
	for _, n := range f.Nodes[:min(len(f.Nodes), 5)] {
		fmt.Fprintf(&b, "\n\t%s: %s", n.Target, strings.Join(strings.Fields(n.Why), " "))
	}
	if more := len(f.Nodes) - 5; more > 0 {
		fmt.Fprintf(&b, "\n\tand %d more", more)
	}
	return b.String()
}

// Check returns its findings on the current page.
func Check(p *browser.Page) ([]Finding, error) {
	var there bool
	if err := p.Run(`typeof axe === 'object'`, &there); err != nil {
		return nil, err
	}
	if !there {
		if err := p.Run(source+"; undefined", nil); err != nil {
			return nil, fmt.Errorf("loading axe-core: %w", err)
		}
	}
	var findings []Finding
	if err := p.Run(run, &findings); err != nil {
		return nil, fmt.Errorf("running axe-core: %w", err)
	}
	return findings, nil
}
