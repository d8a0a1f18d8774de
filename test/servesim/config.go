package servesim

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	strict "sigs.k8s.io/json"
)

// config is the body of a PUT.
type config struct {
	instance
	Texts    []json.RawMessage `json:"applications"`
	Capacity *float64          `json:"target_capacity"`

	applications []application
}

// instance has the settings that only apply when Serve starts.
type instance struct {
	ProxyLocation string `json:"proxy_location"`
	HTTP          struct {
		Host     string `json:"host"`
		Port     *int   `json:"port"`
		RootPath string `json:"root_path"`
	} `json:"http_options"`
	GRPC map[string]any `json:"grpc_options"`
}

// application is one of a config.
type application struct {
	Name       *string           `json:"name"`
	ImportPath string            `json:"import_path"`
	RuntimeEnv runtimeEnv        `json:"runtime_env"`
	Texts      []json.RawMessage `json:"deployments"`
	Host       any               `json:"host"`
	Port       any               `json:"port"`

	deployments []deployment
	route       *string // nil: not exposed
	raw         map[string]any
	code        string // equal for equal code
}

type runtimeEnv struct {
	WorkingDir string            `json:"working_dir"`
	PyModules  []string          `json:"py_modules"`
	EnvVars    map[string]string `json:"env_vars"`
}

// deployment is a deployment in a config.
type deployment struct {
	Name             string         `json:"name"`
	NumReplicas      any            `json:"num_replicas"`
	Autoscaling      map[string]any `json:"autoscaling_config"`
	MaxOngoing       *float64       `json:"max_ongoing_requests"`
	MaxQueued        *float64       `json:"max_queued_requests"`
	HealthPeriod     *float64       `json:"health_check_period_s"`
	HealthTimeout    *float64       `json:"health_check_timeout_s"`
	UserConfig       any            `json:"user_config"`
	MaxPerNode       *int           `json:"max_replicas_per_node"`
	PlacementBundles []any          `json:"placement_group_bundles"`
	RayActorOptions  map[string]any `json:"ray_actor_options"`

	raw      map[string]any
	required map[string]any // resources
}

const defaultRoute = "/"

var errNotJSON = errors.New("the request body is not JSON")

// decode reads a config. errNotJSON means the answer for an internal failure of Ray; all other errors are the client's.
func decode(body []byte) (config, error) {
	if !json.Valid(body) {
		return config{}, errNotJSON
	}
	var c config
	if err := strict.UnmarshalCaseSensitivePreserveInts(body, &c); err != nil {
		return config{}, err
	}
	if c.Texts == nil {
		return config{}, errors.New("applications: field required")
	}
	for i, text := range c.Texts {
		a, err := newApplication(text)
		if err != nil {
			return config{}, fmt.Errorf("applications[%d]: %w", i, err)
		}
		c.applications = append(c.applications, a)
	}
	return c, errors.Join(c.errors()...)
}

// newApplication sets the fields that depend on the text: absent ones, as distinguished from null, and the parts that are kept unchanged.
func newApplication(text []byte) (application, error) {
	var a application
	err := decodeInto(text, &a, &a.raw)
	if err != nil {
		return a, err
	}
	if a.route, err = routeOf(a.raw); err != nil {
		return a, err
	}
	if a.Name == nil {
		a.Name = new("default")
	}
	code, err := json.Marshal([]any{a.ImportPath, a.raw["runtime_env"], a.raw["args"]})
	if err != nil {
		return a, err
	}
	sum := sha256.Sum256(code)
	a.code = hex.EncodeToString(sum[:8])
	if len(a.Texts) == 0 {
		name, err := json.Marshal(a.ImportPath[strings.LastIndexAny(a.ImportPath, ".:")+1:])
		if err != nil {
			return a, err
		}
		a.Texts = []json.RawMessage{slices.Concat([]byte(`{"name":`), name, []byte("}"))}
	}
	for i, text := range a.Texts {
		d, err := newDeployment(text)
		if err != nil {
			return a, fmt.Errorf("deployments[%d]: %w", i, err)
		}
		a.deployments = append(a.deployments, d)
	}
	return a, nil
}

// decodeInto decodes a text into each of the values.
func decodeInto(text []byte, values ...any) error {
	for _, v := range values {
		if err := strict.UnmarshalCaseSensitivePreserveInts(text, v); err != nil {
			return err
		}
	}
	return nil
}

// routeOf is the route of an application; nil if it has none on purpose.
func routeOf(raw map[string]any) (*string, error) {
	switch prefix, given := raw["route_prefix"]; prefix := prefix.(type) {
	case nil:
		if given {
			return nil, nil
		}
		return new(defaultRoute), nil
	case string:
		return &prefix, nil
	}
	return nil, errors.New("route_prefix: must be a string or null")
}

// newDeployment adds the resources that each replica needs.
func newDeployment(text []byte) (deployment, error) {
	d := deployment{required: map[string]any{"CPU": 1}}
	if err := decodeInto(text, &d, &d.raw); err != nil {
		return d, err
	}
	for option, resource := range map[string]string{"num_cpus": "CPU", "num_gpus": "GPU"} {
		if v, ok := d.RayActorOptions[option]; ok {
			d.required[resource] = v
		}
	}
	return d, nil
}

