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

// Bounds of what is parsed, as filters come from anyone.
const (
	maxLength = 4 << 10
	maxDepth  = 50
	maxCostly = 30 // comparisons with what is in lists or documents, through which each goes anew
)

// SyntaxError says where a filter went wrong.
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

// aliases are the short names of what people filter by most, besides state.
var aliases = map[string][]string{"name": {"metadata", "name"}, "namespace": {"metadata", "namespace"}, "labels": {"metadata", "labels"}}

// Parse reads a filter on objects that a message mirrors. state is the path that the alias state stands for; empty means that there is none.
// The error is a *SyntaxError.
func Parse(text string, message protoreflect.MessageDescriptor, state string) (*Filter, error) {
	if len(text) > maxLength {
		return nil, &SyntaxError{Position: 1, Message: fmt.Sprintf("the filter is longer than %d bytes", maxLength)}
	}
	if !utf8.ValidString(text) {
		return nil, &SyntaxError{Position: 1, Message: "the filter is not valid UTF-8"}
	}
	p := &parser{text: text, message: message, state: state, Filter: Filter{tree: newNode()}}
	if err := p.advance(); err != nil {
		return nil, err
	}
	if p.tok.kind == tokEnd {
		return &Filter{}, nil
	}
	root, err := p.sequence(0)
	if err != nil {
		return nil, err
	}
	if p.tok.kind != tokEnd {
		return nil, p.fail("unexpected %s", p.tok)
	}
	p.root = root
	return &p.Filter, nil
}

type tokenKind int

const (
	tokEnd tokenKind = iota
	tokBracket
	tokOperator
	tokString
	tokWord
)

// The forms of tokens, in the order of their kinds, and of what stands between the dots of a path.
const quotedForm = `"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'`

var (
	tokenForm  = regexp.MustCompile(`(?s)^(?:([()])|(!=|<=|>=|[=:<>])|(` + quotedForm + `)|([^ \t\r\n()=:<>!"']+))`)
	memberForm = regexp.MustCompile(`(?s)^(?:` + quotedForm + `|[^ \t\r\n()=:<>!"'.]+)`)
	escape     = regexp.MustCompile(`(?s)\\(.)`)
)

// unquote returns what a string in quotes says, and all else as it is.
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

type parser struct {
	Filter
	costly  int
	text    string
	pos     int
	tok     token
	message protoreflect.MessageDescriptor
	state   string
}

func (p *parser) fail(format string, args ...any) error { return p.failAt(p.tok.at, format, args...) }

func (p *parser) failAt(at int, format string, args ...any) error {
	return &SyntaxError{Position: utf8.RuneCountInString(p.text[:at]) + 1, Message: fmt.Sprintf(format, args...)}
}

// advance reads the next token.
func (p *parser) advance() error {
	rest := strings.TrimLeft(p.text[p.pos:], " \t\r\n")
	p.tok = token{at: len(p.text) - len(rest)}
	forms := tokenForm.FindStringSubmatch(rest)
	switch {
	case rest == "":
	case forms == nil && rest[0] == '!':
		return p.fail("write != or NOT instead of !")
	case forms == nil:
		return p.fail("the string has no closing quote")
	default:
		for kind, text := range forms[1:] {
			if text != "" {
				p.tok.kind, p.tok.text = tokBracket+tokenKind(kind), unquote(text)
			}
		}
		p.pos = p.tok.at + len(forms[0])
	}
	return nil
}

func (p *parser) is(kind tokenKind, text string) bool {
	return p.tok.kind == kind && p.tok.text == text
}

func (p *parser) keyword(word string) bool { return p.is(tokWord, word) }

// sequence reads terms joined by AND, or by nothing.
func (p *parser) sequence(depth int) (test, error) {
	if depth > maxDepth {
		return nil, p.fail("more than %d levels of parentheses", maxDepth)
	}
	var all []test
	for {
		term, err := p.alternatives(depth)
		if err != nil {
			return nil, err
		}
		all = append(all, term)
		switch {
		case p.keyword("AND"):
			if err := p.advance(); err != nil {
				return nil, err
			}
		case p.tok.kind == tokEnd, p.is(tokBracket, ")"):
			return join(all, false), nil
		}
	}
}

