// Package config embeds the registrations of device admission, so that the operator can restore them.
package config

import (
	"embed"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/yaml"
)

//go:embed components/device-admission/mutating_patch.yaml components/device-admission/validating_patch.yaml
var devices embed.FS

// namespace is the namespace in the manifests.
const namespace = "raygate-system"

// DeviceWebhook returns the webhook of device admission as registered by its component, for an operator in this namespace. The
// kind is "mutating" or "validating".
func DeviceWebhook(kind, operatorNamespace string) (map[string]any, error) {
	raw, err := devices.ReadFile("components/device-admission/" + kind + "_patch.yaml")
	if err != nil {
		return nil, fmt.Errorf("reading the %s webhook of device admission: %w", kind, err)
	}
	if raw, err = yaml.ToJSON([]byte(strings.ReplaceAll(string(raw), namespace, operatorNamespace))); err != nil {
		return nil, fmt.Errorf("decoding the %s webhook of device admission: %w", kind, err)
	}
	var patch []any // with the integer type of unstructured objects
	if err := json.Unmarshal(raw, &patch); err != nil {
		return nil, fmt.Errorf("decoding the %s webhook of device admission: %w", kind, err)
	}
	return patch[0].(map[string]any)["value"].(map[string]any), nil
}
