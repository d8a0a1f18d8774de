package manifest

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	yaml "go.yaml.in/yaml/v3"

	"github.com/raygate/raygate/pkg/manifest/problem"
)

// readYAML reads one YAML document into the tree that JSON would give, by the rules of kubectl: YAML 1.1 booleans (yes, on) are booleans, times
// and dates are strings, numbers may be keys, `<<` merges. sigs.k8s.io/yaml, which has these rules, names neither paths nor more than one kind of
// mistake, and copies the text behind an alias each time.
func (r *reader) readYAML() (root any, ok bool) {
	defer func() {
		if e := recover(); e != nil {
			r.wrong(nil, problem.Syntax, fmt.Sprintf("not YAML: %v", e))
			root, ok = nil, false
		}
	}()
	doc := r.documentOf()
	if doc == nil {
		return nil, false
	}
	return r.yamlValue(doc, nil, 0)
}

// documentOf parses the text, which must be one document. It returns nil and reports a mistake if the text cannot be parsed.
func (r *reader) documentOf() (doc *yaml.Node) {
	defer func() {
		// The library reports errors by panics internally, and does not recover from all of them on inputs as fuzzers find them.
		if e := recover(); e != nil {
			r.wrong(nil, problem.Syntax, fmt.Sprintf("not YAML: %v", e))
			doc = nil
		}
	}()
	if !utf8.Valid(r.data) {
		r.wrong(nil, problem.InvalidUTF8, "text that is not UTF-8")
		return nil
	}
	if indicators(r.data) > r.maxValues {
		r.wrong(nil, problem.TooLarge, fmt.Sprintf("the document has more than %d values", r.maxValues))
		return nil
	}
	dec := yaml.NewDecoder(bytes.NewReader(r.data))
	doc = &yaml.Node{}
	err := dec.Decode(doc)
	if errors.Is(err, io.EOF) {
		r.wrong(nil, problem.Syntax, "the document is empty")
		return nil
	}
	if err == nil {
		if err = dec.Decode(&yaml.Node{}); err == nil {
			r.wrong(nil, problem.Syntax, "there is more than one YAML document; send them one by one")
			return nil
		}
	}
	if !errors.Is(err, io.EOF) {
		r.wrong(nil, problem.Syntax, "not YAML: "+strings.TrimPrefix(err.Error(), "yaml: "))
		return nil
	}
	return doc
}

// indicators counts the characters that may begin values. The parser, which needs 200 bytes per value, makes at most two values per
// indicator.
func indicators(data []byte) int {
	count := 0
	for i, c := range data {
		switch c {
		case ',', '[', '{':
			count++
		case '-', '?', ':':
			// Otherwise the character is part of a text, except a colon after quotes, as in JSON.
			if i+1 == len(data) || strings.IndexByte(" \t\r\n", data[i+1]) >= 0 || c == ':' && i > 0 && (data[i-1] == '"' || data[i-1] == '\'') {
				count++
			}
		}
	}
	return count
}

func (r *reader) yamlValue(n *yaml.Node, at *place, depth int) (any, bool) {
	if depth > MaxDepth { // also ends an alias to its own container
		r.wrong(at, problem.TooDeep, fmt.Sprintf("line %d: nested deeper than %d levels", n.Line, MaxDepth))
		return nil, false
	}
	r.values++
	r.text += len(n.Value)
	if r.values > r.maxValues || r.text > r.maxText {
		r.wrong(at, problem.TooLarge, fmt.Sprintf("line %d: aliases make the document larger than %d values or %d MiB", n.Line, r.maxValues, r.maxText>>20))
		return nil, false
	}
	switch n.Kind {
	case yaml.DocumentNode:
		return r.yamlValue(n.Content[0], at, depth)
	case yaml.AliasNode:
		return r.yamlValue(n.Alias, at, depth+1)
	case yaml.SequenceNode:
		list := make([]any, len(n.Content))
		for i, item := range n.Content {
			here := place{up: at, index: i, isItem: true}
			var ok bool
			if list[i], ok = r.yamlValue(item, &here, depth+1); !ok {
				return nil, false
			}
		}
		return list, true
	case yaml.MappingNode:
		return r.yamlMapping(n, at, depth)
	case yaml.ScalarNode:
		return r.yamlScalar(n, at), true
	default:
		return nil, true
	}
}

