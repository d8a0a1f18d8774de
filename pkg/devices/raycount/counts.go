package raycount

import (
	"maps"
	"regexp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/raygate/raygate/pkg/devices/plan"
)

// Counts are the counts of the devices of a Ray container in Ray.
type Counts struct {
	// GPUs are handles, entries in the list of visible devices. Nil means that the registry does not say; the count that KubeRay finds
	// applies then.
	GPUs *int64
	// Custom are other resources of Ray; nil for none.
	Custom map[string]int64
	// Families are those whose devices are GPUs to Ray, sorted. Ray has one kind of GPU on a node, so that none is counted if there are
	// several.
	Families []string
	// Profiles are the MIG profiles, sorted. Each instance is a handle.
	Profiles []string
	// Devices reports whether the container requests any family of the registry.
	Devices bool
}

// IsGPU reports whether the resource is a GPU: its name ends in "gpu", for any vendor, or is a MIG profile such as
// nvidia.com/mig-1g.5gb. The name must be in lower case. The rule is that of KubeRay 1.7.
func IsGPU(name string) bool {
	return strings.HasSuffix(name, "gpu") || migProfile.MatchString(name)
}

// migProfile is a resource of the device plugin of NVIDIA.
var migProfile = regexp.MustCompile(`nvidia\.com/mig-\d+g\.\d+gb$`)

// Of counts the devices of the Ray container, which is the first app container of the Pod: Ray only sees its own container. devices are
// those of a plan of p, and limits those of the container.
func Of(p *plan.Program, devices []plan.Device, limits corev1.ResourceList) Counts {
	var c Counts
	gpus := int64(0)
	for i := range devices {
		d := &devices[i]
		if d.Init || d.Index != 0 {
			continue
		}
		c.Devices = true
		counted := p.Ray(d)
		if counted.GPUs > 0 {
			gpus += counted.GPUs
			c.Families = append(c.Families, d.Vendor)
		}
		if c.Custom == nil && len(counted.Custom) > 0 {
			c.Custom = map[string]int64{}
		}
		maps.Copy(c.Custom, counted.Custom)
	}
	instances := c.addProfiles(limits)
	switch {
	case len(c.Families) == 1:
		c.GPUs = &gpus
	case len(c.Families) == 0 && instances > 0:
		c.GPUs = &instances
	}
	return c
}

// addProfiles adds the MIG profiles in the limits and returns the number of their instances.
func (c *Counts) addProfiles(limits corev1.ResourceList) (instances int64) {
	for name, q := range limits {
		if migProfile.MatchString(string(name)) && q.Value() > 0 {
			instances += q.Value()
			c.Profiles = append(c.Profiles, string(name))
		}
	}
	slices.Sort(c.Profiles)
	return instances
}
