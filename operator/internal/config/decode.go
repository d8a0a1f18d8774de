package config

import (
	"errors"
	"fmt"

	"github.com/raygate/raygate/pkg/kubedoc"
)

// Decode reads one YAML or JSON document. All unknown, repeated and mistyped fields are reported at once,
// each with its path: an operator that ignored a misspelt field would run with a setting that nobody chose.
func Decode(data []byte) (*Configuration, error) {
	tree, mistakes := kubedoc.Read(data, true)
	if tree == nil {
		return nil, fmt.Errorf("%s; it must be one object with apiVersion: %s and kind: %s", mistakes[0].Detail, APIVersion, Kind)
	}
	c := &Configuration{}
	mistakes = kubedoc.Join(mistakes, kubedoc.Decode(tree, c, nil))
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
