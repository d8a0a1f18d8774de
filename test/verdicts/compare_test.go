package verdicts

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/raygate/raygate/hack/celrules"
	"github.com/raygate/raygate/pkg/validation"
	"github.com/raygate/raygate/pkg/validation/rule"
)

// outcome is what one entry point answered with one example: a cell of the table, and how it disagrees with the Go rules.
type outcome struct {
	cell string
	diff string
}

// Cells. A cell that begins with notApplicable says why.
const (
	refuses       = "refuses"
	refusesAround = "refuses°" // names the field around
	warns         = "warns"
	acts          = "acts"
	crdFirst      = "CRD"
	serverFirst   = "API server"
	cannotSee     = "–"
	notApplicable = "n/a: "
	disagrees     = "DISAGREES"
)

func disagreement(format string, args ...any) outcome {
	return outcome{cell: disagrees, diff: fmt.Sprintf(format, args...)}
}

// gateway and command line know gates and nothing else; operators know that they have no batch scheduler.
func (c *testCase) clientOptions() validation.Options { return c.setting.clientOptions() }

func (c *testCase) operatorOptions() validation.Options { return c.setting.operatorOptions() }

func (c *testCase) controllerOptions() validation.Options { return c.setting.controllerOptions() }

func (s *setting) clientOptions() validation.Options { return validation.Options{Gates: s.gates} }

func (s *setting) operatorOptions() validation.Options {
	return validation.Options{Gates: s.gates, BatchScheduler: new(""), FromOperator: true, NoInitContainers: s.noInitContainers}
}

// controllerOptions add what the controller has seen: there is no cert-manager here, where it asks for that.
func (s *setting) controllerOptions() validation.Options {
	o := s.operatorOptions()
	o.CertManagerMissing = s.gates[validation.GateMTLS]
	return o
}

// compareExact holds an entry point that asks the Go rules to every word of them.
func compareExact(c *testCase, o validation.Options, got answer) outcome {
	want := c.verdict(o)
	if !c.reported(want) {
		return outcome{cell: notApplicable + skipOptions}
	}
	if got.failure != "" {
		return disagreement("no verdict: %s", got.failure)
	}
	wantErrors, compare := problems(want.Errors), []cmp.Option{cmpopts.EquateEmpty()}
	if c.object.GetName() == "" { // the API server has made the name by then
		for i := range wantErrors {
			wantErrors[i].Field = strings.Replace(wantErrors[i].Field, "generateName", "name", 1)
		}
		for i := range got.errors {
			got.errors[i].Field = strings.Replace(got.errors[i].Field, "generateName", "name", 1)
		}
		compare = append(compare, cmpopts.IgnoreFields(problem{}, "Text"))
	}
	if diff := cmp.Diff(wantErrors, got.errors, compare...); diff != "" {
		return disagreement("errors (-Go +entry point):\n%s", diff)
	}
	if len(want.Errors) > 0 {
		return outcome{cell: refuses}
	}
	byPlace := []cmp.Option{cmpopts.EquateEmpty(), cmp.FilterPath(func(p cmp.Path) bool { return p.Last().String() == ".Text" }, cmp.Comparer(sameWords)),
		cmpopts.SortSlices(func(a, b problem) bool { return a.Rule+a.Field+plainWords(a.Text) < b.Rule+b.Field+plainWords(b.Text) })}
	if diff := cmp.Diff(problems(want.Warnings), got.warnings, byPlace...); diff != "" {
		return disagreement("warnings (-Go +entry point):\n%s", diff)
	}
	return outcome{cell: warns}
}

// sameWords compares texts of warnings, which travel in headers and are cut and cleaned on the way.
func sameWords(a, b string) bool {
	a, b = plainWords(a), plainWords(b)
	if cut, ok := strings.CutSuffix(a, "..."); ok && strings.HasPrefix(b, cut) {
		return true
	}
	cut, ok := strings.CutSuffix(b, "...")
	return a == b || ok && strings.HasPrefix(a, cut)
}

var marks = regexp.MustCompile(`[^a-zA-Z.,;: ]+`)

// plainWords leaves out what headers cannot hold, or hold in another form, and numbers: the size of an object is another with what the
// API server adds.
func plainWords(text string) string {
	return strings.Join(strings.Fields(marks.ReplaceAllString(text, " ")), " ")
}

