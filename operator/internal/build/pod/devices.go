package pod

import (
	"maps"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/version"

	"github.com/raygate/raygate/operator/internal/build/resources"
	"github.com/raygate/raygate/pkg/devices/plan"
	"github.com/raygate/raygate/pkg/devices/raycount"
)

// DeviceRegistry is the registry of families of shared accelerators as it is now. Building one Pod asks once.
type DeviceRegistry interface{ Program() *plan.Program }

// completeDevices puts into the template what admission would add for shared accelerators. Ray has to be started with numbers that match, and the
// call of admission may be left out. A Pod that is left as it is by its label is counted all the same. Conditions see the labels and annotations that the Pod will have. A template that admission would refuse stays as it
// is, and is refused there.
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

// addDevices adds what the devices of the Ray container are to Ray. One GPU of Ray is one entry in its list of visible devices, so that numbers of
// devices count and their sizes do not. What the user has set wins.
func (n *node) addDevices(params map[string]string, ray corev1.ResourceRequirements) {
	if n.program == nil {
		return
	}
	c := raycount.Of(n.program, n.devices, ray.Limits)
	switch {
	case c.GPUs != nil:
		addMissing(params, map[string]string{paramGPUs: strconv.FormatInt(*c.GPUs, 10)})
	case !c.Devices && !n.o.NoExplicitZeroGPU && !asksForGPU(ray):
		// Images that see all cards would have them counted.
		addMissing(params, map[string]string{paramGPUs: "0"})
	}
	addCustom(params, c.Custom)
}

// labelsVersion is the first release of Ray that documents labels of nodes; one before it does not start with this form of them.
var labelsVersion = version.MustParseGeneric("2.49.0")

// rayLabels are those of the group, and under them those of the devices.
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

// sizes are labels about the devices of the Ray container. Those of several families, or instances of several profiles, have no size in common.
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

// addCustom adds resources to the parameter of that name. A text that cannot be parsed stays as it is.
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
		if resources.IsGPU(string(name)) && !q.IsZero() {
			return true
		}
	}
	return false
}
