package metadata

import (
	"errors"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/raygate/raygate/pkg/validation/rule"
)

// YAMLMap reads YAML for a map. Empty text gives an empty map. Keys that are given twice are no error here.
func YAMLMap(text string) (map[string]any, error) {
	var m map[string]any
	if err := yaml.Unmarshal([]byte(text), &m); err != nil {
		return nil, PlainYAMLError(err)
	}
	return m, nil
}

// PlainYAMLError keeps names of Go types out of what users see.
func PlainYAMLError(err error) error {
	if _, text, ok := strings.Cut(err.Error(), "yaml: "); ok {
		return errors.New(rule.Clipped(strings.TrimPrefix(text, "unmarshal errors:\n  ")))
	}
	return errors.New("it is something else")
}