// errors are the rules of Ray's schema.
func (c *config) errors() []error {
	var errs []error
	say := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	if c.Capacity != nil && (*c.Capacity < 0 || *c.Capacity > 100) {
		say("target_capacity: must be between 0 and 100")
	}
	if !slices.Contains([]string{"", everyNode, headOnly, disabled}, c.ProxyLocation) {
		say("proxy_location: %q is none of EveryNode, HeadOnly, Disabled", c.ProxyLocation)
	}
	names, routes := map[string]bool{}, map[string]bool{}
	for i := range c.applications {
		a := &c.applications[i]
		if *a.Name == "" {
			say("applications[%d].name: must not be empty", i)
		}
		if names[*a.Name] {
			say("applications[%d].name: %q is used twice", i, *a.Name)
		}
		names[*a.Name] = true
		if p := a.route; p != nil {
			if routes[*p] {
				say("applications[%d].route_prefix: %q is used twice", i, *p)
			}
			routes[*p] = true
		}
		for _, err := range a.errors() {
			say("applications[%d].%w", i, err)
		}
	}
	return errs
}

func (a *application) errors() []error {
	var errs []error
	say := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	if !importable(a.ImportPath) {
		say("import_path: %q must be module.attribute or module:attribute", a.ImportPath)
	}
	for _, dir := range append([]string{a.RuntimeEnv.WorkingDir}, a.RuntimeEnv.PyModules...) {
		if dir != "" && !strings.Contains(dir, "://") {
			say("runtime_env: %q must be a remote URI", dir)
		}
	}
	if a.Host != nil || a.Port != nil {
		say("host, port: must be set in http_options of the config")
	}
	for i := range a.deployments {
		for _, err := range a.deployments[i].errors() {
			say("deployments[%d].%w", i, err)
		}
	}
	return errs
}

// routable reports whether requests can be routed there. Ray checks it when it builds the application, and not before.
func (a *application) routable() bool {
	p := a.route
	return p == nil || strings.HasPrefix(*p, "/") && (*p == "/" || !strings.HasSuffix(*p, "/")) && !strings.ContainsAny(*p, "{}")
}

// importable reports whether a path is module.attribute or module:attribute.
func importable(path string) bool {
	module, attribute, colon := strings.Cut(path, ":")
	if !colon {
		at := strings.LastIndex(path, ".")
		module, attribute = path[:max(at, 0)], path[at+1:]
	}
	return module != "" && attribute != "" && !strings.Contains(attribute, ":")
}

func (d *deployment) errors() []error {
	var errs []error
	say := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	if d.Name == "" {
		say("name: field required")
	}
	errs = append(errs, d.replicaErrors()...)
	for name, v := range map[string]*float64{
		"max_ongoing_requests": d.MaxOngoing, "health_check_period_s": d.HealthPeriod, "health_check_timeout_s": d.HealthTimeout,
	} {
		if v != nil && *v <= 0 {
			say("%s: must be positive", name)
		}
	}
	if q := d.MaxQueued; q != nil && *q != -1 && *q <= 0 {
		say("max_queued_requests: must be -1 or positive")
	}
	if d.MaxPerNode != nil && d.PlacementBundles != nil {
		say("max_replicas_per_node: must not be set together with placement groups")
	}
	return errs
}

// replicaErrors are the rules about num_replicas.
func (d *deployment) replicaErrors() (errs []error) {
	n, number := d.NumReplicas.(int64)
	switch {
	case d.NumReplicas == nil, d.NumReplicas == "auto":
		return nil
	case !number:
		return []error{errors.New("num_replicas: must be an integer or auto")}
	}
	if n < 1 {
		errs = append(errs, errors.New("num_replicas: must be positive"))
	}
	if d.Autoscaling != nil {
		errs = append(errs, errors.New("num_replicas: must not be a number together with autoscaling_config"))
	}
	return errs
}

// target is how many replicas the deployment is to have at a capacity.
func (d *deployment) target(capacity *float64) int {
	n := 1
	if v, ok := d.NumReplicas.(int64); ok {
		n = int(v)
	}
	for _, key := range []string{"min_replicas", "initial_replicas"} {
		if v, ok := d.Autoscaling[key].(int64); ok && v >= 0 {
			n = int(v)
		}
	}
	switch {
	case capacity == nil || *capacity == 100:
		return n
	case *capacity == 0 || n == 0:
		return 0
	}
	return max(1, int(float64(n)**capacity/100+0.5))
}

// Variables of an application that configure its failures, and their values.
const (
	failVariable  = "RAYGATE_SIM_SERVE_FAIL"
	buildVariable = "RAYGATE_SIM_SERVE_BUILD"
	failBuild     = "build"
	failReplica   = "replica"
	failHealth    = "health"
)

func (a *application) fails(what string) bool { return a.RuntimeEnv.EnvVars[failVariable] == what }

func (a *application) buildTime(byDefault time.Duration) time.Duration {
	if d, err := time.ParseDuration(a.RuntimeEnv.EnvVars[buildVariable]); err == nil && d >= 0 {
		return d
	}
	return byDefault
}
