package pod

import (
	"maps"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/operator/internal/build/devicefacts"
	"github.com/raygate/raygate/pkg/devices/raycount"
)

// AutoscalerFacts returns the start parameters of Ray that result from devices and that the autoscaler cannot derive, because it
// reads the RayCluster and no Pods. Examples are GPUs of a group that requests only memory, MIG profiles, and families with custom
// resources. rc must have the user's spec. Without a registry or autoscaling it returns none.
//
// The facts of a group belong into its resources if it has any, else into rayStartParams, which every release of Ray reads. Custom
// resources are one text in rayStartParams; a text of the user is not changed.
func AutoscalerFacts(rc *rayv1.RayCluster, o Options) devicefacts.Facts {
	if o.Devices == nil || !ptr.Deref(rc.Spec.EnableInTreeAutoscaling, false) {
		return nil
	}
	facts := devicefacts.Facts{}
	headNode(rc, o).addFacts("", facts)
	for i := range rc.Spec.WorkerGroupSpecs {
		g := &rc.Spec.WorkerGroupSpecs[i]
		workerNode(rc, g, o).addFacts(g.GroupName, facts)
	}
	return facts
}

func (n *node) addFacts(group string, facts devicefacts.Facts) {
	if len(n.template.Spec.Containers) == 0 {
		return
	}
	seen := raycount.Group{StartParams: n.startParams, Resources: n.resources, Container: n.template.Spec.Containers[0].Resources}
	n.completeDevices()
	ray := n.template.Spec.Containers[0].Resources
	if gpus, err := strconv.ParseInt(n.params(ray)[paramGPUs], 10, 64); err == nil && !seen.SetsGPUs() && gpus != seen.SeenGPUs() {
		if len(n.resources) > 0 {
			facts[devicefacts.Key{Group: group, Field: devicefacts.Resources, Name: "GPU"}] = strconv.FormatInt(gpus, 10)
		} else {
			facts[devicefacts.Key{Group: group, Field: devicefacts.StartParams, Name: paramGPUs}] = strconv.FormatInt(gpus, 10)
		}
	}
	n.addCustomFacts(group, &seen, ray.Limits, facts)
}

func (n *node) addCustomFacts(group string, seen *raycount.Group, limits corev1.ResourceList, facts devicefacts.Facts) {
	unseen := map[string]float64{}
	counts := raycount.Of(n.program, n.devices, limits)
	for _, name := range slices.Sorted(maps.Keys(counts.Custom)) {
		amount := counts.Custom[name]
		if amount <= 0 || seen.Sees(name) {
			continue
		}
		if len(n.resources) > 0 {
			facts[devicefacts.Key{Group: group, Field: devicefacts.Resources, Name: name}] = strconv.FormatInt(amount, 10)
			continue
		}
		unseen[name] = float64(amount)
	}
	if _, own := n.startParams[paramResources]; len(unseen) > 0 && !own {
		facts[devicefacts.Key{Group: group, Field: devicefacts.StartParams, Name: paramResources}] = quoteResources(unseen)
	}
}
