package codec

import (
	"bytes"
	"fmt"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/raygate/raygate/pkg/kubedoc/mistake"
)

// parseJSON reads one JSON value. It takes what encoding/json takes, but for keys given twice, text that is not UTF-8 and
// half surrogates, which it reports and carries on, and nesting beyond MaxDepth, where it stops.
func parseJSON(data []byte, p *problems) node {
	j := &jsonParser{data: data, problems: p}
	root, ok := j.value(nil, 0)
	if !ok {
		return node{}
	}
	j.space()
	if j.pos < len(j.data) {
		j.syntax("expected the end of the document")
		return node{}
	}
	return root
}

type jsonParser struct {
	data     []byte
	pos      int
	values   int
	problems *problems
}

// syntax reports what is wrong at the current position. There is no use in reading on.
func (j *jsonParser) syntax(message string) {
	before := j.data[:min(j.pos, len(j.data))]
	line := bytes.Count(before, []byte{'\n'}) + 1
	column := utf8.RuneCount(before[bytes.LastIndexByte(before, '\n')+1:]) + 1
	found := "the end of the document"
	if j.pos < len(j.data) {
		r, _ := utf8.DecodeRune(j.data[j.pos:])
		found = strconv.QuoteRune(r)
	}
	j.problems.add(nil, mistake.Syntax, fmt.Sprintf("not JSON: line %d, column %d: %s, found %s", line, column, message, found))
}

func (j *jsonParser) space() {
	for j.pos < len(j.data) {
		switch j.data[j.pos] {
		case ' ', '\t', '\r', '\n':
			j.pos++
		default:
			return
		}
	}
}

// next skips space and returns the byte there, 0 at the end.
func (j *jsonParser) next() byte {
	j.space()
	if j.pos == len(j.data) {
		return 0
	}
	return j.data[j.pos]
}

func (j *jsonParser) value(at *path, depth int) (node, bool) {
	if depth > MaxDepth {
		j.problems.add(at, mistake.TooDeep, fmt.Sprintf("nested deeper than %d levels", MaxDepth))
		return node{}, false
	}
	if j.values++; j.values > MaxValues {
		j.problems.add(at, mistake.TooLarge, fmt.Sprintf("the document has more than %d values", MaxValues))
		return node{}, false
	}
	switch c := j.next(); {
	case c == '{':
		return j.object(at, depth)
	case c == '[':
		return j.list(at, depth)
	case c == '"':
		s, ok := j.str(at)
		return node{kind: kindString, text: s}, ok
	case c == '-' || c >= '0' && c <= '9':
		return j.number()
	case c == 't':
		return node{kind: kindBool, truth: true}, j.word("true")
	case c == 'f':
		return node{kind: kindBool}, j.word("false")
	case c == 'n':
		return node{kind: kindNull}, j.word("null")
	default:
		j.syntax("expected a value")
		return node{}, false
	}
}

func (j *jsonParser) word(w string) bool {
	if !bytes.HasPrefix(j.data[j.pos:], []byte(w)) {
		j.syntax("expected a value")
		return false
	}
	j.pos += len(w)
	return true
}

func (j *jsonParser) object(at *path, depth int) (node, bool) {
	j.pos++
	var b objectBuilder
	if j.next() == '}' {
		j.pos++
		return node{kind: kindObject}, true
	}
	for {
		if j.next() != '"' {
			j.syntax("expected a key in double quotes")
			return node{}, false
		}
		key, ok := j.str(at)
		if !ok {
			return node{}, false
		}
		if j.next() != ':' {
			j.syntax("expected ':' behind the key")
			return node{}, false
		}
		j.pos++
		child := at.member(key)
		value, ok := j.value(&child, depth+1)
		if !ok {
			return node{}, false
		}
		if b.has(key) {
			j.problems.add(&child, mistake.DuplicateKey, mistake.Twice)
		} else {
			b.add(key, value)
		}
		switch j.next() {
		case ',':
			j.pos++
		case '}':
			j.pos++
			return node{kind: kindObject, members: b.members}, true
		default:
			j.syntax("expected ',' or '}'")
			return node{}, false
		}
	}
}

func (j *jsonParser) list(at *path, depth int) (node, bool) {
	j.pos++
	n := node{kind: kindList}
	if j.next() == ']' {
		j.pos++
		return n, true
	}
	for {
		here := at.item(len(n.items))
		value, ok := j.value(&here, depth+1)
		if !ok {
			return node{}, false
		}
		n.items = append(n.items, value)
		switch j.next() {
		case ',':
			j.pos++
		case ']':
			j.pos++
			return n, true
		default:
			j.syntax("expected ',' or ']'")
			return node{}, false
		}
	}
}

