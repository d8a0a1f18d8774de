package validation

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
)

// validateServeConfig refuses text that can never be sent to Ray Serve.
func validateServeConfig(text string, path *field.Path) field.ErrorList {
	if _, err := yamlMap(text); err != nil {
		return field.ErrorList{invalid("RS-502", path, clipped(text), "must be YAML for a map with applications: "+err.Error())}
	}
	return nil
}

// serveConfig is a Serve configuration under test. The path is that of the text, so messages say where in it.
type serveConfig struct {
	path     *field.Path
	warnings field.ErrorList
}

// asJSON shows what somebody wrote in YAML in one line.
func asJSON(value any) string {
	if text, ok := value.(string); ok {
		return text
	}
	const enough = 64
	data, err := json.Marshal(value)
	if err != nil || len(data) > enough {
		return fmt.Sprintf("%.*s...", enough, data)
	}
	return string(data)
}

func (c *serveConfig) warn(id string, value any, where, detail string) {
	if text, ok := value.(string); ok {
		value = clipped(text)
	}
	c.warnings = append(c.warnings, invalid(id, c.path, value, where+" "+detail))
}

// warnServeConfig tells of what Ray Serve will refuse or not do.
func warnServeConfig(s *service, path *field.Path) field.ErrorList {
	config, err := yamlMap(s.Spec.ServeConfigV2)
	if err != nil {
		return nil
	}
	c := &serveConfig{path: path}
	if old := singleAppKey(config); old != "" {
		c.warn("RS-509", old, old, "belongs to the configuration of a single application, which is not deployed; list the application under applications")
	} else {
		c.applications(config)
	}
	c.httpOptions(s, config)
	return c.warnings
}

// singleAppKey finds a key of the configuration that Ray Serve had before it knew several applications.
func singleAppKey(config map[string]any) string {
	if _, multi := config["applications"]; multi {
		return ""
	}
	for _, key := range []string{"import_path", "importPath", "deploymentGraph", "deployment_graph", "deployments", "runtime_env", "runtimeEnv"} {
		if _, set := config[key]; set {
			return key
		}
	}
	return ""
}

func (c *serveConfig) applications(config map[string]any) {
	raw, set := config["applications"]
	list, isList := raw.([]any)
	switch {
	case !set || raw == nil:
		c.warnings = append(c.warnings, required("RS-503", c.path, "has no applications, so that nothing is served; list them"))
		return
	case !isList:
		c.warn("RS-503", asJSON(raw), "applications", "must be a list")
		return
	case len(list) == 0:
		c.warnings = append(c.warnings, required("RS-503", c.path, "applications is empty, so that nothing is served"))
		return
	}
	names, prefixes := map[string]bool{}, map[string]bool{}
	for i, item := range list {
		where := fmt.Sprintf("applications[%d]", i)
		app, isMap := item.(map[string]any)
		if !isMap {
			c.warn("RS-503", asJSON(item), where, "must be a map with name, import_path and route_prefix")
			continue
		}
		c.appName(app, names, where+".name")
		c.routePrefix(app, prefixes, where+".route_prefix")
		c.importPath(app, where+".import_path")
		c.deployments(app, where+".deployments")
	}
}

func (c *serveConfig) appName(app map[string]any, seen map[string]bool, where string) {
	name, given := app["name"].(string)
	switch {
	case app["name"] != nil && !given:
		c.warn("RS-504", asJSON(app["name"]), where, "must be text")
		return
	case name == "":
		c.warn("RS-504", "", where, "is missing; give each application a name of its own")
		name = "default"
	}
	if seen[name] {
		c.warn("RS-504", name, where, "is the name of an earlier application too; give each a name of its own")
	}
	seen[name] = true
}

func (c *serveConfig) routePrefix(app map[string]any, seen map[string]bool, where string) {
	raw, set := app["route_prefix"]
	if set && raw == nil {
		return // not reachable by HTTP, on purpose
	}
	prefix := "/"
	if set {
		text, isText := raw.(string)
		if !isText {
			c.warn("RS-505", asJSON(raw), where, "must be text")
			return
		}
		prefix = text
	}
	switch {
	case !strings.HasPrefix(prefix, "/"):
		c.warn("RS-505", prefix, where, "must begin with a slash")
	case len(prefix) > 1 && strings.HasSuffix(prefix, "/"):
		c.warn("RS-505", prefix, where, "must not end with a slash")
	case strings.ContainsAny(prefix, "{}"):
		c.warn("RS-505", prefix, where, "must not have braces")
	}
	if seen[prefix] {
		c.warn("RS-505", prefix, where, "is that of an earlier application too; give each a path of its own")
	}
	seen[prefix] = true
}

