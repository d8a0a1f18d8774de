package job

import (
	"encoding/json"
	"errors"
	"fmt"

	"sigs.k8s.io/yaml"
)

// RuntimeEnv converts a runtimeEnvYAML to one line of JSON with sorted keys. Text without content, such as a comment, gives nil.
func RuntimeEnv(text string) (json.RawMessage, error) {
	converted, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		return nil, fmt.Errorf("reading runtimeEnvYAML: %w", err)
	}
	var env map[string]json.RawMessage
	if err := json.Unmarshal(converted, &env); err != nil {
		return nil, errors.New("reading runtimeEnvYAML: it is not a map")
	}
	if env == nil {
		return nil, nil
	}
	return converted, nil
}

// EntrypointResources parses the JSON of entrypointResources, which HTTPMode sends as a map. Empty text gives nil.
func EntrypointResources(text string) (map[string]float64, error) {
	if text == "" {
		return nil, nil
	}
	var amounts map[string]float64
	if err := json.Unmarshal([]byte(text), &amounts); err != nil {
		return nil, errors.New("reading entrypointResources: it is not a JSON map of numbers")
	}
	return amounts, nil
}

func metadataJSON(metadata map[string]string) string {
	text, err := json.Marshal(metadata)
	if err != nil {
		return "{}" // strings can always be encoded
	}
	return string(text)
}
