package metadata

import (
	"errors"
	"fmt"
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

// LocalPackages finds code in a runtime environment that is given by a folder or a file, and not by a URI from which any node can get it.
func LocalPackages(runtimeEnv any, found func(field, local string)) {
	env, _ := runtimeEnv.(map[string]any)
	check := func(field string, value any) {
		if text, _ := value.(string); text != "" && !strings.Contains(text, "://") {
			found(field, text)
		}
	}
	check("working_dir", env["working_dir"])
	modules, _ := env["py_modules"].([]any)
	for i, module := range modules {
		check(fmt.Sprintf("py_modules[%d]", i), module)
	}
}

// PlainYAMLError keeps names of Go types out of what users see.
func PlainYAMLError(err error) error {
	if _, text, ok := strings.Cut(err.Error(), "yaml: "); ok {
		return errors.New(rule.Clipped(strings.TrimPrefix(text, "unmarshal errors:\n  ")))
	}
	return errors.New("it is something else")
}
