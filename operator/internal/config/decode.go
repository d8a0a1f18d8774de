package config

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"

	utiljson "k8s.io/apimachinery/pkg/util/json"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"

	"github.com/raygate/raygate/pkg/kubedoc"
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
	var fields map[string]any
	if err := utiljson.Unmarshal(asJSON, &fields); err != nil || fields == nil {
		return nil, fmt.Errorf("is not an object; it must start with apiVersion: %s and kind: %s", APIVersion, Kind)
	}
	c := &Configuration{}
	mistakes := kubedoc.Decode(fields, c, nil)
	// Of another kind of object all fields would be unknown, which is not what is wrong with it.
	if c.APIVersion != APIVersion || c.Kind != Kind {
		return nil, fmt.Errorf("apiVersion and kind are %q and %q, but must be %q and %q", c.APIVersion, c.Kind, APIVersion, Kind)
	}
	var errs []error
	for _, m := range mistakes {
		errs = append(errs, fmt.Errorf("field %s: %s", m.Field, m.Detail))
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
