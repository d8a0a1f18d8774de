package filter

import (
	"fmt"
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
type Filter struct{ root node }

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
	p := &parser{text: text, message: message, state: state}
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
	return &Filter{root: root}, nil
}

type tokenKind int

const (
	tokEnd tokenKind = iota
	tokWord
	tokString
	tokOperator
	tokOpen
	tokClose
)

type token struct {
	kind tokenKind
	text string
	at   int // byte offset
	end  int
}

// String names the token in an error.
func (t token) String() string {
	if t.kind == tokEnd {
		return "end of the filter"
	}
	return strconv.Quote(t.text)
}

type parser struct {
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
func (p *parser) advance() error { //nolint:gocyclo // one case per form of token
	for p.pos < len(p.text) && strings.IndexByte(" \t\r\n", p.text[p.pos]) >= 0 {
		p.pos++
	}
	at := p.pos
	p.tok = token{at: at}
	if at == len(p.text) {
		return nil
	}
	switch c := p.text[at]; {
	case c == '(':
		p.tok.kind, p.pos = tokOpen, at+1
	case c == ')':
		p.tok.kind, p.pos = tokClose, at+1
	case c == '"' || c == '\'':
		return p.quoted(c)
	case strings.IndexByte("=:<>!", c) >= 0:
		p.pos = at + 1
		if c != ':' && c != '=' && strings.HasPrefix(p.text[p.pos:], "=") {
			p.pos++
		}
		if c == '!' && p.pos == at+1 {
			return p.failAt(at, "write != or NOT instead of !")
		}
		p.tok.kind = tokOperator
	default:
		for p.pos < len(p.text) && strings.IndexByte(" \t\r\n()=:<>!\"'", p.text[p.pos]) < 0 {
			p.pos++
		}
		p.tok.kind = tokWord
	}
	p.tok.text, p.tok.end = p.text[at:p.pos], p.pos
	return nil
}

func (p *parser) quoted(quote byte) error {
	at := p.pos
	var b strings.Builder
	for i := at + 1; i < len(p.text); i++ {
		switch c := p.text[i]; c {
		case '\\':
			i++
			if i == len(p.text) {
				return p.failAt(at, "the string has no closing quote")
			}
			b.WriteByte(p.text[i])
		case quote:
			p.pos = i + 1
			p.tok = token{kind: tokString, text: b.String(), at: at, end: p.pos}
			return nil
		default:
			b.WriteByte(c)
		}
	}
	return p.failAt(at, "the string has no closing quote")
}

func (p *parser) keyword(word string) bool { return p.tok.kind == tokWord && p.tok.text == word }

// sequence reads terms joined by AND, or by nothing.
func (p *parser) sequence(depth int) (node, error) {
	if depth > maxDepth {
		return nil, p.fail("more than %d levels of parentheses", maxDepth)
	}
	var all allOf
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
		case p.tok.kind == tokEnd, p.tok.kind == tokClose:
			if len(all) == 1 {
				return all[0], nil
			}
			return all, nil
		}
	}
}

func (p *parser) alternatives(depth int) (node, error) {
	var any anyOf
	for {
		term, err := p.term(depth)
		if err != nil {
			return nil, err
		}
		any = append(any, term)
		if !p.keyword("OR") {
			if len(any) == 1 {
				return any[0], nil
			}
			return any, nil
		}
		if err := p.advance(); err != nil {
			return nil, err
		}
	}
}

func (p *parser) term(depth int) (node, error) {
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
		return not{inner}, nil
	case p.tok.kind == tokOpen:
		if err := p.advance(); err != nil {
			return nil, err
		}
		inner, err := p.sequence(depth + 1)
		if err != nil {
			return nil, err
		}
		if p.tok.kind != tokClose {
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

func (p *parser) comparison() (node, error) {
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
	return c, p.advance()
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

// path reads a.b.c, where a part may be quoted: labels."app.kubernetes.io/name".
func (p *parser) path() ([]string, error) { //nolint:gocyclo // one case per form of token
	start := p.tok.at
	var parts []string
	for {
		end := p.tok.end
		text := p.tok.text
		if p.tok.kind == tokString {
			parts = append(parts, text)
		} else {
			for part := range strings.SplitSeq(strings.Trim(text, "."), ".") {
				if part == "" && text != "." {
					return nil, p.fail("empty part in %s", p.tok)
				}
				if part != "" {
					parts = append(parts, part)
				}
			}
		}
		wantsMore := strings.HasSuffix(text, ".") && p.tok.kind == tokWord
		if err := p.advance(); err != nil {
			return nil, err
		}
		joined := p.tok.at == end && (p.tok.kind == tokString || p.tok.kind == tokWord && strings.HasPrefix(p.tok.text, "."))
		if !joined {
			if wantsMore {
				return nil, p.fail("expected a field after the dot but found %s", p.tok)
			}
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
	return parts, nil
}
