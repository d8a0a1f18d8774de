package plan

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/raygate/raygate/pkg/devices"
)

// RayCounts is the count of a device in Ray.
type RayCounts struct {
	// GPUs are handles: entries of the list of visible devices.
	GPUs int64
	// Custom are other resources.
	Custom map[string]int64
}

// Ray returns the count of a planned device in Ray. Sizes of slices do not matter: Ray's unit is the device that a process sees. A family
// without a setting is a custom resource with its name in upper case, so that the autoscaler can see it.
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
	for name, amount := range v.Ray.Totals {
		if amount == devices.TotalCorePercent {
			put(name, d.TotalCores)
		} else {
			put(name, mul(d.MemoryMiB, max(1, d.Count))) // the memory of a percentage is unknown
		}
	}
	return out
}

// RayWarnings are about devices of a Ray Pod that Ray does not count as expected. Only devices of the Ray container, the first app
// container, count.
func (p *Program) RayWarnings(devices []Device) []string {
	var warnings, families []string
	for i := range devices {
		d := &devices[i]
		switch {
		case d.Init || d.Index != 0:
			warnings = append(warnings, fmt.Sprintf("container %s is not that of Ray: what it asks for of %s counts against quotas, and is no resource of Ray", d.Container, d.Vendor))
		case p.Ray(d).GPUs > 0:
			families = append(families, d.Vendor)
		}
	}
	if len(families) > 1 {
		warnings = append(warnings, fmt.Sprintf("the Ray container asks for GPUs of %s: a Ray node has those of one vendor, so that they are not counted", strings.Join(families, " and ")))
	}
	return warnings
}

// Labels of Ray nodes with the sizes of the devices of the Ray container. Ray's counts lack these: one GPU means different hardware in
// different groups.
const (
	LabelVendor             = "devices.ray.io/vendor"
	LabelSliceMemoryMiB     = "devices.ray.io/slice-memory-mib"
	LabelSliceMemoryPercent = "devices.ray.io/slice-memory-percent"
	LabelSliceCores         = "devices.ray.io/slice-cores"
	LabelShared             = "devices.ray.io/shared"
	// LabelMIGProfile is the profile, such as 1g.10gb, of MIG instances that all have the same one.
	LabelMIGProfile = "devices.ray.io/mig-profile"
)

// RayLabels are labels with the devices for the Ray node, which can select nodes for tasks. A size that is unknown until a device is
// assigned has no label. Nil for a container without a device.
func (d *Device) RayLabels() map[string]string {
	if d.Count == 0 {
		return nil
	}
	labels := map[string]string{LabelVendor: d.Vendor, LabelShared: strconv.FormatBool(d.Shared)}
	for name, n := range map[string]int64{LabelSliceMemoryMiB: d.MemoryMiB, LabelSliceMemoryPercent: d.MemoryPercent, LabelSliceCores: d.Cores} {
		if n > 0 {
			labels[name] = strconv.FormatInt(n, 10)
		}
	}
	return labels
}