// compareController holds a controller to what the Go rules say of the object, and to what validation.Refused says to do about it.
func compareController(c *testCase) outcome {
	switch {
	case !hasController(c.Kind, c.setting):
		return outcome{cell: notApplicable + "no controller of this kind, or its feature gate is off"}
	case c.Update:
		return outcome{cell: notApplicable + "sees one object, not a change"}
	case c.ofAnother():
		return outcome{cell: notApplicable + "leaves alone what another controller manages"}
	case c.Severity == rule.SeverityWarning:
		return outcome{cell: notApplicable + "counts warnings in its metrics and reports them nowhere else"}
	case c.namespace == "":
		return outcome{cell: notApplicable + "the API server stores no object of this name, whatever the CRD says"}
	}
	want := c.verdict(c.controllerOptions()).Errors
	cell := refuses
	if c.Kind != "RayCluster" { // its condition names what it tolerates too
		if want = validation.Refused(c.verdict(c.operatorOptions()).Errors, false); len(want) == 0 {
			cell = acts
		}
	}
	if diff := cmp.Diff(validation.Summary(want), c.condition); diff != "" {
		return disagreement("condition (-Go +controller):\n%s", diff)
	}
	return outcome{cell: cell}
}

// compareCRD holds the API server with the CRDs to the rules that are in them, which it says at their field or around it.
func compareCRD(c *testCase, got answer) outcome {
	if got.failure != "" || (got.by != "" && got.by != byCRD) {
		return disagreement("no verdict of the CRD: %+v", got)
	}
	if len(got.warnings) > 0 {
		return disagreement("the CRD cannot warn, and yet there is: %v", got.warnings)
	}
	if otherWords[c.String()] != "" && got.by == byCRD {
		return outcome{cell: refusesAround}
	}
	said := c.verdict(c.clientOptions()).Errors
	if notes := compare(pluralOf(c.Kind), got.errors, c.everSaid(), said); len(notes) > 0 {
		return disagreement("%s\nall it says: %+v", strings.Join(notes, "\n"), got.errors)
	}
	cell := cannotSee
	for _, e := range said {
		if place, found := placeOf(e, got.errors); e.Origin == c.ID && found && cell != refuses {
			cell = place
		}
	}
	if cell == cannotSee && got.by != "" {
		cell = crdFirst + " for " + strings.Join(c.Also, ", ")
		if len(c.Also) == 0 {
			cell = refusesAround
		}
	}
	return outcome{cell: cell}
}

// everSaid is what Go says, whatever the gates: the CRD does not know them.
func (c *testCase) everSaid() field.ErrorList {
	all := c.verdict(c.clientOptions()).Errors
	gates := map[validation.Gate]bool{}
	for _, s := range settings {
		for gate := range s.gates {
			gates[gate] = true
		}
	}
	return append(all, c.verdict(validation.Options{Gates: gates}).Errors...)
}

// seenByPolicy reports whether the bundle has the rule of the example where it is broken.
func seenByPolicy(c *testCase) bool {
	return slices.ContainsFunc(celrules.PoliciesOf(pluralOf(c.Kind), c.Severity == rule.SeverityWarning), func(r celrules.PolicyRule) bool {
		at := withoutIndices(samePath(problemIn(r.Message(pluralOf(c.Kind))).Field))
		return r.ID == c.ID && slices.ContainsFunc(c.WantFields, func(f string) bool {
			f = withoutIndices(samePath(f))
			return f == at || strings.HasPrefix(f, at+".")
		})
	})
}

func pluralOf(kind string) string { return strings.ToLower(kind) + "s" }

var indices = regexp.MustCompile(`\.[0-9]+(\.|$)`)

// withoutIndices is how a policy names a field in a list.
func withoutIndices(path string) string {
	return strings.TrimSuffix(indices.ReplaceAllString(path, "."), ".")
}

// placeOf searches the problems of the CRD for an error of Go, and returns how close its place is.
func placeOf(e *field.Error, said []problem) (cell string, found bool) {
	for _, p := range said {
		if !explains(e, p) {
			continue
		}
		if samePath(p.Field) == samePath(e.Field) {
			return refuses, true
		}
		cell, found = refusesAround, true
	}
	return cell, found
}

