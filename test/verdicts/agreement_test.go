package verdicts

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/raygate/raygate/hack/celrules"
)

// notChecked is the API server's note that it did not ask CEL because the schema refused already.
const notChecked = "some validation rules were not checked"

// compare holds what the API server says for its CRDs to the Go rules and returns where they differ.
//
// Each refusal by the API server must be one of Go too, in the first list: the same rule, the same words, and the same field or, where the
// field is inside a list that CEL sees from outside, the nearest field around. Each refusal by Go in the second list for a rule that the CRDs
// have must be one of the API server too.
func compare(plural string, said []problem, allowed, required field.ErrorList) []string {
	c := comparison{plural: plural, errs: asStored(allowed)}
	skipped := false
	for _, p := range said {
		if strings.Contains(p.Text, notChecked) {
			skipped = true
			continue
		}
		c.explain(p)
	}
	for _, err := range asStored(required) {
		if !c.found(err, said) && !skipped {
			c.add("%s refuses in Go alone: %v", err.Origin, err)
		}
	}
	return c.differences
}

// ofStatus are rules on the status, which the API server takes from no one who creates or updates an object.
var ofStatus = map[string]bool{"RC-120": true, "RJ-060": true}

// asStored are the errors about an object that has a name and no status.
func asStored(errs field.ErrorList) field.ErrorList {
	var out field.ErrorList
	for _, e := range errs {
		if ofStatus[e.Origin] {
			continue
		}
		if e.Field == "metadata.generateName" { // the API server has made the name by then
			named := *e
			named.Field = "metadata.name"
			e = &named
		}
		out = append(out, e)
	}
	return out
}

type comparison struct {
	plural      string
	errs        field.ErrorList
	differences []string
}

func (c *comparison) add(format string, args ...any) {
	c.differences = append(c.differences, fmt.Sprintf(format, args...))
}

// explain looks for the Go error behind a problem.
func (c *comparison) explain(p problem) {
	if p.Rule == "" {
		c.explainBySchema(p)
		return
	}
	var words []string
	for _, err := range c.errs {
		for _, r := range celrules.RulesOf(c.plural) {
			if err.Origin != p.Rule || r.Item.ID != p.Rule {
				continue
			}
			if at, ok := blamed(r, err.Field); !ok || at != p.Field {
				continue
			}
			if r.Item.OwnWords || strings.HasSuffix(p.Text, ": "+err.Detail) {
				return
			}
			words = append(words, err.Detail)
		}
	}
	if len(words) > 0 {
		c.add("%s at %s: the API server says %q, Go %q", p.Rule, p.Field, p.Text, words)
		return
	}
	c.add("%s refuses in the API server alone, at %s: %s; Go: %v", p.Rule, p.Field, p.Text, c.errs)
}

// explainBySchema accepts a keyword of the schema if Go reports anything at its field that a schema can know.
func (c *comparison) explainBySchema(p problem) {
	for _, err := range c.errs {
		if around(p.Field, err.Field) {
			return
		}
	}
	c.add("the schema refuses alone, at %s: %s", p.Field, p.Text)
}

// found reports whether the API server refuses for the error too, or does not know its rule.
func (c *comparison) found(err *field.Error, said []problem) bool {
	known := false
	for _, r := range celrules.RulesOf(c.plural) {
		if r.Item.ID != err.Origin {
			continue
		}
		at, ok := blamed(r, err.Field)
		if !ok {
			continue
		}
		known = known || !r.Item.Partly
		if slices.ContainsFunc(said, func(p problem) bool {
			return p.Field == at && p.Rule == err.Origin
		}) {
			return true
		}
	}
	schema := celrules.Native(err.Origin) || slices.ContainsFunc(celrules.BoundsOf(c.plural), func(b celrules.Placed[celrules.Bound]) bool {
		return b.Item.ID == err.Origin && strings.HasPrefix(anyItem.ReplaceAllString(err.Field, "[]"), strings.ReplaceAll(b.Node, "{}", "[]"))
	})
	if schema && slices.ContainsFunc(said, func(p problem) bool { return around(p.Field, err.Field) }) {
		return true
	}
	return !known && !schema
}

// around reports whether one of the fields is the other or holds it. A schema writes labels.k for labels[k], and reports
// repeated items of a list once.
func around(a, b string) bool {
	simple := strings.NewReplacer("[", ".", "]", "")
	a, b = simple.Replace(a), simple.Replace(b)
	return a == b || strings.HasPrefix(a, b+".") || strings.HasPrefix(b, a+".") || (repeated(a) != "" && repeated(a) == repeated(b))
}

// repeated is the list to which the field belongs if it is the key of an item, or an item.
func repeated(path string) string {
	if m := listItem.FindStringSubmatch(path); m != nil {
		return m[1]
	}
	return ""
}

var listItem = regexp.MustCompile(`^(.*)\.[0-9]+(\.(name|groupName|mountPath))?$`)

// anyItem is an index or a key in a path.
var anyItem = regexp.MustCompile(`\[[^\]]*\]`)

var index = regexp.MustCompile(`^\[[^\]]*\]`)

// blamed returns the field that the API server blames for a Go error at a path, given that the rule reports it. It fails
// if the rule cannot report errors at that path.
func blamed(r celrules.Placed[celrules.Rule], path string) (string, bool) {
	rest, at := path, ""
	for step := range strings.SplitSeq(r.Node, ".") {
		if r.Node == "" {
			break
		}
		name, inside := step, 0
		for strings.HasSuffix(name, "[]") || strings.HasSuffix(name, "{}") {
			name, inside = name[:len(name)-2], inside+1
		}
		next, ok := strings.CutPrefix(strings.TrimPrefix(rest, "."), name)
		if !ok {
			return "", false
		}
		taken := name
		for range inside {
			i := index.FindString(next)
			if i == "" {
				return "", false
			}
			taken, next = taken+i, next[len(i):]
		}
		if at != "" {
			at += "."
		}
		at, rest = at+taken, next
	}
	blame := at + strings.NewReplacer("['", "[", "']", "]").Replace(r.Item.Field)
	blame = strings.TrimPrefix(blame, ".")
	tail, ok := strings.CutPrefix(path, blame)
	// What CEL could have named it has to name.
	if !ok || (tail != "" && tail[0] != '[') {
		return "", false
	}
	return blame, true
}
