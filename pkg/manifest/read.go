package manifest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/raygate/raygate/pkg/manifest/problem"
)

const (
	// MaxDepth is how deep objects and lists may be nested. A pod template needs less than 20.
	MaxDepth = 100
	// MaxValues is the number of values (without keys) that a document may have, with all YAML aliases expanded. Every object that fits
	// into etcd has less.
	MaxValues = 250_000
	// maxText bounds the text of all values together, which only aliases can make longer than the document.
	maxText = 4 << 20
)

// Read reads one document in JSON, or in YAML as kubectl accepts it, into a tree in the form of unstructured.Unstructured: integers as
// int64, other numbers as float64. It returns every mistake in the text, up to 100: a repeated key (the first one counts), text that is not
// UTF-8, too many values. The tree is nil if the document as a whole cannot be read or is not an object; there is at least one mistake
// then.
//
// Its time is linear in the document. It allocates at most 400 bytes per byte of the document and reads at most MaxValues values.
func Read(data []byte, isYAML bool) (map[string]any, field.ErrorList) {
	return read(&reader{data: data, maxValues: MaxValues, maxText: maxText}, isYAML)
}

// ReadLocal is Read for a file of the user's own, such as a list of all objects of a cluster: it may have as many values as it likes, but not by aliases.
func ReadLocal(data []byte, isYAML bool) (map[string]any, field.ErrorList) {
	return read(&reader{data: data, maxValues: max(MaxValues, len(data)), maxText: max(maxText, len(data))}, isYAML)
}

func read(r *reader, isYAML bool) (map[string]any, field.ErrorList) {
	var root any
	var ok bool
	if isYAML {
		root, ok = r.readYAML()
	} else {
		root, ok = r.readJSON()
	}
	tree, isObject := root.(map[string]any)
	if ok && !isObject {
		r.wrongType(nil, "object", root)
	}
	return tree, r.list
}

// reader reads a document. Its functions return false if reading cannot continue.
type reader struct {
	mistakes
	data   []byte
	json   *json.Decoder // of data that is JSON
	values int
	text   int // bytes

	maxValues, maxText int
}

// place is the position of a value in the document. Places stay on the stack of the functions that read; only mistakes need a path.
type place struct {
	up     *place
	name   string
	index  int
	isItem bool // of a list, and not a member
}

func (p *place) path() *field.Path {
	switch {
	case p == nil:
		return nil
	case p.isItem:
		return p.up.path().Index(p.index)
	}
	return memberOf(p.up.path(), p.name)
}

func (r *reader) wrong(at *place, reason, detail string) {
	if !r.full() {
		r.add(at.path(), reason, detail)
	}
}

func (r *reader) readJSON() (any, bool) {
	if !json.Valid(r.data) {
		err := json.Unmarshal(r.data, new(json.RawMessage))
		r.wrong(nil, problem.Syntax, "not JSON: "+r.position(err)+err.Error())
		return nil, false
	}
	r.json = json.NewDecoder(bytes.NewReader(r.data))
	r.json.UseNumber()
	return r.jsonValue(nil, 0)
}

// position returns the position of a syntax error in JSON.
func (r *reader) position(err error) string {
	syntax, ok := errors.AsType[*json.SyntaxError](err)
	if !ok || syntax.Offset == 0 {
		return ""
	}
	before := r.data[:syntax.Offset-1]
	return fmt.Sprintf("line %d, column %d: ", bytes.Count(before, []byte{'\n'})+1, utf8.RuneCount(before[bytes.LastIndexByte(before, '\n')+1:])+1)
}

// jsonValue reads the next value of JSON that encoding/json has validated.
func (r *reader) jsonValue(at *place, depth int) (any, bool) {
	if depth > MaxDepth {
		r.wrong(at, problem.TooDeep, fmt.Sprintf("nested deeper than %d levels", MaxDepth))
		return nil, false
	}
	if r.values++; r.values > r.maxValues {
		r.wrong(at, problem.TooLarge, fmt.Sprintf("the document has more than %d values", r.maxValues))
		return nil, false
	}
	switch t := r.token(at).(type) {
	case json.Delim:
		if t == '{' {
			return r.jsonObject(at, depth)
		}
		return r.jsonList(at, depth)
	case json.Number:
		return r.number(t.String(), at), true
	default: // a string, a boolean or null
		return t, true
	}
}

// token returns the next token. at is where it is.
func (r *reader) token(at *place) json.Token {
	start := r.json.InputOffset()
	t, _ := r.json.Token() // the document is valid
	text, isText := t.(string)
	raw := r.data[start:r.json.InputOffset()]
	switch {
	case !isText:
	case !utf8.Valid(raw): // invalid text is silently replaced by U+FFFD
		r.wrong(at, problem.InvalidUTF8, "text that is not UTF-8")
	case strings.Count(text, "\uFFFD") > bytes.Count(raw, []byte("\uFFFD"))+bytes.Count(bytes.ToLower(raw), []byte(`\ufffd`)):
		r.wrong(at, problem.InvalidUTF8, `text with half a surrogate pair (\ud800 to \udfff)`)
	}
	return t
}

func (r *reader) jsonObject(at *place, depth int) (any, bool) {
	object := map[string]any{}
	for r.json.More() {
		key, _ := r.token(at).(string)
		here := place{up: at, name: key}
		value, ok := r.jsonValue(&here, depth+1)
		if !ok {
			return nil, false
		}
		if _, twice := object[key]; twice {
			r.wrong(&here, problem.DuplicateKey, problem.Twice)
			continue
		}
		object[key] = value
	}
	r.token(at)
	return object, true
}

func (r *reader) jsonList(at *place, depth int) (any, bool) {
	list := []any{}
	for r.json.More() {
		here := place{up: at, index: len(list), isItem: true}
		value, ok := r.jsonValue(&here, depth+1)
		if !ok {
			return nil, false
		}
		list = append(list, value)
	}
	r.token(at)
	return list, true
}

func (r *reader) number(text string, at *place) any {
	if i, err := strconv.ParseInt(text, 10, 64); err == nil {
		return i
	}
	f, err := strconv.ParseFloat(text, 64)
	if err != nil {
		r.wrong(at, problem.OutOfRange, "the number is too large")
		return nil
	}
	return f
}
