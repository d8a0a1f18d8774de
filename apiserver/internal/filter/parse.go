package filter

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"google.golang.org/protobuf/reflect/protoreflect"
)

// Limits of parsing, because filters are untrusted input.
const (
	maxLength = 4 << 10
	maxDepth  = 50
	maxCostly = 30 // comparisons with values in lists or documents, each of which searches them again
)

// SyntaxError is a mistake in a filter, with its position.
type SyntaxError struct {
	// Position counts characters from 1.
	Position int
	Message  string
}

// Error implements error.
func (e *SyntaxError) Error() string { return fmt.Sprintf("position %d: %s", e.Position, e.Message) }

// Filter is a parsed filter. The zero value matches everything.
type Filter struct {
	root  test
	tree  *node
	paths int // how many
}

// aliases are the short names of common filter fields, besides state.
var aliases = map[string][]string{"name": {"metadata", "name"}, "namespace": {"metadata", "namespace"}, "labels": {"metadata", "labels"}}

// Parse parses a filter on objects that a message mirrors. state is the path of the alias state; empty means none. The error is a
// *SyntaxError.
func Parse(text string, message protoreflect.MessageDescriptor, state string) (*Filter, error) {
	if len(text) > maxLength {
		return nil, &SyntaxError{Position: 1, Message: fmt.Sprintf("the filter is longer than %d bytes", maxLength)}
	}
	if !utf8.ValidString(text) {
		return nil, &SyntaxError{Position: 1, Message: "the filter is not valid UTF-8"}
	}
	p := &parser{text: text, message: message, state: state, tree: &node{path: -1}}
	p.advance()
	if p.tok.kind == tokEnd && p.err == nil {
		return &Filter{}, nil
	}
	root := p.sequence(0)
	if p.tok.kind != tokEnd {
		p.fail("unexpected %s", p.tok)
	}
	if p.err != nil {
		return nil, p.err
	}
	return &Filter{root: root, tree: p.tree, paths: p.paths}, nil
}

type tokenKind int

const (
	tokEnd tokenKind = iota
	tokBracket
	tokOperator
	tokString
	tokWord
)

// The forms of tokens, in the order of their kinds, and of the parts of a path.
const quotedForm = `"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'`

var (
	tokenForm  = regexp.MustCompile(`(?s)^(?:([()])|(!=|<=|>=|[=:<>])|(` + quotedForm + `)|([^ \t\r\n()=:<>!"']+))`)
	memberForm = regexp.MustCompile(`(?s)^(?:` + quotedForm + `|[^ \t\r\n()=:<>!"'.]+)`)
	escape     = regexp.MustCompile(`(?s)\\(.)`)
)

// unquote returns the content of a quoted string, and any other text unchanged.
func unquote(text string) string {
	if text[0] != '"' && text[0] != '\'' {
		return text
	}
	return escape.ReplaceAllString(text[1:len(text)-1], "$1")
}

type token struct {
	kind tokenKind
	text string
	at   int // byte offset
}

// String names the token in an error.
func (t token) String() string {
	if t.kind == tokEnd {
		return "end of the filter"
	}
	return strconv.Quote(t.text)
}

// parser keeps the first error. After it the current token is the end, so that all loops finish.
type parser struct {
	err     error
	tree    *node
	paths   int
	costly  int
	text    string
	pos     int
	tok     token
	message protoreflect.MessageDescriptor
	state   string
}

func (p *parser) fail(format string, args ...any) { p.failAt(p.tok.at, format, args...) }

func (p *parser) failAt(at int, format string, args ...any) {
	if p.err == nil {
		p.err = &SyntaxError{Position: utf8.RuneCountInString(p.text[:at]) + 1, Message: fmt.Sprintf(format, args...)}
	}
	p.tok, p.pos = token{at: len(p.text)}, len(p.text)
}

// advance reads the next token.
func (p *parser) advance() {
	rest := strings.TrimLeft(p.text[p.pos:], " \t\r\n")
	p.tok = token{at: len(p.text) - len(rest)}
	forms := tokenForm.FindStringSubmatch(rest)
	switch {
	case rest == "":
	case forms == nil && rest[0] == '!':
		p.fail("write != or NOT instead of !")
	case forms == nil:
		p.fail("the string has no closing quote")
	default:
		for kind, text := range forms[1:] {
			if text != "" {
				p.tok.kind, p.tok.text = tokBracket+tokenKind(kind), unquote(text)
			}
		}
		p.pos = p.tok.at + len(forms[0])
	}
}

func (p *parser) is(kind tokenKind, text string) bool {
	return p.tok.kind == kind && p.tok.text == text
}

func (p *parser) keyword(word string) bool { return p.is(tokWord, word) }

// accept advances past a token if it is the current one.
func (p *parser) accept(kind tokenKind, text string) bool {
	if !p.is(kind, text) {
		return false
	}
	p.advance()
	return true
}

// sequence reads terms joined by AND, or by nothing.
func (p *parser) sequence(depth int) test {
	if depth > maxDepth {
		p.fail("more than %d levels of parentheses", maxDepth)
	}
	var all []test
	for {
		all = append(all, p.alternatives(depth))
		if !p.accept(tokWord, "AND") && (p.tok.kind == tokEnd || p.is(tokBracket, ")")) {
			return join(all, false)
		}
	}
}