func (p *parser) alternatives(depth int) (test, error) {
	var any []test
	for {
		term, err := p.term(depth)
		if err != nil {
			return nil, err
		}
		any = append(any, term)
		if !p.keyword("OR") {
			return join(any, true), nil
		}
		if err := p.advance(); err != nil {
			return nil, err
		}
	}
}

func (p *parser) term(depth int) (test, error) {
	if depth > maxDepth {
		return nil, p.fail("more than %d levels", maxDepth)
	}
	switch {
	case p.keyword("NOT"):
		if err := p.advance(); err != nil {
			return nil, err
		}
		inner, err := p.term(depth + 1)
		if err != nil {
			return nil, err
		}
		return func(places []place) bool { return !inner(places) }, nil
	case p.is(tokBracket, "("):
		if err := p.advance(); err != nil {
			return nil, err
		}
		inner, err := p.sequence(depth + 1)
		if err != nil {
			return nil, err
		}
		if !p.is(tokBracket, ")") {
			return nil, p.fail("expected ) but found %s", p.tok)
		}
		return inner, p.advance()
	case p.keyword("AND"), p.keyword("OR"):
		return nil, p.fail("expected a comparison but found %s", p.tok)
	case p.tok.kind == tokWord:
		return p.comparison()
	}
	return nil, p.fail("expected a comparison such as state = \"ready\" but found %s", p.tok)
}

func (p *parser) comparison() (test, error) {
	start := p.tok.at
	path, err := p.path()
	if err != nil {
		return nil, err
	}
	c := &comparison{path: path}
	var problem string
	if c.typ, c.list, problem = p.resolve(path); problem != "" {
		return nil, p.failAt(start, "%s", problem)
	}
	if c.typ == untyped || c.list >= 0 {
		if p.costly++; p.costly > maxCostly {
			return nil, p.failAt(start, "more than %d comparisons with what is in lists or documents", maxCostly)
		}
	}
	if c.index = p.tree.add(path, p.paths); c.index == p.paths {
		p.paths++
	}
	if p.tok.kind != tokOperator {
		return nil, p.fail("expected one of = != < <= > >= : but found %s", p.tok)
	}
	c.op = p.tok.text
	if err := p.advance(); err != nil {
		return nil, err
	}
	if err := p.value(c, start); err != nil {
		return nil, err
	}
	return c.matches, p.advance()
}

// value reads the value that a comparison, which begins at start, is with.
func (p *parser) value(c *comparison, start int) error {
	if p.tok.kind != tokWord && p.tok.kind != tokString {
		return p.fail("expected a value after %s but found %s", c.op, p.tok)
	}
	if p.keyword("AND") || p.keyword("OR") || p.keyword("NOT") {
		return p.fail("expected a value after %s; quote it when %s is meant literally", c.op, p.tok)
	}
	c.text = p.tok.text
	c.present = p.tok.kind == tokWord && p.tok.text == "*"
	switch {
	case c.present && c.op != ":":
		return p.fail("* goes with : only")
	case c.typ == composite && c.op != ":":
		return p.failAt(start, "%s has no value of its own: use : to ask what it has", strings.Join(c.path, "."))
	case c.present, c.op == ":" && c.typ.isText():
		return nil
	}
	if problem := c.read(c.typ); problem != "" {
		return p.fail("%s %s", strings.Join(c.path, "."), problem)
	}
	return nil
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
func (p *parser) path() ([]string, error) {
	start := p.tok.at
	var parts []string
	for p.pos = start; ; p.pos++ { // past the dot
		part := memberForm.FindString(p.text[p.pos:])
		if part == "" {
			if strings.HasPrefix(p.text[p.pos:], ".") {
				return nil, p.fail("empty part in %s", p.tok)
			}
			if err := p.advance(); err != nil {
				return nil, err
			}
			return nil, p.fail("expected a field after the dot but found %s", p.tok)
		}
		parts = append(parts, unquote(part))
		if p.pos += len(part); !strings.HasPrefix(p.text[p.pos:], ".") {
			break
		}
	}
	full, ok := aliases[parts[0]]
	if parts[0] == "state" && p.state != "" {
		full, ok = strings.Split(p.state, "."), true
	}
	switch {
	case ok:
		parts = append(slices.Clone(full), parts[1:]...)
	case p.message.Fields().ByJSONName(parts[0]) == nil:
		return nil, p.failAt(start, "%q is not a field to filter by: begin with metadata, spec, status, name, namespace, labels or state", parts[0])
	}
	return parts, p.advance()
}
