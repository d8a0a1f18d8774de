package cluster

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation/field"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/pkg/validation/cel"
	"github.com/raygate/raygate/pkg/validation/internal/metadata"
	"github.com/raygate/raygate/pkg/validation/internal/pods"
	"github.com/raygate/raygate/pkg/validation/internal/shell"
	"github.com/raygate/raygate/pkg/validation/rule"
)

var (
	wholeNumber = regexp.MustCompile(`^[0-9]+$`)
	anyNumber   = regexp.MustCompile(`^[0-9]+(\.[0-9]*)?$|^\.[0-9]+$`)
)

// secretParams are the start parameters with secret values.
var secretParams = map[string]bool{"redis-password": true, "redis-username": true}

// keepsCommand reports whether the user's own command runs instead of the generated `ray start`: because of an annotation, or because the
// command starts Ray itself.
func keepsCommand(c *Spec, g nodeGroup) bool {
	byAnnotation := func(of map[string]string) bool { return metadata.LowerTrue(of[rayv1.AnnotationOverwriteContainerCmd]) }
	container := RayContainer(g.template)
	startsRay := func(word string) bool { return strings.Contains(word, "ray start") }
	return byAnnotation(c.meta.Annotations) || byAnnotation(g.template.Annotations) ||
		container != nil && (slices.ContainsFunc(container.Command, startsRay) || slices.ContainsFunc(container.Args, startsRay))
}

// notChecked are the numbers that the rules leave alone.
const notChecked = "; not checked if a shell makes something else of it ($, quotes, backticks, backslashes) or the command of the user is kept"

var rc515 = rule.New(rule.Rule{ID: "RC-515", Field: "rayStartParams[num-cpus], [num-gpus], [system-reserved-cpu]", Condition: "not a number of at least 0, and a whole one but for system-reserved-cpu" + notChecked,
	Remedy:   "must be a whole number of at least 0; ray start refuses units and fractions",
	Policies: cel.WholeNumbers("num-cpus", "num-gpus")})
var rc516 = rule.New(rule.Rule{ID: "RC-516", Field: "rayStartParams[memory], [object-store-memory], [redis-max-memory], [system-reserved-memory]", Condition: "not a whole number of bytes of at least 0, without a unit" + notChecked,
	Remedy:   "give bytes as a whole number without a unit; ray start refuses others",
	Policies: cel.WholeNumbers("memory", "object-store-memory")})
var rc588 = rule.New(rule.Rule{ID: "RC-588", Field: "rayStartParams[object-store-memory]", Condition: "above the memory limit of the container, unless the command of the user is kept",
	Remedy: "is more than the memory limit of the container; leave room for the heap"})
var rc518 = rule.New(rule.Rule{ID: "RC-518", Field: "rayStartParams that are ports", Condition: "not a whole number in 0..65535, or min-worker-port above max-worker-port",
	Remedy: "must be a port number from 0 to 65535"})

// numbers are the start parameters that `ray start` reads as numbers.
var numbers = []struct {
	by    *rule.Rule
	isOne func(string) bool
	says  string
	names []string
}{
	{rc515, wholeNumber.MatchString, rc515.Remedy, []string{"num-cpus", "num-gpus"}},
	{rc515, anyNumber.MatchString, "must be a number of at least 0; ray start refuses units", []string{"system-reserved-cpu"}},
	{rc516, wholeNumber.MatchString, rc516.Remedy, []string{"memory", "object-store-memory", "redis-max-memory", "system-reserved-memory"}},
	{rc518, isPort, rc518.Remedy, []string{"port", "dashboard-port", "ray-client-server-port", "metrics-export-port", "node-manager-port",
		"object-manager-port", "dashboard-agent-listen-port", "min-worker-port", "max-worker-port",
		"dashboard-grpc-port", "dashboard-agent-grpc-port", "runtime-env-agent-port", "gcs-server-port"}},
}

func isPort(text string) bool {
	n, err := strconv.Atoi(text)
	return err == nil && n >= 0 && n <= 65535
}

// checkNumbers reports numbers with which `ray start` exits at once. Ports matter for every command, because the operator also makes
// Services of them.
func checkNumbers(out *rule.Report, c *Spec, g nodeGroup, path *field.Path) {
	kept, params := keepsCommand(c, g), g.rayStartParams
	for _, n := range numbers {
		for _, name := range n.names {
			v := params[name]
			if v != "" && !n.isOne(v) && !shell.Expands(v) && (n.by == rc518 || !kept) {
				out.Invalid(n.by, path.Key(name), v, n.says)
			}
		}
	}
	checkMemoryAndPorts(out, g, kept, path)
}

