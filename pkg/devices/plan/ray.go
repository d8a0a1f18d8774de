package plan

import (
	"strings"

	"github.com/raygate/raygate/pkg/devices"
)

// RayCounts are what a device counts as in Ray.
type RayCounts struct {
	// GPUs are handles: entries of the list of visible devices.
	GPUs int64
	// Custom are other resources.
	Custom map[string]int64
}

// Ray says what a device of a plan counts as in Ray. Sizes of slices do not matter: Ray's unit is the device that a process sees. A family that says
// nothing is a custom resource with its name in upper case, so that the autoscaler can see it.
func (p *Program) Ray(d *Device) RayCounts {
	for i := range p.vendors {
		if v := &p.vendors[i]; v.Name == d.Vendor {
			return v.counted(d)
		}
	}
	return RayCounts{}
}

func (v *vendor) counted(d *Device) RayCounts {
	var out RayCounts
	if v.Ray.NumGPUs == devices.AmountCount {
		out.GPUs = d.Count
	}
	put := func(name string, n int64) {
		if n > 0 {
			if out.Custom == nil {
				out.Custom = map[string]int64{}
			}
			out.Custom[name] = n
		}
	}
	for name, amount := range v.Ray.Custom {
		if amount == devices.AmountCores {
			put(name, d.TotalCores)
		} else {
			put(name, d.Count)
		}
	}
	if v.Ray.NumGPUs == "" && len(v.Ray.Custom) == 0 {
		put(strings.ToUpper(v.Name), d.Count)
	}
	return out
}