func (j *jsonParser) digits() bool {
	start := j.pos
	for j.pos < len(j.data) && j.data[j.pos] >= '0' && j.data[j.pos] <= '9' {
		j.pos++
	}
	return j.pos > start
}

func (j *jsonParser) number() (node, bool) {
	start := j.pos
	if j.data[j.pos] == '-' {
		j.pos++
	}
	ok := true
	if j.pos < len(j.data) && j.data[j.pos] == '0' {
		j.pos++
	} else {
		ok = j.digits()
	}
	if ok && j.pos < len(j.data) && j.data[j.pos] == '.' {
		j.pos++
		ok = j.digits()
	}
	if ok && j.pos < len(j.data) && (j.data[j.pos] == 'e' || j.data[j.pos] == 'E') {
		j.pos++
		if j.pos < len(j.data) && (j.data[j.pos] == '+' || j.data[j.pos] == '-') {
			j.pos++
		}
		ok = j.digits()
	}
	if !ok {
		j.syntax("expected a digit")
		return node{}, false
	}
	return node{kind: kindNumber, text: string(j.data[start:j.pos])}, true
}

// str reads a string; the current byte is its opening quote.
func (j *jsonParser) str(at *path) (string, bool) {
	j.pos++
	start := j.pos
	for j.pos < len(j.data) {
		switch c := j.data[j.pos]; {
		case c == '"':
			raw := j.data[start:j.pos]
			if !utf8.Valid(raw) {
				j.problems.add(at, mistake.InvalidUTF8, "text that is not UTF-8")
				raw = bytes.ToValidUTF8(raw, []byte("\uFFFD"))
			}
			j.pos++
			return string(raw), true
		case c == '\\':
			return j.escaped(at, start)
		case c < 0x20:
			j.syntax("a control character must be escaped in a string")
			return "", false
		default:
			j.pos++
		}
	}
	j.syntax("expected the closing '\"' of a string")
	return "", false
}

// escaped goes on with a string, begun at start, that has a backslash at the current position.
func (j *jsonParser) escaped(at *path, start int) (string, bool) {
	out := append([]byte(nil), j.data[start:j.pos]...)
	halfSurrogate := false
	for j.pos < len(j.data) {
		c := j.data[j.pos]
		switch {
		case c == '"':
			j.pos++
			switch {
			case halfSurrogate:
				j.problems.add(at, mistake.InvalidUTF8, `text with half a surrogate pair (\ud800 to \udfff)`)
			case !utf8.Valid(out):
				j.problems.add(at, mistake.InvalidUTF8, "text that is not UTF-8")
			}
			return string(bytes.ToValidUTF8(out, []byte("\uFFFD"))), true
		case c < 0x20:
			j.syntax("a control character must be escaped in a string")
			return "", false
		case c != '\\':
			out = append(out, c)
			j.pos++
			continue
		}
		j.pos++
		if j.pos == len(j.data) {
			break
		}
		e := j.data[j.pos]
		if plain, ok := escapes[e]; ok {
			out = append(out, plain)
			j.pos++
			continue
		}
		r, ok := j.hex4()
		if !ok {
			j.syntax(`expected one of "\/bfnrt or u and four hexadecimal digits behind '\'`)
			return "", false
		}
		if utf16.IsSurrogate(r) {
			rest := j.pos
			low, isLow := rune(0), false
			if rest+1 < len(j.data) && j.data[rest] == '\\' {
				j.pos++
				low, isLow = j.hex4()
			}
			if pair := utf16.DecodeRune(r, low); isLow && pair != utf8.RuneError {
				r = pair
			} else {
				j.pos, r, halfSurrogate = rest, utf8.RuneError, true
			}
		}
		out = utf8.AppendRune(out, r)
	}
	j.syntax("expected the closing '\"' of a string")
	return "", false
}

var escapes = map[byte]byte{'"': '"', '\\': '\\', '/': '/', 'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t'}

// hex4 reads u and four hexadecimal digits; it stays where it is when they are not there.
func (j *jsonParser) hex4() (rune, bool) {
	if j.pos+5 > len(j.data) || j.data[j.pos] != 'u' {
		return 0, false
	}
	digits := j.data[j.pos+1 : j.pos+5]
	for _, c := range digits {
		if !(c >= '0' && c <= '9' || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F') {
			return 0, false
		}
	}
	n, err := strconv.ParseUint(string(digits), 16, 16)
	if err != nil {
		return 0, false
	}
	j.pos += 5
	return rune(n), true
}