func checkMemoryAndPorts(out *rule.Report, g nodeGroup, kept bool, path *field.Path) {
	params := g.rayStartParams
	store := params["object-store-memory"]
	out.When(!kept && wholeNumber.MatchString(store) && aboveMemoryLimit(g, store)).Invalid(rc588, path.Key("object-store-memory"), store)
	low, errLow := strconv.Atoi(params["min-worker-port"])
	high, errHigh := strconv.Atoi(params["max-worker-port"])
	out.When(errLow == nil && errHigh == nil && low > high && high != 0).Invalid(rc518, path.Key("min-worker-port"), low, fmt.Sprintf("must not exceed max-worker-port, which is %d", high))
}

// param is a flag of ray start with its value.
type param struct {
	key, value string
	path       *field.Path
}

func checkStartParams(out *rule.Report, c *Spec, g nodeGroup, path *field.Path) {
	checkNumbers(out, c, g, path)
	for _, key := range slices.Sorted(maps.Keys(g.rayStartParams)) {
		p := param{key, g.rayStartParams[key], path.Key(key)}
		p.checkName(out, g)
		p.checkOverridden(out, c, g)
		p.checkText(out)
	}
	checkResourcesParam(out, g, path)
}

// bothParams are the flags of `ray start` for head and workers; headParams those for the head only.
var (
	bothParams = sets.New("address", "block", "dashboard-agent-grpc-port", "dashboard-agent-listen-port", "disable-usage-stats",
		"enable-object-reconstruction", "enable-resource-isolation", "labels", "labels-file", "log-color", "log-style", "max-worker-port",
		"memory", "metrics-export-port", "min-worker-port", "node-ip-address", "node-manager-port", "node-name", "num-cpus", "num-gpus",
		"object-manager-port", "object-spilling-directory", "object-store-memory", "plasma-directory", "plasma-store-socket-name",
		"raylet-socket-name", "redis-password", "redis-username", "resources", "runtime-env-agent-port", "system-reserved-cpu",
		"system-reserved-memory", "temp-dir", "tracing-startup-hook", "verbose", "worker-port-list", "cgroup-path", "no-redirect-output",
		"ray-debugger-external", "node-ip", "redis-shard-ports", "no-monitor", "autoscaling-config", "head")
	headParams = sets.New("port", "dashboard-host", "dashboard-port", "dashboard-grpc-port", "include-dashboard", "include-log-monitor",
		"num-redis-shards", "ray-client-server-port", "redis-max-memory", "storage", "system-config", "gcs-server-port")
)

var paramName = regexp.MustCompile(`^[a-z0-9][a-z0-9-]*$`)

var rc520 = rule.New(rule.Rule{ID: "RC-520", Field: "rayStartParams", Condition: "not a known flag of ray start, or one of the head on a worker"})
var rc528 = rule.New(rule.Rule{ID: "RC-528", Field: "rayStartParams", Condition: "key starts with -, or has white space or upper case; value has shell metacharacters without quotes"})

func (p param) checkName(out *rule.Report, g nodeGroup) {
	key, path := p.key, p.path
	switch {
	case !paramName.MatchString(key) && !bothParams.Has(strings.ReplaceAll(key, "_", "-")):
		out.Invalid(rc528, path, key, "write the flag of ray start in lower case, without leading dashes and blanks, as in num-cpus")
	case strings.Contains(key, "_"):
		out.Invalid(rc520, path, key, "is no flag of ray start; did you mean "+strings.ReplaceAll(key, "_", "-")+"?")
	case !g.head && headParams.Has(key):
		out.Invalid(rc520, path, key, "has a meaning on the head only; move it to headGroupSpec")
	case !bothParams.Has(key) && !headParams.Has(key):
		out.Invalid(rc520, path, key, "is not among the known flags of ray start; with a misspelt one Ray does not start")
	}
}

var rc521 = rule.New(rule.Rule{ID: "RC-521", Field: "rayStartParams", Condition: "block set to anything, address on the head, no-monitor with autoscaling, head"})

func (p param) checkOverridden(out *rule.Report, c *Spec, g nodeGroup) {
	var why string
	switch {
	case p.key == "block":
		why = "is always true; remove it"
	case p.key == "head":
		why = "is added to the head by the operator; remove it"
	case p.key == "address" && g.head:
		why = "makes the head join another cluster; remove it"
	case p.key == "no-monitor" && g.head && c.Autoscaling:
		why = "is always true with enableInTreeAutoscaling; remove it"
	default:
		return
	}
	out.Invalid(rc521, p.path, p.value, why)
}

