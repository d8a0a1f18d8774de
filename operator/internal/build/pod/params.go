package pod

import (
	"cmp"
	"encoding/json"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/operator/internal/build/names"
	"github.com/raygate/raygate/operator/internal/build/resources"
	"github.com/raygate/raygate/pkg/devices/raycount"
)

// Names of start parameters that the operator sets or reads.
const (
	paramResources       = raycount.ParamResources
	paramGPUs            = raycount.ParamGPUs
	paramAgentListenPort = "dashboard-agent-listen-port"
	paramDashboardPort   = "dashboard-port"
)

// params completes the user's start parameters. User values take precedence unless noted.
func (n *node) params(ray corev1.ResourceRequirements) map[string]string {
	params := map[string]string{}
	maps.Copy(params, n.startParams)

	// The group's own fields take precedence; validation rejects both at once.
	n.addGroupResources(params)
	if labels := n.rayLabels(ray); len(labels) > 0 {
		params["labels"] = joinLabels(labels)
	}

	defaults := map[string]string{
		"metrics-export-port": strconv.Itoa(int(rayv1.DefaultMetricsPort)),
		paramAgentListenPort:  strconv.Itoa(int(rayv1.DefaultDashboardAgentListenPort)),
	}
	if n.isHead() {
		defaults["dashboard-host"] = "0.0.0.0"
	} else {
		defaults["address"] = names.HeadAddress(n.rc, n.o.ClusterDomain)
	}
	addMissing(params, defaults)
	params["block"] = "true" // always: otherwise "ray start" returns and the container ends
	if n.isHead() && n.autoscaling() {
		params["no-monitor"] = "true" // the autoscaler runs in its own container
	}
	n.addRedisParams(params)
	own := maps.Clone(params)
	n.addDevices(params, ray)
	addDetected(params, ray)
	n.addClaims(params, own)
	return params
}

func joinLabels(labels map[string]string) string {
	pairs := make([]string, 0, len(labels))
	for _, k := range slices.Sorted(maps.Keys(labels)) {
		pairs = append(pairs, k+"="+labels[k])
	}
	return strings.Join(pairs, ",")
}

// addGroupResources converts the group's resources to start parameters. It skips amounts that are not quantities; validation
// reports them.
func (n *node) addGroupResources(params map[string]string) {
	custom := map[string]float64{}
	set := map[string]bool{}
	once := func(param string, q resource.Quantity) { // among names that differ only in case, the first in byte order counts
		if !set[param] {
			set[param] = true
			params[param] = strconv.FormatInt(q.Value(), 10)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(n.resources)) {
		q, err := resource.ParseQuantity(n.resources[name])
		if err != nil {
			continue
		}
		switch lower := strings.ToLower(name); {
		case lower == "cpu":
			once("num-cpus", q)
		case lower == "memory":
			once("memory", q)
		case raycount.IsGPU(lower):
			once(paramGPUs, q)
		default:
			if f := q.AsApproximateFloat64(); !math.IsInf(f, 0) && !math.IsNaN(f) {
				custom[name] = f
			}
		}
	}
	if len(custom) > 0 {
		params[paramResources] = quoteResources(custom)
	}
}

// addDetected adds the resources of the Ray container. CPU comes from the limit, else the request; all others only from limits.
// Fractions are rounded up, because Ray requires whole numbers here.
func addDetected(params map[string]string, ray corev1.ResourceRequirements) {
	setDefault := func(param string, q resource.Quantity) {
		if _, ok := params[param]; !ok && !q.IsZero() {
			params[param] = strconv.FormatInt(q.Value(), 10)
		}
	}
	setDefault("num-cpus", ray.Limits[corev1.ResourceCPU])
	setDefault("num-cpus", ray.Requests[corev1.ResourceCPU])
	setDefault("memory", ray.Limits[corev1.ResourceMemory])

	// Unlike KubeRay 1.7, detect GPUs even if the parameter "resources" cannot be parsed.
	for _, name := range slices.SortedFunc(maps.Keys(ray.Limits), cmp.Compare[corev1.ResourceName]) {
		if raycount.IsGPU(string(name)) {
			setDefault(paramGPUs, ray.Limits[name]) // the first kind with an amount, not the sum
		}
	}
	addAccelerator(params, ray.Limits)
}

// accelerators are Kubernetes resources that have another name in Ray, in order of preference.
var accelerators = []struct {
	kubernetes corev1.ResourceName
	ray        string
}{
	{"aws.amazon.com/neuroncore", "neuron_cores"},
	{resources.TPU, "TPU"},
}

// addAccelerator adds the first accelerator among the limits to the parameter "resources", unless the user's value already has
// one. It does not change a value that cannot be parsed.
func addAccelerator(params map[string]string, limits corev1.ResourceList) {
	custom, ok := raycount.ParseResources(params[paramResources])
	if !ok {
		return
	}
	for _, a := range accelerators {
		if _, has := custom[a.ray]; has {
			return
		}
	}
	for _, a := range accelerators {
		if q := limits[a.kubernetes]; !q.IsZero() {
			if f := q.AsApproximateFloat64(); !math.IsInf(f, 0) && !math.IsNaN(f) {
				custom[a.ray] = f
				params[paramResources] = quoteResources(custom)
			}
			return
		}
	}
}

// quoteResources returns the parameter "resources" in single quotes. A single quote in a name becomes a JSON escape; otherwise the
// shell would interpret the rest as commands.
func quoteResources(custom map[string]float64) string {
	text, err := json.Marshal(custom)
	if err != nil {
		return "'{}'" // not reached: the amounts are finite numbers
	}
	return "'" + strings.ReplaceAll(string(text), "'", `\u0027`) + "'"
}
