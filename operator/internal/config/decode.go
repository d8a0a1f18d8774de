package config

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"reflect"
	"slices"
	"strings"

	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	kjson "sigs.k8s.io/json"
	"sigs.k8s.io/yaml"
)

// Decode reads one YAML or JSON document. All unknown, repeated and mistyped fields are reported at once,
// each with its path: an operator that ignored a misspelt field would run with a setting that nobody chose.
func Decode(data []byte) (*Configuration, error) {
	document, err := onlyDocument(data)
	if err != nil {
		return nil, err
	}
	// Repeated keys are caught here, by line; in JSON form one of them would be gone.
	asJSON, err := yaml.YAMLToJSONStrict(document)
	if err != nil {
		return nil, fmt.Errorf("is not YAML: %w", err)
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(asJSON, &fields); err != nil || fields == nil {
		return nil, fmt.Errorf("is not an object; it must start with apiVersion: %s and kind: %s", APIVersion, Kind)
	}
	c := &Configuration{}
	errs := c.decodeFields(fields)
	// Of another kind of object all fields would be unknown, which is not what is wrong with it.
	if c.APIVersion != APIVersion || c.Kind != Kind {
		return nil, fmt.Errorf("apiVersion and kind are %q and %q, but must be %q and %q", c.APIVersion, c.Kind, APIVersion, Kind)
	}
	return c, errors.Join(errs...)
}

// onlyDocument returns the one document in data that is not blank: a second one would be ignored in silence.
func onlyDocument(data []byte) ([]byte, error) {
	var found []byte
	reader := utilyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(data)))
	for {
		document, err := reader.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("is not YAML: %w", err)
		}
		if blank(document) {
			continue
		}
		if found != nil {
			return nil, errors.New("holds more than one document, but must hold one")
		}
		found = document
	}
	if found == nil {
		return nil, fmt.Errorf("is empty; it must start with apiVersion: %s and kind: %s", APIVersion, Kind)
	}
	return found, nil
}

// blank reports whether a document holds nothing but comments and separators.
func blank(document []byte) bool {
	for line := range bytes.Lines(document) {
		if line = bytes.TrimSpace(line); len(line) > 0 && line[0] != '#' && !bytes.Equal(line, []byte("---")) {
			return false
		}
	}
	return true
}

// decodeFields decodes field by field, because the decoder stops at the first value of the wrong type.
func (c *Configuration) decodeFields(fields map[string]json.RawMessage) []error {
	var errs []error
	target := reflect.ValueOf(c).Elem()
	known := configFields()
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		i, ok := known[name]
		if !ok {
			errs = append(errs, fmt.Errorf("field %s is unknown; known are %s", name, strings.Join(slices.Sorted(maps.Keys(known)), ", ")))
			continue
		}
		strict, err := kjson.UnmarshalStrict(fields[name], target.Field(i).Addr().Interface())
		if err != nil {
			target.Field(i).SetZero() // so that nothing is said about half of a value
			errs = append(errs, wrongType(name, fields[name], target.Field(i).Type(), err))
		}
		for _, err := range strict {
			errs = append(errs, strictError(name, err))
		}
	}
	return errs
}

// configFields maps the name of a field in the file to its index in the struct.
func configFields() map[string]int {
	t := reflect.TypeFor[Configuration]()
	fields := make(map[string]int, t.NumField())
	for i := range t.NumField() {
		name, _, _ := strings.Cut(t.Field(i).Tag.Get("json"), ",")
		fields[name] = i
	}
	return fields
}

// strictError puts the path within the field behind the name of the field.
func strictError(field string, err error) error {
	var at kjson.FieldError
	if !errors.As(err, &at) {
		return fmt.Errorf("field %s: %w", field, err)
	}
	path := at.FieldPath()
	if !strings.HasPrefix(path, "[") {
		path = "." + path
	}
	what := "unknown; see the Kubernetes API for the fields that may stand here"
	if strings.HasPrefix(err.Error(), "duplicate") {
		what = "given twice; keep one"
	}
	return fmt.Errorf("field %s%s is %s", field, path, what)
}

// wrongType says what is expected; of a scalar that is all there is to say, within a list or an object the cause helps.
func wrongType(name string, raw json.RawMessage, t reflect.Type, err error) error {
	if t.Kind() == reflect.Pointer || t.Kind() == reflect.String {
		return fmt.Errorf("field %s is %s, but must be %s", name, clipped(raw), plainType(t))
	}
	return fmt.Errorf("field %s is %s, but must be %s: %w", name, clipped(raw), plainType(t), err)
}

// plainType names a type for somebody who writes YAML.
func plainType(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Pointer:
		return plainType(t.Elem())
	case reflect.Bool:
		return "true or false"
	case reflect.Int:
		return "a whole number"
	case reflect.Float32:
		return "a number"
	case reflect.String:
		return "a string"
	case reflect.Slice:
		return "a list of " + t.Elem().Name()
	default:
		return "an object of names and values"
	}
}

// clipped keeps a message readable when the value is long.
func clipped(raw json.RawMessage) string {
	const most = 60
	text := string(raw)
	if len(text) > most {
		text = strings.ToValidUTF8(text[:most], "") + "..."
	}
	return text
}