func (p *parser) alternatives(depth int) test {
	any := []test{p.term(depth)}
	for p.accept(tokWord, "OR") {
		any = append(any, p.term(depth))
	}
	return join(any, true)
}

func (p *parser) term(depth int) test {
	switch {
	case depth > maxDepth:
		p.fail("more than %d levels", maxDepth)
	case p.accept(tokWord, "NOT"):
		inner := p.term(depth + 1)
		return func(all []found) bool { return !inner(all) }
	case p.accept(tokBracket, "("):
		inner := p.sequence(depth + 1)
		if !p.accept(tokBracket, ")") {
			p.fail("expected ) but found %s", p.tok)
		}
		return inner
	case p.keyword("AND"), p.keyword("OR"):
		p.fail("expected a comparison but found %s", p.tok)
	case p.tok.kind == tokWord:
		return p.comparison()
	default:
		p.fail("expected a comparison such as state = \"ready\" but found %s", p.tok)
	}
	return nil
}

func (p *parser) comparison() test {
	start := p.tok.at
	path := p.path()
	c := &comparison{path: strings.Join(path, ".")}
	typ, list, problem := p.resolve(path)
	if problem != "" {
		p.failAt(start, "%s", problem)
	}
	if typ == untyped || list >= 0 {
		if p.costly++; p.costly > maxCostly {
			p.failAt(start, "more than %d comparisons with what is in lists or documents", maxCostly)
		}
	}
	if c.typ, c.index = typ, p.tree.add(path, list, p.paths); c.index == p.paths {
		p.paths++
	}
	if p.tok.kind != tokOperator {
		p.fail("expected one of = != < <= > >= : but found %s", p.tok)
	}
	c.op = p.tok.text
	p.advance()
	p.value(c, start)
	p.advance()
	return c.matches
}

// value reads the value that a comparison, which begins at start, is with.
func (p *parser) value(c *comparison, start int) {
	if p.tok.kind != tokWord && p.tok.kind != tokString {
		p.fail("expected a value after %s but found %s", c.op, p.tok)
	}
	if p.tok.kind == tokWord && slices.Contains([]string{"AND", "OR", "NOT"}, p.tok.text) {
		p.fail("expected a value after %s; quote it when %s is meant literally", c.op, p.tok)
	}
	c.literal, c.present = p.tok.text, p.keyword("*")
	switch {
	case c.present && c.op != ":":
		p.fail("* goes with : only")
	case c.typ == composite && c.op != ":":
		p.failAt(start, "%s has no value of its own: use : to ask what it has", c.path)
	case !c.present:
		var problem string
		if c.order, problem = comparers[c.typ.comparedBy(c.op)](c.literal); problem != "" {
			p.fail("%s %s", c.path, problem)
		}
	}
}

// resolve finds the field at the end of a path.
func (p *parser) resolve(path []string) (t valueType, list int, problem string) {
	md, t, list := p.message, composite, -1
	for i := 0; i < len(path); i++ {
		if md == nil {
			return t, list, strings.Join(path[:i], ".") + " has no fields"
		}
		fd := md.Fields().ByJSONName(path[i])
		if fd == nil {
			return t, list, path[i] + " is no field of " + string(md.Name())
		}
		if fd.IsList() && list < 0 {
			list = i
		}
		if t, md = typeOf(fd), fd.Message(); fd.IsMap() {
			md = nil
			if i+1 < len(path) { // past the key
				i++
				if t, md = typeOf(fd.MapValue()), fd.MapValue().Message(); t == text {
					t = key
				}
			}
		}
		if md != nil && md.FullName() == "google.protobuf.Struct" && i+1 < len(path) {
			return untyped, list, ""
		}
	}
	return t, list, ""
}

// path reads a.b.c, where a part may be quoted: labels."app.kubernetes.io/name". It begins with the current token.
func (p *parser) path() []string {
	start := p.tok.at
	var parts []string
	for p.pos = start; ; p.pos++ { // past the dot
		part := memberForm.FindString(p.text[p.pos:])
		if part == "" {
			if strings.HasPrefix(p.text[p.pos:], ".") {
				p.fail("empty part in %s", p.tok)
			}
			p.advance()
			p.fail("expected a field after the dot but found %s", p.tok)
			return nil
		}
		parts = append(parts, unquote(part))
		if p.pos += len(part); !strings.HasPrefix(p.text[p.pos:], ".") {
			break
		}
	}
	full, ok := aliases[parts[0]]
	ok = ok && p.message.Fields().ByName("metadata") != nil
	if parts[0] == "state" && p.state != "" {
		full, ok = strings.Split(p.state, "."), true
	}
	switch {
	case ok:
		parts = append(slices.Clone(full), parts[1:]...)
	case p.message.Fields().ByJSONName(parts[0]) == nil:
		p.failAt(start, "%q is not a field to filter by: begin with %s", parts[0], p.beginnings())
	}
	p.advance()
	return parts
}

// beginnings lists how a path can begin.
func (p *parser) beginnings() string {
	if p.message.Fields().ByName("metadata") != nil {
		return "metadata, spec, status, name, namespace, labels or state"
	}
	var names []string
	for i := range p.message.Fields().Len() {
		names = append(names, p.message.Fields().Get(i).JSONName())
	}
	return "one of " + strings.Join(names, ", ")
}