func (r *reader) yamlMapping(n *yaml.Node, at *place, depth int) (any, bool) {
	object := map[string]any{}
	var merges []*yaml.Node
	for i := 0; i+1 < len(n.Content); i += 2 {
		keyNode, valueNode := n.Content[i], n.Content[i+1]
		if isMerge(keyNode) {
			merges = append(merges, valueNode)
			continue
		}
		key, ok := r.yamlKey(keyNode, at)
		if !ok {
			continue
		}
		here := place{up: at, name: key}
		value, ok := r.yamlValue(valueNode, &here, depth+1)
		if !ok {
			return nil, false
		}
		if _, twice := object[key]; twice {
			r.wrong(&here, problem.DuplicateKey, fmt.Sprintf("line %d: %s", keyNode.Line, problem.Twice))
			continue
		}
		object[key] = value
	}
	for _, merge := range merges {
		if !r.yamlMerge(merge, object, at, depth) {
			return nil, false
		}
	}
	return object, true
}

// yamlMerge adds the missing members from the value of `<<`: one mapping, or a list of mappings.
func (r *reader) yamlMerge(n *yaml.Node, object map[string]any, at *place, depth int) bool {
	value, ok := r.yamlValue(n, at, depth+1)
	if !ok {
		return false
	}
	sources, isList := value.([]any)
	if !isList {
		sources = []any{value}
	}
	for _, source := range sources {
		members, isObject := source.(map[string]any)
		if !isObject {
			r.wrong(at, problem.Syntax, fmt.Sprintf("line %d: << can merge objects only, got %s", n.Line, describe(source)))
		}
		for key, member := range members {
			if _, there := object[key]; !there {
				object[key] = member
			}
		}
	}
	return true
}

func isMerge(n *yaml.Node) bool {
	return n.Kind == yaml.ScalarNode && n.Value == "<<" && (n.Tag == "" || n.Tag == "!" || n.ShortTag() == "!!merge")
}

func (r *reader) yamlKey(n *yaml.Node, at *place) (string, bool) {
	for n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	if n.Kind == yaml.ScalarNode {
		switch value := r.yamlScalar(n, at).(type) {
		case string:
			return value, true
		case int64, float64:
			return formatNumber(value), true
		}
	}
	r.wrong(at, problem.WrongType, fmt.Sprintf("line %d: a key must be a string; put it in quotes", n.Line))
	return "", false
}

const quoted = yaml.DoubleQuotedStyle | yaml.SingleQuotedStyle | yaml.LiteralStyle | yaml.FoldedStyle

func (r *reader) yamlScalar(n *yaml.Node, at *place) any {
	if n.Style&yaml.TaggedStyle == 0 {
		if n.Style&quoted != 0 {
			return n.Value
		}
		if truth, ok := oldBooleans[n.Value]; ok {
			return truth
		}
	}
	switch n.ShortTag() {
	case "!!str", "!!timestamp", "!!merge":
		return n.Value
	case "!!null":
		return nil
	case "!!bool":
		var truth bool
		if n.Decode(&truth) == nil {
			return truth
		}
	case "!!int", "!!float":
		if number, ok := yamlNumber(n); ok {
			return number
		}
		r.wrong(at, problem.OutOfRange, fmt.Sprintf("line %d: %s is no number that JSON has", n.Line, strconv.Quote(problem.Short(n.Value))))
		return n.Value
	}
	r.wrong(at, problem.Syntax, fmt.Sprintf("line %d: a value with the tag %s cannot be read", n.Line, n.Tag))
	return n.Value
}

func yamlNumber(n *yaml.Node) (any, bool) {
	var i int64
	if n.ShortTag() == "!!int" && n.Decode(&i) == nil {
		return i, true
	}
	var f float64
	err := n.Decode(&f)
	return f, err == nil && !math.IsNaN(f) && !math.IsInf(f, 0)
}

// oldBooleans are booleans to YAML 1.1, which kubectl reads, and not to 1.2.
var oldBooleans = map[string]bool{
	"y": true, "Y": true, "yes": true, "Yes": true, "YES": true, "on": true, "On": true, "ON": true,
	"n": false, "N": false, "no": false, "No": false, "NO": false, "off": false, "Off": false, "OFF": false,
}
