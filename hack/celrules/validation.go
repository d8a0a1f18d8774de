package celrules

import (
	"regexp"
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
		validations := []Validation{together(k.node, guarded[k])}
		if len(guarded[k]) == 1 {
			validations = guarded[k][0].Validations()
		}
		for _, v := range validations {
			out = append(out, Placed[Validation]{Node: k.node, Item: v})
		}
	}
	return out
}

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
	update.Rule = unless("", r.Passes(), r.exempt)
	return []Validation{v, update}
}

// together renders rules that share a guard. The message contains that of each broken rule, with its field, and is only computed then.
func together(node string, rules []Rule) Validation {
	var now, ids, told, each []string
	for _, r := range rules {
		good := r.good()
		if r.wrong != "" {
			each = append(each, "("+r.each+")")
		}
		now, ids = append(now, "("+good+")"), append(ids, r.ID)
		told = append(told, good+" ? '' : "+strconv.Quote("; "+r.problem(node)))
	}
	fine := all(now)
	if each != nil {
		path := join(rules[0].below, rules[0].Groups)
		fine = "self." + path + ".all(g, " + named("pod", `g\.template\.\?spec`, strings.Join(each, " && ")) + ") || " + cel.Absent("self", path)
	}
	return Validation{
		Message: "breaks one of " + strings.Join(ids, ", "), FieldPath: commonField(rules), Reason: commonReason(rules),
		Rule: onCreate(unless(rules[0].guard, fine, rules[0].exempt)), OptionalOldSelf: new(true),
		MessageExpression: "((" + strings.Join(told, ") + (") + ")).substring(2)",
	}
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

// sized matches operations whose cost grows with the size of their operand. The API server does not estimate the size of an optional old
// value.
var sized = regexp.MustCompile(`\.(all|exists|exists_one|filter|map|matches|find|contains|indexOf|split|lowerAscii)\(|quantity\(|\bin (old)?[sS]elf\b`)
