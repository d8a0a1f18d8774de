package serveplan

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"

	"sigs.k8s.io/yaml"
)

// Keys of a Serve configuration.
const (
	keyApplications = "applications"
	keyCapacity     = "target_capacity"
	keyLocation     = "proxy_location"
	keyHTTP         = "http_options"
	keyGRPC         = "grpc_options"
	defaultName     = "default"
)

// Config is a configuration of Ray Serve. The zero value is empty.
type Config struct {
	top          map[string]json.RawMessage
	applications map[string]any
}

// ParseConfig parses spec.serveConfigV2 in YAML or JSON. Numbers keep their form.
func ParseConfig(text string) (Config, error) {
	converted, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		return Config{}, fmt.Errorf("reading serveConfigV2: %w", err)
	}
	var c Config
	if err := json.Unmarshal(converted, &c.top); err != nil {
		return Config{}, errors.New("reading serveConfigV2: it is not a map")
	}
	var list []any
	if raw, given := c.top[keyApplications]; given && json.Unmarshal(raw, &list) != nil {
		return c, nil //nolint:nilerr // Ray reports the error
	}
	c.applications = map[string]any{}
	for _, item := range list {
		if app, ok := item.(map[string]any); ok {
			c.applications[nameOf(app)] = app
		}
	}
	return c, nil
}

func nameOf(app map[string]any) string {
	if name, ok := app["name"].(string); ok && name != "" {
		return name
	}
	return defaultName
}

// DeployedConfig returns the configuration that Ray reports: the deployed configuration of each application, and the options with
// which Serve was started. Nil means unknown.
func DeployedConfig(applications map[string]json.RawMessage, location, http, grpc json.RawMessage) Config {
	c := Config{top: map[string]json.RawMessage{}, applications: map[string]any{}}
	list := []json.RawMessage{}
	for _, name := range sortedKeys(applications) {
		var app any
		if json.Unmarshal(applications[name], &app) != nil {
			continue
		}
		c.applications[name] = app
		list = append(list, applications[name])
	}
	text, err := json.Marshal(list)
	if err != nil {
		return Config{} // not reached: all values were decoded
	}
	for key, value := range map[string]json.RawMessage{keyApplications: text, keyLocation: location, keyHTTP: http, keyGRPC: grpc} {
		if value != nil {
			c.top[key] = value
		}
	}
	return c
}

// Capacity returns the target capacity in the configuration, in whole percent; 100 if there is none.
func (c Config) Capacity() int32 {
	var percent *float64
	if json.Unmarshal(c.top[keyCapacity], &percent) != nil || percent == nil || *percent < 0 || *percent > 100 {
		return 100
	}
	return int32(*percent + 0.5)
}

// HTTPOptions returns the options of the HTTP proxies as JSON; nil for the defaults.
func (c Config) HTTPOptions() json.RawMessage { return c.top[keyHTTP] }

// Empty reports whether the configuration has no applications.
func (c Config) Empty() bool { return len(c.applications) == 0 }

// Runs reports whether Ray runs this configuration, according to the deployed applications that it reports. It is false for a
// configuration with settings that Ray does not report.
func (c Config) Runs(deployed map[string]json.RawMessage) bool {
	for key := range c.top {
		switch key {
		case keyApplications, keyCapacity, keyLocation, keyHTTP, keyGRPC: // the last three apply only when Serve starts
		default:
			return false
		}
	}
	if len(deployed) != len(c.applications) || c.Empty() {
		return false
	}
	for name, wanted := range c.applications {
		var found any
		if json.Unmarshal(deployed[name], &found) != nil || !reflect.DeepEqual(wanted, found) {
			return false
		}
	}
	return true
}

// Body returns the JSON for Ray on one line with sorted keys. It includes the capacity unless that is nil.
func (c Config) Body(capacity *int32) json.RawMessage {
	top := map[string]json.RawMessage{}
	maps.Copy(top, c.top)
	if capacity != nil {
		top[keyCapacity] = fmt.Appendf(nil, "%d", *capacity)
	}
	text, err := json.Marshal(top)
	if err != nil {
		return json.RawMessage("{}") // not reached: all values were decoded
	}
	return text
}
