package celrules

import (
	"regexp"
	"strconv"
	"strings"

	"github.com/raygate/raygate/pkg/validation/cel"
	"github.com/raygate/raygate/pkg/validation/rule"
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

// ValidationsOf returns the expressions in the schemas of a kind, in the order of the ids. Rules of one node with one guard become one
// expression, and so do cheap rules on worker groups. The API server spends more on an expression, and on each field access, than on most
// rules.
func ValidationsOf(plural string) []Placed[Validation] {
	type key struct{ node, guard, exempt string }
	var order []key
	guarded := map[key][]Rule{}
	for i, r := range RulesOf(plural) {
		k := key{r.Node, r.Item.guard, r.Item.exempt}
		switch {
		case r.Item.guard == "" && r.Item.wrong != "" && !sized.MatchString(r.Item.each):
			k.guard = "groups" // in one walk, without conditions that cost too much together
		case k.guard == "":
			k.guard = strconv.Itoa(i)
		}
		if guarded[k] == nil {
			order = append(order, k)
		}
		guarded[k] = append(guarded[k], r.Item)
	}
	var out []Placed[Validation]
	for _, k := range order {
		validations := guarded[k][0].Validations()
		if len(guarded[k]) > 1 {
			validations = together(k.node, guarded[k])
		}
		for _, v := range validations {
			p := Placed[Validation]{Node: k.node, Item: v}
			if k.guard == "groups" || usualGuard.MatchString(k.guard) {
				p = exceptStatusWrites(p, plural)
			}
			out = append(out, p)
		}
	}
	return out
}

// Validations renders a single rule.
func (r Rule) Validations() []Validation {
	v := Validation{Message: r.Says + suffix(r.ID), FieldPath: r.Field, Reason: string(r.Reason)}
	good := unless(r.When, r.good(), r.exempt)
	switch {
	case r.Ratchet == rule.ByServer && r.below == "":
		v.Rule = good
		return []Validation{v}
	case r.Ratchet == rule.CreateOnly:
		v.Rule, v.OptionalOldSelf = onCreate(good), new(true)
		return []Validation{v}
	}
	create, update := v, v
	create.Rule, create.OptionalOldSelf = onCreate(good), new(true)
	if r.wrong != "" {
		update.Rule = unless("", r.noMoreGroups(), r.exempt)
		return []Validation{create, update}
	}
	tolerated := r.tolerated()
	if !sized.MatchString(tolerated) {
		// One for create and update: each costs the API server time at every write, and memory.
		v.Rule, v.OptionalOldSelf = good+" || (oldSelf.hasValue() && "+cel.Optional(tolerated)+")", new(true)
		return []Validation{v}
	}
	update.Rule = good + " || (" + tolerated + ")"
	return []Validation{create, update}
}

// together renders rules that share a guard. The message contains that of each broken rule, with its field, and is only computed then. An
// expression cannot use an old value that may not exist, so create and update have one each.
func together(node string, rules []Rule) []Validation {
	var now, later, ids, told, toldLater, each []string
	for _, r := range rules {
		good := r.good()
		passes := good + " || (" + r.tolerated() + ")"
		if r.wrong != "" {
			passes = r.noMoreGroups()
			each = append(each, "("+r.each+")")
		}
		says := strconv.Quote("; " + join(node, keys.Replace(strings.TrimPrefix(r.Field, "."))) + ": " + r.Says + suffix(r.ID))
		now, later = append(now, "("+good+")"), append(later, "("+passes+")")
		told, toldLater = append(told, good+" ? '' : "+says), append(toldLater, passes+" ? '' : "+says)
		ids = append(ids, r.ID)
	}
	guard := rules[0].guard
	fine, tolerable := all(now), all(later)
	if each != nil {
		path := join(rules[0].below, rules[0].Groups)
		fine = "self." + path + ".all(g, " + named("pod", `g\.template\.\?spec`, strings.Join(each, " && ")) + ") || " + cel.Absent("self", path)
		tolerable = fine + " || (" + strings.Join(later, " && ") + ")"
	}
	v := Validation{Message: "breaks one of " + strings.Join(ids, ", "), FieldPath: commonField(rules), Reason: commonReason(rules)}
	create, update := v, v
	create.Rule, create.OptionalOldSelf = onCreate(unless(guard, fine, rules[0].exempt)), new(true)
	create.MessageExpression = joined(told)
	update.Rule, update.MessageExpression = unless(guard, tolerable, rules[0].exempt), joined(toldLater)
	return []Validation{create, update}
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

// joined is the messages that are not empty.
func joined(messages []string) string {
	return "((" + strings.Join(messages, ") + (") + ")).substring(2)"
}

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

// sized matches operations whose cost grows with the size of their operand. The API server does not estimate the size of an optional old
// value.
var sized = regexp.MustCompile(`\.(all|exists|exists_one|filter|map|matches|find|contains|indexOf|split|lowerAscii)\(|quantity\(|\bin (old)?[sS]elf\b`)

// noMoreGroups is true of an update after which no more groups than before break the rule. The list of one number gives the number a name,
// so that each group is checked only once.
func (r Rule) noMoreGroups() string {
	path := join(r.below, r.Groups)
	return "[" + r.wrong + "].all(n, n == 0 || (!(" + cel.Absent("oldSelf", path) + ") && n <= " + r.wasWrong + ")) || " + cel.Absent("self", path)
}

// tolerated is true of an update that passes although the new value is wrong.
func (r Rule) tolerated() string {
	var all []string
	if r.below != "" {
		all = append(all, cel.Present("oldSelf", r.below))
	}
	wasWrong := "!(" + cel.InOld(r.Valid) + ")"
	if r.When != "" {
		wasWrong = cel.InOld(r.When) + " && " + wasWrong
	}
	switch {
	case r.Ratchet == rule.ByServer:
		all = append(all, "self."+r.below+" == oldSelf."+r.below)
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