// explains reports whether a problem of the CRD is that error of Go. A problem from a keyword of the schema has no id, and may be within
// the field.
func explains(e *field.Error, p problem) bool {
	at, want := samePath(p.Field), samePath(e.Field)
	if p.Rule != "" {
		bare := withoutIndices(want)
		return p.Rule == e.Origin && (at == "" || strings.HasPrefix(want+".", at+".") || strings.HasPrefix(bare+".", withoutIndices(at)+"."))
	}
	return at == want || at == "" || strings.HasPrefix(want, at+".") || strings.HasPrefix(at, want+".") ||
		(listOf(at) != "" && listOf(at) == listOf(want)) // which of two equal items is the second is a matter of taste
}

// samePath writes labels[k] as labels.k, as schemas do. The name is made by the API server of what generateName says.
func samePath(path string) string {
	path = strings.NewReplacer("[", ".", "]", "", "generateName", "name").Replace(path)
	return strings.TrimPrefix(strings.TrimPrefix(path, "<nil>"), "object")
}

// listOf is the list of which the path is an item, or the key of an item.
func listOf(path string) string {
	steps := strings.Split(path, ".")
	for i := len(steps) - 1; i > 0 && i >= len(steps)-2; i-- {
		if strings.Trim(steps[i], "0123456789") == "" {
			return strings.Join(steps[:i], ".")
		}
	}
	return ""
}

// compareAlone holds the webhooks to every word, while the CRDs have no rules. About names the API server has rules of its own.
func compareAlone(c *testCase) outcome {
	if c.alone.by != byCRD {
		return compareExact(c, c.operatorOptions(), c.alone)
	}
	for _, p := range c.alone.errors {
		if p.Field != "metadata.name" || !slices.ContainsFunc(c.everSaid(), func(e *field.Error) bool { return explains(e, p) }) {
			return disagreement("the API server refuses alone: %+v", p)
		}
	}
	return outcome{cell: serverFirst}
}

// compareWebhooks holds the API server with CRDs and webhooks to the CRDs first, and to every word of Go for the rest.
func compareWebhooks(c *testCase, crd, got answer) outcome {
	if crd.by == "" {
		return compareExact(c, c.operatorOptions(), got)
	}
	if diff := cmp.Diff(crd, got, cmp.AllowUnexported(answer{})); diff != "" {
		return disagreement("webhooks change what the CRDs say (-CRD +webhooks):\n%s", diff)
	}
	return outcome{cell: crdFirst}
}

// comparePolicies holds the API server with CRDs and policies to the rules that are in the bundle. It says but one of them.
func comparePolicies(c *testCase, crd, got answer) outcome {
	if got.failure != "" {
		return disagreement("no verdict: %s", got.failure)
	}
	if crd.by != "" {
		if diff := cmp.Diff(crd.errors, got.errors); diff != "" {
			return disagreement("policies change what the CRDs say (-CRD +policies):\n%s", diff)
		}
		return outcome{cell: crdFirst}
	}
	want, inBundle := c.verdict(c.clientOptions()), seenByPolicy(c)
	for _, p := range got.errors {
		if !slices.ContainsFunc(c.everSaid(), func(e *field.Error) bool { return p.Rule != "" && explains(e, p) }) {
			return disagreement("the policy refuses alone: %+v", p)
		}
	}
	for _, p := range got.warnings {
		if !slices.ContainsFunc(want.Warnings, func(e *field.Error) bool { return p.Rule != "" && explains(e, p) }) {
			return disagreement("the policy warns alone: %+v", p)
		}
	}
	said := got.errors
	if c.Severity == rule.SeverityWarning {
		said = got.warnings
	}
	mine := slices.IndexFunc(said, func(p problem) bool { return p.Rule == c.ID })
	switch {
	case mine < 0 && inBundle && got.by == "":
		return disagreement("%s is said to be in the bundle, which says only %+v", c.ID, said)
	case mine < 0 && got.by != "":
		return outcome{cell: "refuses for " + got.errors[0].Rule}
	case mine < 0:
		return outcome{cell: cannotSee}
	case c.Severity == rule.SeverityWarning:
		return outcome{cell: warns}
	case slices.Contains(c.WantFields, said[mine].Field):
		return outcome{cell: refuses}
	}
	return outcome{cell: refusesAround}
}

// otherWords are examples for which the CRD has other words than Go, and why.
var otherWords = map[string]string{
	"RayCronJob/CJ-002/empty": "one error for all that an empty template lacks; the API server names what it lacks",
}
