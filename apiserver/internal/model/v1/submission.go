package v1

import (
	"encoding/json"
	"math"
	"strconv"
	"time"

	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/yaml"
)

// RuntimeEnv returns the JSON object that the YAML text of a runtime environment is; nil for no text.
func RuntimeEnv(text string, path *field.Path) (json.RawMessage, field.ErrorList) {
	if text == "" {
		return nil, nil
	}
	data, err := yaml.YAMLToJSONStrict([]byte(text))
	var object map[string]any
	if err != nil || json.Unmarshal(data, &object) != nil || object == nil {
		return nil, field.ErrorList{field.Invalid(path, "", "is not a mapping in YAML, such as: pip: [requests]")}
	}
	return data, nil
}

// EntrypointResources returns the amounts that a submission reserves.
func EntrypointResources(all map[string]string, path *field.Path) (map[string]float64, field.ErrorList) {
	var errs field.ErrorList
	out := map[string]float64{}
	for name, text := range all {
		amount, err := strconv.ParseFloat(text, 64)
		if err != nil || !(amount >= 0) || math.IsInf(amount, 0) {
			errs = append(errs, field.Invalid(path.Key(name), text, "is not an amount: write a number such as 1 or 0.5"))
		}
		out[name] = amount
	}
	return out, errs
}

// RuntimeEnvText shows a runtime environment as V1 has it: the top-level keys, each with its value as JSON, and texts as they are.
func RuntimeEnvText(data json.RawMessage) map[string]string {
	var object map[string]json.RawMessage
	if json.Unmarshal(data, &object) != nil || len(object) == 0 {
		return nil
	}
	out := map[string]string{}
	for key, value := range object {
		var text string
		if json.Unmarshal(value, &text) != nil || string(value) == "null" {
			text = string(value)
		}
		out[key] = text
	}
	return out
}

// Millis is a time in V1's format for submissions; zero for none.
func Millis(t time.Time) uint64 {
	if t.IsZero() || t.UnixMilli() < 0 {
		return 0
	}
	return uint64(t.UnixMilli())
}
