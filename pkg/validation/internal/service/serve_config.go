package service

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation/field"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/pkg/validation/internal/cluster"
	"github.com/raygate/raygate/pkg/validation/internal/metadata"
	"github.com/raygate/raygate/pkg/validation/rule"
)

var rs502 = rule.New(rule.Rule{ID: "RS-502", Field: "spec.serveConfigV2", Condition: "not YAML for a map", Peer: rule.ByStep, Same: []string{"RS-026"}})

// serveConfig is a Serve configuration under validation. path is the path of the text, so messages contain the position in it.
type serveConfig struct {
	out  *rule.Report
	path *field.Path
}

// asJSON shows a value from YAML in one line.
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

func (c *serveConfig) warn(by *rule.Rule, value any, where, detail string) {
	c.out.Invalid(by, c.path, value, where+" "+detail)
}

var rs509 = rule.New(rule.Rule{ID: "RS-509", Field: "spec.serveConfigV2", Condition: "has the form for a single application"})

// checkServeConfig reports configuration that Ray Serve refuses or ignores.
func checkServeConfig(out *rule.Report, s *service, path *field.Path) {
	config, err := metadata.YAMLMap(s.Spec.ServeConfigV2)
	if err != nil {
		out.Invalid(rs502, path, s.Spec.ServeConfigV2, "must be YAML for a map with applications: "+err.Error())
		return
	}
	c := &serveConfig{out: out, path: path}
	if old := singleAppKey(config); old != "" {
		c.warn(rs509, old, old, "belongs to the configuration of a single application, which is not deployed; list the application under applications")
	} else {
		c.applications(config)
	}
	c.httpOptions(s, config)
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

var rs503 = rule.New(rule.Rule{ID: "RS-503", Field: "spec.serveConfigV2", Condition: "applications missing, empty or no list"})

func (c *serveConfig) applications(config map[string]any) {
	raw, set := config["applications"]
	list, isList := raw.([]any)
	switch {
	case !set || raw == nil:
		c.out.Required(rs503, c.path, "has no applications, so that nothing is served; list them")
		return
	case !isList:
		c.warn(rs503, asJSON(raw), "applications", "must be a list")
		return
	case len(list) == 0:
		c.out.Required(rs503, c.path, "applications is empty, so that nothing is served")
		return
	}
	names, prefixes := map[string]bool{}, map[string]bool{}
	for i, item := range list {
		where := fmt.Sprintf("applications[%d]", i)
		app, isMap := item.(map[string]any)
		if !isMap {
			c.warn(rs503, asJSON(item), where, "must be a map with name, import_path and route_prefix")
			continue
		}
		c.appName(app, names, where+".name")
		c.routePrefix(app, prefixes, where+".route_prefix")
		c.importPath(app, where+".import_path")
		c.runtimeEnv(app, where)
		c.deployments(app, where+".deployments")
	}
}

var rs504 = rule.New(rule.Rule{ID: "RS-504", Field: "spec.serveConfigV2", Condition: "name of an application missing or repeated"})

func (c *serveConfig) appName(app map[string]any, seen map[string]bool, where string) {
	name, given := app["name"].(string)
	switch {
	case app["name"] != nil && !given:
		c.warn(rs504, asJSON(app["name"]), where, "must be text")
		return
	case name == "":
		c.warn(rs504, "", where, "is missing; give each application a name of its own")
		name = "default"
	}
	if seen[name] {
		c.warn(rs504, name, where, "is the name of an earlier application too; give each a name of its own")
	}
	seen[name] = true
}

var rs505 = rule.New(rule.Rule{ID: "RS-505", Field: "spec.serveConfigV2", Condition: "route_prefix repeated, without a slash before it, or with one after it"})

func (c *serveConfig) routePrefix(app map[string]any, seen map[string]bool, where string) {
	raw, set := app["route_prefix"]
	if set && raw == nil {
		return // not reachable by HTTP, on purpose
	}
	prefix := "/"
	if set {
		text, isText := raw.(string)
		if !isText {
			c.warn(rs505, asJSON(raw), where, "must be text")
			return
		}
		prefix = text
	}
	switch {
	case !strings.HasPrefix(prefix, "/"):
		c.warn(rs505, prefix, where, "must begin with a slash")
	case len(prefix) > 1 && strings.HasSuffix(prefix, "/"):
		c.warn(rs505, prefix, where, "must not end with a slash")
	case strings.ContainsAny(prefix, "{}"):
		c.warn(rs505, prefix, where, "must not have braces")
	}
	if seen[prefix] {
		c.warn(rs505, prefix, where, "is that of an earlier application too; give each a path of its own")
	}
	seen[prefix] = true
}

// importable matches module:attribute and module.attribute.
var importable = regexp.MustCompile(`^[^:\s]+(\.[^:.\s]+|:[^:\s]+)$`)

var rs506 = rule.New(rule.Rule{ID: "RS-506", Field: "spec.serveConfigV2", Condition: "import_path of an application missing, or not module:attribute"})

func (c *serveConfig) importPath(app map[string]any, where string) {
	switch text, isText := app["import_path"].(string); {
	case app["import_path"] == nil:
		c.warn(rs506, "", where, "is missing; give module:attribute, as in main:app")
	case !isText || !importable.MatchString(text):
		c.warn(rs506, asJSON(app["import_path"]), where, "must be module:attribute, as in main:app")
	}
}

var rs527 = rule.New(rule.Rule{ID: "RS-527", Field: "spec.serveConfigV2", Condition: "runtime_env of an application, or of ray_actor_options of a deployment: working_dir or an entry of py_modules is no URI"})

func (c *serveConfig) runtimeEnv(owner map[string]any, where string) {
	metadata.LocalPackages(owner["runtime_env"], func(field, local string) {
		c.warn(rs527, local, where+".runtime_env."+field, "must be a URI, as in https://example.com/app.zip or s3://bucket/app.zip; Ray Serve refuses folders and files")
	})
}

// deploymentKeys are the keys of a deployment that Ray Serve supports.
var deploymentKeys = sets.New("name", "num_replicas", "max_ongoing_requests", "max_concurrent_queries", "max_queued_requests", "user_config",
	"autoscaling_config", "graceful_shutdown_wait_loop_s", "graceful_shutdown_timeout_s", "health_check_period_s", "health_check_timeout_s",
	"ray_actor_options", "placement_group_bundles", "placement_group_strategy", "placement_group_bundle_label_selector",
	"placement_group_fallback_strategy", "max_replicas_per_node", "logging_config", "request_router_config", "route_prefix", "rolling_update_percentage",
	"max_constructor_retry_count", "gang_scheduling_config", "deployment_actors")

var rs507 = rule.New(rule.Rule{ID: "RS-507", Field: "spec.serveConfigV2", Condition: "deployments: name missing or repeated, num_replicas next to autoscaling_config, min_replicas above max_replicas, unknown keys"})

func (c *serveConfig) deployments(app map[string]any, where string) {
	raw, set := app["deployments"]
	if !set || raw == nil {
		return
	}
	list, isList := raw.([]any)
	if !isList {
		c.warn(rs507, asJSON(raw), where, "must be a list")
		return
	}
	names := map[string]bool{}
	for i, item := range list {
		at := fmt.Sprintf("%s[%d]", where, i)
		d, isMap := item.(map[string]any)
		if !isMap {
			c.warn(rs507, asJSON(item), at, "must be a map")
			continue
		}
		switch name, _ := d["name"].(string); {
		case name == "":
			c.warn(rs507, "", at+".name", "is missing; name the deployment that this is for")
		case names[name]:
			c.warn(rs507, name, at+".name", "is the name of an earlier deployment too; put both into one")
		default:
			names[name] = true
		}
		c.scaling(d, at)
		if options, set := d["ray_actor_options"].(map[string]any); set {
			c.runtimeEnv(options, at+".ray_actor_options")
		}
		for _, key := range slices.Sorted(maps.Keys(d)) {
			if !deploymentKeys.Has(key) {
				c.warn(rs507, key, at, "has a field that Ray Serve is not known to have; look for a misspelling")
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
		c.warn(rs507, n, where+".num_replicas", "cannot be a number next to autoscaling_config; keep one of the two")
	}
	low, hasLow := auto["min_replicas"].(float64)
	high, hasHigh := auto["max_replicas"].(float64)
	if hasLow && hasHigh && low > high {
		c.warn(rs507, low, where+".autoscaling_config.min_replicas", fmt.Sprintf("must not exceed max_replicas, which is %v", high))
	}
}

var rs508 = rule.New(rule.Rule{ID: "RS-508", Field: "spec.serveConfigV2", Condition: "http_options.port is not that of the container port named serve, or host is not 0.0.0.0"})

// httpOptions compares where Serve listens with where the Service sends requests.
func (c *serveConfig) httpOptions(s *service, config map[string]any) {
	options, set := config["http_options"].(map[string]any)
	if !set {
		return
	}
	if host, given := options["host"].(string); given && host != "0.0.0.0" {
		c.warn(rs508, host, "http_options.host", "must be 0.0.0.0, or no request from outside the Pod arrives")
	}
	port, given := options["port"].(float64)
	if want := servePort(s); given && want != 0 && port != float64(want) {
		c.warn(rs508, port, "http_options.port", fmt.Sprintf("must be that of the container port named serve, which is %d", want))
	}
}

// servePort is the number of the container port named serve, or 0 if there is none.
func servePort(s *service) int32 {
	container := cluster.RayContainer(&s.Spec.RayClusterSpec.HeadGroupSpec.Template)
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
