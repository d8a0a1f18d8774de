package celrules

import (
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/raygate/raygate/pkg/validation/cel"
)

// Validation is one or more rules in the form of x-kubernetes-validations.
type Validation struct {
	Rule              string `json:"rule"`
	Message           string `json:"message,omitempty"`
	MessageExpression string `json:"messageExpression,omitempty"`
	Reason            string `json:"reason,omitempty"`
	FieldPath         string `json:"fieldPath,omitempty"`
	OptionalOldSelf   *bool  `json:"optionalOldSelf,omitempty"`
}

// ValidationsOf returns the expressions in the schemas of a kind, in the order of their first ids. Rules of one node with one guard become one
// expression, and so do cheap rules on worker groups, and rules on options that few objects have. The API server spends more on an expression, and on
// each field access, than on most rules.
func ValidationsOf(plural string) []Placed[Validation] {
	type place struct{ node, exempt string }
	var expressions []*Placed[[][]Rule]
	options := map[place]*Placed[[][]Rule]{}
	for _, group := range groupsOf(plural) {
		first, at := group.Item[0], place{group.Node, group.Item[0].exempt}
		e := &Placed[[][]Rule]{Node: group.Node}
		if rare := first.guard != "" && !usualGuard.MatchString(first.guard) && !first.onStatus; !rare {
			expressions = append(expressions, e)
		} else if options[at] != nil && length(options[at].Item)+length([][]Rule{group.Item}) <= longestOptions {
			e = options[at]
		} else {
			expressions, options[at] = append(expressions, e), e
		}
		e.Item = append(e.Item, group.Item)
	}
	var out []Placed[Validation]
	for _, e := range expressions {
		for _, v := range validations(e.Node, e.Item) {
			out = append(out, Placed[Validation]{Node: e.Node, Item: v})
		}
	}
	return out
}

// longestOptions is in characters of conditions. The API server estimates what an expression costs, and has a limit.
const longestOptions = 12000

// length is that of all conditions.
func length(groups [][]Rule) int {
	sum := 0
	for _, r := range slices.Concat(groups...) {
		sum += len(r.good())
	}
	return sum
}

// groupsOf returns the rules of a kind in groups that share a guard and an exemption. Cheap rules on worker groups are one, for one walk.
func groupsOf(plural string) []*Placed[[]Rule] {
	type key struct{ node, guard, exempt string }
	var out []*Placed[[]Rule]
	known := map[key]*Placed[[]Rule]{}
	for i, r := range RulesOf(plural) {
		k := key{r.Node, r.Item.guard, r.Item.exempt}
		switch {
		case r.Item.guard == "" && r.Item.wrong != "" && !sized.MatchString(r.Item.each):
			k.guard = "groups"
		case k.guard == "":
			k.guard = strconv.Itoa(i)
		}
		if known[k] == nil {
			known[k] = &Placed[[]Rule]{Node: r.Node}
			out = append(out, known[k])
		}
		known[k].Item = append(known[k].Item, r.Item)
	}
	return out
}

// validations renders groups of rules. Those of one group share a guard.
func validations(node string, groups [][]Rule) []Validation {
	if len(groups) == 1 && len(groups[0]) == 1 {
		return groups[0][0].Validations()
	}
	return []Validation{together(node, groups)}
}

// usualGuard is a guard that lets nearly every object through.
var usualGuard = regexp.MustCompile(`^has\(self[\w.]*\.headGroupSpec\)$`)

// Validations renders a single rule. Rules on the spec are for new objects: see [UpdatesOf] for changed ones. A policy does not see writes of the
// status, so a rule on the status is for both.
func (r Rule) Validations() []Validation {
	v := Validation{Message: r.Says + suffix(r.ID), FieldPath: r.Field, Reason: string(r.Reason)}
	good := unless(r.When, r.good(), r.exempt)
	update := v
	v.Rule, v.OptionalOldSelf = onCreate(good), new(true)
	if !r.onStatus {
		return []Validation{v}
	}
	update.Rule = unless(r.When, r.Passes(), r.exempt)
	return []Validation{v, update}
}

// together renders groups of rules as one expression. Those of one group share a guard. The message contains that of each broken rule, with its field, and is only computed then.
func together(node string, groups [][]Rule) Validation {
	rules := slices.Concat(groups...)
	var conditions, ids, told []string
	part := ""
	for _, group := range groups {
		guard := group[0].guard
		if len(groups) > 1 && group[0].part != "" {
			part = group[0].part
			guard = regexp.MustCompile(`has\(self\.`+part+`\.(\w+)\)`).ReplaceAllString(guard, "part.?$1.hasValue()")
			guard = strings.ReplaceAll(guard, "self."+part+".?", "part.?")
		}
		conditions = append(conditions, unless(guard, fine(group), ""))
	}
	for _, r := range rules {
		ids = append(ids, r.ID)
		told = append(told, unless(r.guard, r.good(), "")+" ? '' : "+strconv.Quote("; "+r.problem(node)))
	}
	good := conditions[0]
	if len(conditions) > 1 {
		good = "(" + strings.Join(conditions, ") && (") + ")"
	}
	if part != "" { // named for the reason of [named]
		good = "[self.?" + part + "].all(part, " + good + ")"
	}
	return Validation{
		Message: "breaks one of " + strings.Join(ids, ", "), FieldPath: commonField(rules), Reason: commonReason(rules),
		Rule: onCreate(unless("", good, rules[0].exempt)), OptionalOldSelf: new(true),
		MessageExpression: "((" + strings.Join(told, ") + (") + ")).substring(2)",
	}
}