// switches are the flags for which false is more than leaving the flag out.
var switches = sets.New("log-color", "include-dashboard", "include-log-monitor")

var rc531 = rule.New(rule.Rule{ID: "RC-531", Field: "rayStartParams", Condition: "value false for a flag other than log-color, include-dashboard, include-log-monitor",
	Remedy: "is dropped; leave the flag out instead"})

func (p param) checkText(out *rule.Report) {
	var shown any = p.value
	if secretParams[p.key] {
		shown = field.OmitValueType{}
	}
	out.When(strings.EqualFold(p.value, "false") && !switches.Has(p.key) && p.key != "block").Invalid(rc531, p.path, shown)
	out.When(!shell.OneWord(p.value)).Invalid(rc528, p.path, shown, "is passed through a shell without quotes; put the value in single quotes")
}

func aboveMemoryLimit(g nodeGroup, value string) bool {
	container := RayContainer(g.template)
	bytes, err := pods.ParseQuantity(value)
	if container == nil || err != nil {
		return false
	}
	limit := container.Resources.Limits.Memory()
	return !limit.IsZero() && bytes.Cmp(*limit) > 0
}

var rc517 = rule.New(rule.Rule{ID: "RC-517", Field: "rayStartParams[resources]", Condition: "after removing one pair of quotes not a JSON map of numbers",
	Remedy: `must be a JSON map of numbers in single quotes, as in '{"special": 1}'; GPUs are not detected otherwise`})

// checkResourcesParam reads the value as the operator does, which needs plain JSON after one pair of quotes.
func checkResourcesParam(out *rule.Report, g nodeGroup, path *field.Path) {
	value := g.rayStartParams["resources"]
	if value == "" || strings.Contains(value, "$") {
		return
	}
	text := value
	if n := len(text); n >= 2 && text[0] == text[n-1] && strings.ContainsRune("'\"`", rune(text[0])) {
		text = text[1 : n-1]
	}
	var amounts map[string]float64
	if err := json.Unmarshal([]byte(text), &amounts); err != nil {
		out.Invalid(rc517, path.Key("resources"), value)
	}
}

// servicePorts are the named ports of the head, and the start parameters that decide where Ray listens.
var servicePorts = []struct {
	name, param string
	byDefault   int32
}{
	{rayv1.PortGCSServer, "port", rayv1.DefaultGCSServerPort},
	{rayv1.PortDashboard, "dashboard-port", rayv1.DefaultDashboardPort},
	{rayv1.PortClient, "ray-client-server-port", rayv1.DefaultClientPort},
	{rayv1.PortMetrics, "metrics-export-port", rayv1.DefaultMetricsPort},
}

var rc519 = rule.New(rule.Rule{ID: "RC-519", Field: "headGroupSpec.template.spec.containers[0].ports", Condition: "port named gcs-server, dashboard, client or metrics is not where Ray listens"})
var rc559 = rule.New(rule.Rule{ID: "RC-559", Field: "headGroupSpec.template.spec.containers[0].ports", Condition: "ports given, none named dashboard",
	Remedy: "ports are listed, but none is named dashboard; jobs, Serve and status of the cluster need it, at 8265 usually"})

// checkHeadPorts reports container ports, which become Service ports, at which nothing listens.
func checkHeadPorts(out *rule.Report, c *Spec, g nodeGroup, path *field.Path) {
	container := RayContainer(g.template)
	if container == nil || len(container.Ports) == 0 {
		return
	}
	portsPath := path.Child("template", "spec", "containers").Index(0).Child("ports")
	for i, port := range container.Ports {
		for _, s := range servicePorts {
			if s.name != port.Name {
				continue
			}
			listens := int64(s.byDefault)
			if value := g.rayStartParams[s.param]; value != "" {
				n, err := strconv.ParseInt(value, 10, 32)
				if err != nil {
					continue // filled in by the shell, or reported by RC-518
				}
				listens = n
			}
			out.When(listens != int64(port.ContainerPort)).Invalid(rc519, portsPath.Index(i).Child("containerPort"), port.ContainerPort, fmt.Sprintf("Ray listens at %d; make it and rayStartParams[%s] the same", listens, s.param))
		}
	}
	// Another rule reports this for a RayJob and a RayService.
	out.When(c.Within == "" && !findsDashboard(&c.Spec.HeadGroupSpec)).Required(rc559, portsPath)
}
