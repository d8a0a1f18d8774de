package pod

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/raygate/raygate/operator/internal/build/resources"
	"github.com/raygate/raygate/pkg/devices/plan"
)

// DeviceRegistry is the registry of families of shared accelerators as it is now. Building one Pod asks once.
type DeviceRegistry interface{ Program() *plan.Program }

// completeDevices puts into the template what admission would add for shared accelerators. Ray has to be started with numbers that match, and the
// call of admission may be left out. A template that admission would refuse stays as it is, and is refused there.
func (n *node) completeDevices() {
	if n.o.Devices == nil {
		return
	}
	n.program = n.o.Devices.Program()
	r := n.program.Plan(plan.FromPod(n.template.Annotations, &n.template.Spec).WithLabels(n.template.Labels))
	if r.Refused() {
		return
	}
	n.devices = r.Devices
	if !r.Empty() {
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
	custom := map[string]int64{}
	gpus, families := int64(0), 0
	found := false
	for i := range n.devices {
		d := &n.devices[i]
		if d.Init || d.Index != 0 {
			continue // Ray sees its own container only
		}
		found = true
		counts := n.program.Ray(d)
		if counts.GPUs > 0 {
			gpus += counts.GPUs
			families++
		}
		maps.Copy(custom, counts.Custom)
	}
	mig := migDevices(ray)
	switch {
	case families > 1: // Ray has one kind of GPU on a node; what KubeRay finds is as good as anything
	case families == 1:
		addMissing(params, map[string]string{paramGPUs: strconv.FormatInt(gpus, 10)})
	case mig > 0:
		addMissing(params, map[string]string{paramGPUs: strconv.FormatInt(mig, 10)})
	case !found && !n.o.NoExplicitZeroGPU && !asksForGPU(ray):
		// Images that see all cards would have them counted.
		addMissing(params, map[string]string{paramGPUs: "0"})
	}
	addCustom(params, custom)
}

// addCustom adds resources to the parameter of that name. A text that cannot be parsed stays as it is.
func addCustom(params map[string]string, add map[string]int64) {
	has, ok := parseResources(params[paramResources])
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

// migDevices sums the profiles: each is a device of its own. KubeRay counts the first.
func migDevices(ray corev1.ResourceRequirements) (sum int64) {
	for _, name := range slices.SortedFunc(maps.Keys(ray.Limits), cmp.Compare[corev1.ResourceName]) {
		if strings.HasPrefix(string(name), "nvidia.com/mig-") && resources.IsGPU(string(name)) {
			q := ray.Limits[name]
			sum += max(0, q.Value())
		}
	}
	return sum
}

func asksForGPU(ray corev1.ResourceRequirements) bool {
	for name, q := range ray.Limits {
		if resources.IsGPU(string(name)) && !q.IsZero() {
			return true
		}
	}
	return false
}
