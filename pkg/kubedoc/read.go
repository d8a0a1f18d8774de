package kubedoc

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/raygate/raygate/pkg/kubedoc/mistake"
)

const (
	// MaxDepth is how deep objects and lists may be nested. A pod template needs less than 20.
	MaxDepth = 100
	// MaxValues is how many values (keys not counted) a document may have, with all aliases of YAML followed. An object that etcd takes has less.
	MaxValues = 250_000
	// maxText bounds the text of all values together, which only aliases can make longer than the document.
	maxText = 4 << 20
)

// Read reads one document in JSON, or in YAML as kubectl understands it, into a tree as unstructured.Unstructured keeps it: integers as int64, other
// numbers as float64. It returns every mistake in the text, up to 100: a key that is there twice, of which the first counts, text that is not UTF-8,
// too many values. The tree is nil when the document as a whole cannot be read or is no object; there is one mistake then at least.
//
// It is linear in the document: at most 400 bytes are allocated for each of its bytes, whatever it says, and no more than MaxValues are read.
func Read(data []byte, isYAML bool) (map[string]any, field.ErrorList) {
	r := &reader{data: data}
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

// reader reads a document. Its functions return false when there is no use in reading on.
type reader struct {
	mistakes
	data   []byte
	tokens *json.Decoder
	values int
	text   int // bytes
}

func (r *reader) readJSON() (any, bool) {
	if err := json.Unmarshal(r.data, new(json.RawMessage)); err != nil {
		r.add(nil, mistake.Syntax, "not JSON: "+r.place(err)+err.Error())
		return nil, false
	}
	r.tokens = json.NewDecoder(bytes.NewReader(r.data))
	r.tokens.UseNumber()
	return r.jsonValue(nil, 0)
}

// place says where a syntax error of JSON is.
func (r *reader) place(err error) string {
	syntax, ok := errors.AsType[*json.SyntaxError](err)
	if !ok || syntax.Offset == 0 {
		return ""
	}
	before := r.data[:syntax.Offset-1]
	return fmt.Sprintf("line %d, column %d: ", bytes.Count(before, []byte{'\n'})+1, utf8.RuneCount(before[bytes.LastIndexByte(before, '\n')+1:])+1)
}

// jsonValue reads the next value of JSON that is known to be well formed.
func (r *reader) jsonValue(at *field.Path, depth int) (any, bool) {
	if depth > MaxDepth {
		r.add(at, mistake.TooDeep, fmt.Sprintf("nested deeper than %d levels", MaxDepth))
		return nil, false
	}
	if r.values++; r.values > MaxValues {
		r.add(at, mistake.TooLarge, fmt.Sprintf("the document has more than %d values", MaxValues))
		return nil, false
	}
	switch token := r.token(at).(type) {
	case json.Delim:
		if token == '{' {
			return r.jsonObject(at, depth)
		}
		return r.jsonList(at, depth)
	case json.Number:
		return r.number(token.String(), at), true
	default:
		return token, true
	}
}

func (r *reader) jsonObject(at *field.Path, depth int) (any, bool) {
	object := map[string]any{}
	for r.tokens.More() {
		key, _ := r.token(at).(string)
		here := memberOf(at, key)
		value, ok := r.jsonValue(here, depth+1)
		if !ok {
			return nil, false
		}
		if _, twice := object[key]; twice {
			r.add(here, mistake.DuplicateKey, mistake.Twice)
			continue
		}
		object[key] = value
	}
	r.token(at) // the bracket
	return object, true
}

func (r *reader) jsonList(at *field.Path, depth int) (any, bool) {
	list := []any{}
	for r.tokens.More() {
		value, ok := r.jsonValue(at.Index(len(list)), depth+1)
		if !ok {
			return nil, false
		}
		list = append(list, value)
	}
	r.token(at) // the bracket
	return list, true
}

// token returns the next token. The library replaces what is no text by U+FFFD without a word.
func (r *reader) token(at *field.Path) json.Token {
	start := r.tokens.InputOffset()
	token, _ := r.tokens.Token() // the document has been checked
	text, _ := token.(string)
	replaced := strings.Count(text, "\uFFFD")
	if replaced == 0 {
		return token
	}
	raw := r.data[start:r.tokens.InputOffset()]
	switch {
	case !utf8.Valid(raw):
		r.add(at, mistake.InvalidUTF8, "text that is not UTF-8")
	case replaced > bytes.Count(raw, []byte("\uFFFD"))+bytes.Count(bytes.ToLower(raw), []byte(`\ufffd`)):
		r.add(at, mistake.InvalidUTF8, `text with half a surrogate pair (\ud800 to \udfff)`)
	}
	return token
}

func (r *reader) number(text string, at *field.Path) any {
	if i, err := strconv.ParseInt(text, 10, 64); err == nil {
		return i
	}
	f, err := strconv.ParseFloat(text, 64)
	if err != nil {
		r.add(at, mistake.OutOfRange, "the number is too large")
		return nil
	}
	return f
}
