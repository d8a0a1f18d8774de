package codec

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

	"github.com/raygate/raygate/pkg/kubedoc/mistake"
)

// parseYAML reads one YAML document into the tree JSON would give, by the rules of kubectl: YAML 1.1 booleans (yes, on) are
// booleans, times and dates are strings, numbers may be keys, `<<` merges. Aliases are followed as far as MaxValues
// and maxText allow.
func parseYAML(data []byte, p *problems) (root node) {
	defer func() {
		// The library reports what it finds by panic inside and is not quite proof against what fuzzers find.
		if r := recover(); r != nil {
			p.add(nil, mistake.Syntax, fmt.Sprintf("not YAML: %v", r))
			root = node{}
		}
	}()
	if !utf8.Valid(data) {
		p.add(nil, mistake.InvalidUTF8, "text that is not UTF-8")
		return node{}
	}
	if indicators(data) > MaxValues {
		p.add(nil, mistake.TooLarge, fmt.Sprintf("the document has more than %d values", MaxValues))
		return node{}
	}
	dec := yaml.NewDecoder(bytes.NewReader(data))
	var doc yaml.Node
	switch err := dec.Decode(&doc); {
	case errors.Is(err, io.EOF):
		p.add(nil, mistake.Syntax, "the document is empty")
		return node{}
	case err != nil:
		p.add(nil, mistake.Syntax, "not YAML: "+strings.TrimPrefix(err.Error(), "yaml: "))
		return node{}
	}
	if err := dec.Decode(&yaml.Node{}); err == nil {
		p.add(nil, mistake.Syntax, "there is more than one YAML document; send them one by one")
		return node{}
	} else if !errors.Is(err, io.EOF) {
		p.add(nil, mistake.Syntax, "not YAML: "+strings.TrimPrefix(err.Error(), "yaml: "))
		return node{}
	}
	y := &yamlReader{problems: p}
	root, ok := y.value(&doc, nil, 0)
	if !ok {
		return node{}
	}
	return root
}

// indicators counts the characters by which values may begin. The parser, which takes 200 bytes for each value, makes at most two for one of them.
func indicators(data []byte) int {
	count := 0
	for i, c := range data {
		switch c {
		case ',', '[', '{':
			count++
		case '-', '?', ':':
			// Else it is part of a text, but for a colon behind quotes, as in JSON.
			if i+1 == len(data) || strings.IndexByte(" \t\r\n", data[i+1]) >= 0 || c == ':' && i > 0 && (data[i-1] == '"' || data[i-1] == '\'') {
				count++
			}
		}
	}
	return count
}

type yamlReader struct {
	problems *problems
	values   int
	text     int // bytes
}

// value returns false when there is no use in reading on.
func (y *yamlReader) value(n *yaml.Node, at *path, depth int) (node, bool) {
	if depth > MaxDepth { // also how an alias to what contains it ends
		y.problems.add(at, mistake.TooDeep, fmt.Sprintf("line %d: nested deeper than %d levels", n.Line, MaxDepth))
		return node{}, false
	}
	y.values++
	y.text += len(n.Value)
	if y.values > MaxValues || y.text > maxText {
		y.problems.add(at, mistake.TooLarge, fmt.Sprintf("line %d: aliases make the document larger than %d values or %d MiB", n.Line, MaxValues, maxText>>20))
		return node{}, false
	}
	switch n.Kind {
	case yaml.DocumentNode:
		return y.value(n.Content[0], at, depth)
	case yaml.AliasNode:
		return y.value(n.Alias, at, depth+1)
	case yaml.SequenceNode:
		out := node{kind: kindList}
		for i, item := range n.Content {
			here := at.item(i)
			value, ok := y.value(item, &here, depth+1)
			if !ok {
				return node{}, false
			}
			out.items = append(out.items, value)
		}
		return out, true
	case yaml.MappingNode:
		return y.mapping(n, at, depth)
	case yaml.ScalarNode:
		return y.scalar(n, at), true
	default:
		return node{kind: kindNull}, true
	}
}