// importable matches module:attribute and module.attribute.
var importable = regexp.MustCompile(`^[^:\s]+(\.[^:.\s]+|:[^:\s]+)$`)

func (c *serveConfig) importPath(app map[string]any, where string) {
	switch text, isText := app["import_path"].(string); {
	case app["import_path"] == nil:
		c.warn("RS-506", "", where, "is missing; give module:attribute, as in main:app")
	case !isText || !importable.MatchString(text):
		c.warn("RS-506", asJSON(app["import_path"]), where, "must be module:attribute, as in main:app")
	}
}

// deploymentKeys are what Ray Serve knows of a deployment.
var deploymentKeys = paramSet("name", "num_replicas", "max_ongoing_requests", "max_concurrent_queries", "max_queued_requests", "user_config",
	"autoscaling_config", "graceful_shutdown_wait_loop_s", "graceful_shutdown_timeout_s", "health_check_period_s", "health_check_timeout_s",
	"ray_actor_options", "placement_group_bundles", "placement_group_strategy", "placement_group_bundle_label_selector",
	"placement_group_fallback_strategy", "max_replicas_per_node", "logging_config", "request_router_config", "route_prefix", "rolling_update_percentage",
	"max_constructor_retry_count", "gang_scheduling_config", "deployment_actors")

func (c *serveConfig) deployments(app map[string]any, where string) {
	raw, set := app["deployments"]
	if !set || raw == nil {
		return
	}
	list, isList := raw.([]any)
	if !isList {
		c.warn("RS-507", asJSON(raw), where, "must be a list")
		return
	}
	names := map[string]bool{}
	for i, item := range list {
		at := fmt.Sprintf("%s[%d]", where, i)
		d, isMap := item.(map[string]any)
		if !isMap {
			c.warn("RS-507", asJSON(item), at, "must be a map")
			continue
		}
		switch name, _ := d["name"].(string); {
		case name == "":
			c.warn("RS-507", "", at+".name", "is missing; name the deployment that this is for")
		case names[name]:
			c.warn("RS-507", name, at+".name", "is the name of an earlier deployment too; put both into one")
		default:
			names[name] = true
		}
		c.scaling(d, at)
		for _, key := range slices.Sorted(maps.Keys(d)) {
			if !deploymentKeys[key] {
				c.warn("RS-507", key, at, "has a field that Ray Serve is not known to have; look for a misspelling")
			}
		}
	}
}

func (c *serveConfig) scaling(d map[string]any, where string) {
	auto, set := d["autoscaling_config"].(map[string]any)
	if !set {
		return
	}
	if n, fixed := d["num_replicas"].(float64); fixed {
		c.warn("RS-507", n, where+".num_replicas", "cannot be a number next to autoscaling_config; keep one of the two")
	}
	low, hasLow := auto["min_replicas"].(float64)
	high, hasHigh := auto["max_replicas"].(float64)
	if hasLow && hasHigh && low > high {
		c.warn("RS-507", low, where+".autoscaling_config.min_replicas", fmt.Sprintf("must not exceed max_replicas, which is %v", high))
	}
}

// httpOptions compares where Serve listens with where the Service sends requests.
func (c *serveConfig) httpOptions(s *service, config map[string]any) {
	options, set := config["http_options"].(map[string]any)
	if !set {
		return
	}
	if host, given := options["host"].(string); given && host != "0.0.0.0" {
		c.warn("RS-508", host, "http_options.host", "must be 0.0.0.0, or no request from outside the Pod arrives")
	}
	port, given := options["port"].(float64)
	if want := servePort(s); given && want != 0 && port != float64(want) {
		c.warn("RS-508", port, "http_options.port", fmt.Sprintf("must be that of the container port named serve, which is %d", want))
	}
}

// servePort is the number of the container port named serve, or 0 when there is none.
func servePort(s *service) int32 {
	container := rayContainer(&s.Spec.RayClusterSpec.HeadGroupSpec.Template)
	if container == nil || len(container.Ports) == 0 {
		return rayv1.DefaultServePort
	}
	for _, p := range container.Ports {
		if p.Name == rayv1.PortServe {
			return p.ContainerPort
		}
	}
	return 0
}
