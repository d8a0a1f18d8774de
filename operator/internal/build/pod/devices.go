package pod

import (
	"maps"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/version"

	"github.com/raygate/raygate/pkg/devices/plan"
	"github.com/raygate/raygate/pkg/devices/raycount"
)

// DeviceRegistry provides the current registry of device families. Building a Pod reads it once.
type DeviceRegistry interface{ Program() *plan.Program }

// completeDevices adds to the template what admission would add for shared accelerators: the start parameters of Ray must match,
// and admission may be skipped. It also counts the devices of a Pod whose label disables admission. Conditions use the final
// labels and annotations of the Pod. A template that admission would reject is not changed; admission rejects the Pod.
func (n *node) completeDevices() {
	if n.o.Devices == nil {
		return
	}
	n.program = n.o.Devices.Program()
	labels := n.podLabels()
	r := n.program.Plan(plan.FromPod(n.podAnnotations(), &n.template.Spec).WithLabels(labels))
	if r.Refused() {
		return
	}
	n.devices = r.Devices
	if !r.Empty() && !plan.OptsOut(labels) {
		n.template = n.template.DeepCopy()
		n.template.Annotations = r.Apply(n.template.Annotations, &n.template.Spec)
	}
}

// addDevices adds the devices of the Ray container to the start parameters. A GPU in Ray is an entry in the list of visible
// devices, so the number of devices counts, not their size. Values of the user take precedence.
func (n *node) addDevices(params map[string]string, ray corev1.ResourceRequirements) {
	if n.program == nil {
		return
	}
	c := raycount.Of(n.program, n.devices, ray.Limits)
	switch {
	case c.GPUs != nil:
		addMissing(params, map[string]string{paramGPUs: strconv.FormatInt(*c.GPUs, 10)})
	case !c.Devices && !n.o.NoExplicitZeroGPU && !asksForGPU(ray):
		// Without this, Ray counts all GPUs that the image can see.
		addMissing(params, map[string]string{paramGPUs: "0"})
	}
	addCustom(params, c.Custom)
}

// labelsVersion is the first Ray release that documents node labels; earlier ones fail to start with this parameter.
var labelsVersion = version.MustParseGeneric("2.49.0")

// rayLabels returns the labels of the group, and those of the devices with lower precedence.
func (n *node) rayLabels(ray corev1.ResourceRequirements) map[string]string {
	if _, set := n.startParams["labels"]; !n.o.DeviceLabels || n.program == nil || set {
		return n.labels
	}
	if v, err := version.ParseGeneric(n.rc.Spec.RayVersion); err != nil || v.LessThan(labelsVersion) {
		return n.labels
	}
	labels := n.sizes(ray)
	if len(labels) == 0 {
		return n.labels
	}
	maps.Copy(labels, n.labels)
	return labels
}

// sizes returns labels for the device size of the Ray container, or none if it has devices of several families or profiles.
func (n *node) sizes(ray corev1.ResourceRequirements) map[string]string {
	var own []plan.Device
	for i := range n.devices {
		if d := &n.devices[i]; !d.Init && d.Index == 0 {
			own = append(own, *d)
		}
	}
	profiles := raycount.Of(n.program, n.devices, ray.Limits).Profiles
	switch {
	case len(own) == 1 && len(profiles) == 0:
		return own[0].RayLabels()
	case len(own) == 0 && len(profiles) == 1:
		return map[string]string{plan.LabelVendor: "nvidia", plan.LabelMIGProfile: strings.TrimPrefix(profiles[0], "nvidia.com/mig-")}
	}
	return nil
}

// addCustom adds resources to the parameter "resources". It does not change a value that cannot be parsed.
func addCustom(params map[string]string, add map[string]int64) {
	has, ok := raycount.ParseResources(params[paramResources])
	if !ok || len(add) == 0 {
		return
	}
	changed := false
	for name, amount := range add {
		if _, there := has[name]; !there && amount > 0 {
			has[name], changed = float64(amount), true
		}
	}
	if changed {
		params[paramResources] = quoteResources(has)
	}
}

func asksForGPU(ray corev1.ResourceRequirements) bool {
	for name, q := range ray.Limits {
		if raycount.IsGPU(string(name)) && !q.IsZero() {
			return true
		}
	}
	return false
}