// fine is true of a node that breaks none of the rules, which share a guard.
func fine(rules []Rule) string {
	var good, each []string
	for _, r := range rules {
		good = append(good, "("+r.good()+")")
		if r.wrong != "" {
			each = append(each, "("+r.each+")")
		}
	}
	if each == nil {
		return all(good)
	}
	path := join(rules[0].below, rules[0].Groups)
	return "self." + path + ".all(g, " + named("pod", `g\.template\.\?spec`, strings.Join(each, " && ")) + ") || " + cel.Absent("self", path)
}

// problem is the message about a field below a node.
func (r Rule) problem(node string) string {
	return join(node, keys.Replace(strings.TrimPrefix(r.Field, "."))) + ": " + r.Says + suffix(r.ID)
}

// keys writes the keys of maps in paths as the API server answers them.
var keys = strings.NewReplacer("['", "[", "']", "]")

// all is true if all conditions are. Parts of the head that several of them read get a name.
func all(conditions []string) string {
	joined := hasInHead.ReplaceAllStringFunc(strings.Join(conditions, " && "), func(has string) string {
		return fieldStep.ReplaceAllString(strings.TrimSuffix(strings.TrimPrefix(has, "has("), ")"), ".?$1") + ".hasValue()"
	})
	const head, pod = `self(?:\.\??\w+)?\.\??headGroupSpec`, `\.\??template\.\?spec`
	joined = named("ray", head+pod+`\.\?containers\[\?0\]`, joined)
	joined = named("pod", head+pod, joined)
	return named("head", head, joined)
}

// named gives a part a name if the expression reads it more than once, because the API server copies the schemas of all fields on the path.
// It leaves out lists that are iterated, because the API server estimates their size by a path from self.
func named(name, part, expression string) string {
	use := regexp.MustCompile(`\b(` + part + `)\.(\?|hasValue)`)
	found := use.FindAllStringSubmatch(expression, -1)
	if len(found) < 2 {
		return expression
	}
	return "[" + fieldStep.ReplaceAllString(found[0][1], ".?$1") + "].all(" + name + ", " + use.ReplaceAllString(expression, name+".$2") + ")"
}

var (
	hasInHead = regexp.MustCompile(`has\(self[\w.]*\.headGroupSpec\.[\w.]+\)`)
	fieldStep = regexp.MustCompile(`\.(\w)`)
)

// commonField is where the fields that the rules blame part.
func commonField(rules []Rule) string {
	common := rules[0].Field
	for _, r := range rules {
		for common != "" && r.Field != common && !strings.HasPrefix(r.Field, common+".") {
			common = common[:strings.LastIndex(common, ".")]
		}
	}
	return common
}

// commonReason is the reason of the rules if they have one.
func commonReason(rules []Rule) string {
	for _, r := range rules {
		if r.Reason != rules[0].Reason {
			return ""
		}
	}
	return string(rules[0].Reason)
}

func onCreate(good string) string { return "oldSelf.hasValue() || " + good }

// unless is true of objects outside of the guard, of valid ones, and of exempt ones.
func unless(guard, good, exempt string) string {
	if guard != "" {
		good = "!(" + guard + ") || (" + good + ")"
	}
	if exempt != "" {
		good += " || (" + exempt + ")"
	}
	return good
}

// good is true of a node that does not break the rule, within its guard. The condition that is true of nearly every object comes first,
// because the API server then skips the rest. An error on one side of || is no error if the other side is true, so their order changes no
// verdict.
func (r Rule) good() string {
	good := "(" + r.Valid + ")"
	switch {
	case usual.MatchString(r.below):
		return good + " || " + cel.Absent("self", r.below)
	case r.below != "":
		return cel.Absent("self", r.below) + " || " + good
	}
	return good
}

// usual are the parts that nearly every object has. Their rules come before the check that they exist, so that the API server reads them
// once.
var usual = regexp.MustCompile(`(^|\.)(rayCluster(Spec|Config)|headGroupSpec(\.template)?)$`)

// sized matches operations whose cost grows with the size of their operand.
var sized = regexp.MustCompile(`\.(all|exists|exists_one|filter|map|matches|find|contains|indexOf|split|lowerAscii)\(|quantity\(`)