func (y *yamlReader) mapping(n *yaml.Node, at *path, depth int) (node, bool) {
	var b objectBuilder
	var merges []*yaml.Node
	for i := 0; i+1 < len(n.Content); i += 2 {
		keyNode, valueNode := n.Content[i], n.Content[i+1]
		if isMerge(keyNode) {
			merges = append(merges, valueNode)
			continue
		}
		key, ok := y.key(keyNode, at)
		if !ok {
			continue
		}
		child := at.member(key)
		value, ok := y.value(valueNode, &child, depth+1)
		if !ok {
			return node{}, false
		}
		if b.has(key) {
			y.problems.add(&child, mistake.DuplicateKey, fmt.Sprintf("line %d: %s", keyNode.Line, mistake.Twice))
			continue
		}
		b.add(key, value)
	}
	for _, merge := range merges {
		if !y.merge(merge, &b, at, depth) {
			return node{}, false
		}
	}
	return node{kind: kindObject, members: b.members}, true
}

// merge adds the members of what `<<` names, one mapping or a list of them, that are not there yet.
func (y *yamlReader) merge(n *yaml.Node, b *objectBuilder, at *path, depth int) bool {
	value, ok := y.value(n, at, depth+1)
	if !ok {
		return false
	}
	sources := []node{value}
	if value.kind == kindList {
		sources = value.items
	}
	for _, source := range sources {
		if source.kind != kindObject {
			y.problems.add(at, mistake.Syntax, fmt.Sprintf("line %d: << can merge objects only, got %s", n.Line, source.describe()))
			continue
		}
		for _, m := range source.members {
			if !b.has(m.key) {
				b.add(m.key, m.value)
			}
		}
	}
	return true
}

func isMerge(n *yaml.Node) bool {
	return n.Kind == yaml.ScalarNode && n.Value == "<<" && (n.Tag == "" || n.Tag == "!" || n.ShortTag() == "!!merge")
}

func (y *yamlReader) key(n *yaml.Node, at *path) (string, bool) {
	for n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	if n.Kind == yaml.ScalarNode {
		switch value := y.scalar(n, at); value.kind {
		case kindString, kindNumber:
			return value.text, true
		}
	}
	y.problems.add(at, mistake.WrongType, fmt.Sprintf("line %d: a key must be a string; put it in quotes", n.Line))
	return "", false
}

const quoted = yaml.DoubleQuotedStyle | yaml.SingleQuotedStyle | yaml.LiteralStyle | yaml.FoldedStyle

func (y *yamlReader) scalar(n *yaml.Node, at *path) node {
	text := node{kind: kindString, text: n.Value}
	if n.Style&yaml.TaggedStyle == 0 {
		if n.Style&quoted != 0 {
			return text
		}
		if truth, ok := oldBooleans[n.Value]; ok {
			return node{kind: kindBool, truth: truth}
		}
	}
	switch n.ShortTag() {
	case "!!str", "!!timestamp", "!!merge":
		return text
	case "!!null":
		return node{kind: kindNull}
	case "!!bool":
		var truth bool
		if n.Decode(&truth) == nil {
			return node{kind: kindBool, truth: truth}
		}
	case "!!int", "!!float":
		if number, ok := yamlNumber(n); ok {
			return number
		}
		y.problems.add(at, mistake.OutOfRange, fmt.Sprintf("line %d: %s is no number that JSON has", n.Line, strconv.Quote(n.Value)))
		return text
	}
	y.problems.add(at, mistake.Syntax, fmt.Sprintf("line %d: a value with the tag %s cannot be read", n.Line, n.Tag))
	return text
}

// yamlNumber keeps the digits where they are those of JSON, so that nothing is rounded, and computes the rest (hexadecimal,
// octal, underscores).
func yamlNumber(n *yaml.Node) (node, bool) {
	digits := &problems{}
	if j := parseJSON([]byte(n.Value), digits); j.kind == kindNumber {
		return j, true
	}
	var i int64
	if n.Decode(&i) == nil && n.ShortTag() == "!!int" {
		return node{kind: kindNumber, text: strconv.FormatInt(i, 10)}, true
	}
	var u uint64
	if n.Decode(&u) == nil && n.ShortTag() == "!!int" {
		return node{kind: kindNumber, text: strconv.FormatUint(u, 10)}, true
	}
	var f float64
	if n.Decode(&f) != nil || math.IsNaN(f) || math.IsInf(f, 0) {
		return node{}, false
	}
	return node{kind: kindNumber, text: strconv.FormatFloat(f, 'g', -1, 64)}, true
}

// oldBooleans are booleans to YAML 1.1, which kubectl reads, and not to 1.2.
var oldBooleans = map[string]bool{
	"y": true, "Y": true, "yes": true, "Yes": true, "YES": true, "on": true, "On": true, "ON": true,
	"n": false, "N": false, "no": false, "No": false, "NO": false, "off": false, "Off": false, "OFF": false,
}
