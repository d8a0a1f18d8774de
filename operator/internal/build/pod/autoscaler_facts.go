package pod

import (
	"maps"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/operator/internal/build/devicefacts"
	"github.com/raygate/raygate/pkg/devices/claims"
	"github.com/raygate/raygate/pkg/devices/raycount"
)

// AutoscalerFacts returns the start parameters of Ray that result from devices and that the autoscaler cannot derive, because it
// reads the RayCluster and no Pods. Examples are GPUs of a group that requests only memory, MIG profiles, families with custom
// resources, and devices of ResourceClaims. rc must have the user's spec. Without autoscaling it returns none, and without a registry
// only those of groups with claims.
//
// The facts of a group belong into its resources if it has any, else into rayStartParams, which every release of Ray reads. Custom
// resources are one text in rayStartParams; a text of the user is not changed.
func AutoscalerFacts(rc *rayv1.RayCluster, o Options) devicefacts.Facts {
	if o.Devices == nil && len(o.Claims) == 0 || !ptr.Deref(rc.Spec.EnableInTreeAutoscaling, false) {
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
	claimed := n.o.Claims[n.group]
	if len(n.template.Spec.Containers) == 0 || n.o.Devices == nil && claimed == nil {
		return
	}
	seen := raycount.Group{StartParams: n.startParams, Resources: n.resources, Container: n.template.Spec.Containers[0].Resources}
	n.completeDevices()
	ray := n.template.Spec.Containers[0].Resources
	number := n.params(ray)[paramGPUs]
	if claimed != nil && claimed.Varies[claims.GPU] {
		number = strconv.FormatInt(claimed.Ray[claims.GPU], 10) // the least number: a node has at least that many
	}
	if gpus, err := strconv.ParseInt(number, 10, 64); err == nil && !seen.SetsGPUs() && gpus != seen.SeenGPUs() {
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
	custom := claims.Amounts{}
	custom.Add(raycount.Of(n.program, n.devices, limits).Custom, 1)
	if d := n.o.Claims[n.group]; d != nil {
		custom.Add(d.Ray, 1)
		delete(custom, claims.GPU)
	}
	for _, name := range slices.Sorted(maps.Keys(custom)) {
		amount := custom[name]
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
