package celrules

import (
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/raygate/raygate/pkg/validation/cel"
	"github.com/raygate/raygate/pkg/validation/rule"
)

// UpdatesOf returns expressions for a policy on updates. Each is the messages of all broken rules on parts of the object, and empty if the update
// passes. In a CRD, each write of the status would evaluate them as well.
func UpdatesOf(plural string) []string {
	type key struct{ node, part, guard, exempt string }
	var order []key
	problems := map[key][]string{}
	for _, p := range RulesOf(plural) {
		r := p.Item
		if r.Ratchet == rule.CreateOnly || r.onStatus {
			continue
		}
		k := key{p.Node, r.part, r.guard, r.exempt}
		if problems[k] == nil {
			order = append(order, k)
		}
		problems[k] = append(problems[k], r.Passes()+" ? '' : "+strconv.Quote("; "+r.problem(p.Node)))
	}
	out, some := []string{}, ""
	for _, k := range order {
		skip := k.exempt
		if k.guard != "" {
			skip = either("!("+k.guard+")", skip)
			if k.part != "" {
				skip = either(cel.Absent("self", k.part), skip)
			}
		}
		messages := "[" + strings.Join(problems[k], ", ") + "].join('')"
		if k.node != "" { // the CRD asks its rules about a new part
			skip, messages = cel.Below(k.node, skip), cel.Below(k.node, messages)
			skip = either(cel.Absent("self", k.node), cel.Absent("oldSelf", k.node), skip)
		}
		if skip != "" {
			messages = "(" + skip + " ? '' : " + messages + ")"
		}
		messages = oldSelf.ReplaceAllString(self.ReplaceAllString(messages, "object"), "oldObject")
		if some != "" && len(some)+len(messages) > longestExpression {
			out, some = append(out, some), ""
		}
		some = strings.TrimPrefix(some+" + "+messages, " + ")
	}
	return append(out, some)
}

// Passes is true of an update that passes, if the guard of the rule is true.
func (r Rule) Passes() string { return r.good() + " || (" + r.tolerated() + ")" }

// tolerated is true of an update that passes although the new value is wrong.
func (r Rule) tolerated() string {
	var all []string
	if r.below != "" && r.wrong == "" {
		all = append(all, cel.Present("oldSelf", r.below))
	}
	wasWrong := "!(" + cel.InOld(r.Valid) + ")"
	if r.When != "" {
		wasWrong = cel.InOld(r.When) + " && " + wasWrong
	}
	switch {
	case r.wrong != "":
		all = append(all, cel.Present("oldSelf", join(r.below, r.Groups)), r.wrong+" <= "+r.wasWrong)
	case r.Ratchet == rule.ByServer:
		all = append(all, join("self", r.below)+" == "+join("oldSelf", r.below))
	case len(r.Unchanged) > 0:
		for _, f := range r.Unchanged {
			all = append(all, cel.Unchanged(f))
		}
	case r.NoWorse != "":
		all = append(all, wasWrong, r.NoWorse)
	default:
		all = append(all, wasWrong)
	}
	return strings.Join(all, " && ")
}

// longestExpression is in characters. A longer group of rules stays one expression, so that its guard is evaluated once. The API server compiles
// policies before it admits any write, and the time for an expression grows with the square of its length.
const longestExpression = 8000

var self, oldSelf = regexp.MustCompile(`\bself\b`), regexp.MustCompile(`\boldSelf\b`)

// either is true if one of the conditions is. An empty one is none.
func either(conditions ...string) string {
	return strings.Join(slices.DeleteFunc(conditions, func(c string) bool { return c == "" }), " || ")
}
