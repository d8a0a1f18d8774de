package plan

import (
	"github.com/raygate/raygate/pkg/devices"
)

// Demand is the usage of quotas by a Pod.
type Demand struct {
	// Totals are by resource name: numbers of devices and cores, memory in MiB. Init containers that end count only if they use more than
	// all containers that run later, as for the scheduler. Unused resources are missing.
	Totals map[string]int64
	// Charges are the parts of the totals.
	Charges []Charge
	// Unsized are requests whose memory is unknown.
	Unsized []Unsized
}

// Charge is the usage of one resource by one container.
type Charge struct {
	Resource  string
	Container string
	// Init is an init container that ends.
	Init bool
	// Count times Each is Total; Count is 1 for an amount that is for the whole container.
	Count, Each, Total int64

	sidecar bool
}

// Unsized is a request for whole devices, or for a share of them, that counts no memory.
type Unsized struct {
	// Resource is the memory resource of the family.
	Resource  string
	Container string
	// Deny means that the request is refused if there is a quota for the memory.
	Deny bool
}

// charge adds the usage of a container.
func (d *Demand) charge(v *vendor, c *container, get func(devices.Field) int64) {
	count := get(devices.Count)
	times := max(1, count) // memory that is asked for without a number of devices is not free
	d.put(v, c, devices.Count, 1, count)

	cores, n := get(devices.Cores), times
	switch {
	case cores == 0 && count > 0:
		cores = v.Quota.CoresWhenAbsent
	case v.Units.Cores.Per == devices.Container:
		n = 1
	}
	d.put(v, c, devices.Cores, n, cores)
	if v.Resources.Memory != "" && v.counts(devices.Memory) {
		d.chargeMemory(v, c, get)
	}
}

func (d *Demand) chargeMemory(v *vendor, c *container, get func(devices.Field) int64) {
	count, percent := get(devices.Count), get(devices.MemoryPercent)
	memory, n := v.mebibytes(get(devices.Memory)), max(1, count)
	switch {
	case memory > 0:
		if v.Units.Memory.Per == devices.Container {
			n = 1
		}
	case v.Quota.Percent == devices.Assume:
		if percent == 0 {
			percent = 100
		}
		memory = ceil(mul(v.Quota.WholeDeviceMiB, percent), 100)
	case count > 0 || percent > 0:
		d.Unsized = append(d.Unsized, Unsized{Resource: v.Resources.Memory, Container: c.name, Deny: v.Quota.Percent == string(devices.Deny)})
	}
	d.put(v, c, devices.Memory, n, memory)
}

func (d *Demand) put(v *vendor, c *container, f devices.Field, n, each int64) {
	name := v.Resources.Name(f)
	if name == "" || each == 0 || !v.counts(f) {
		return
	}
	d.Charges = append(d.Charges, Charge{Resource: name, Container: c.name, Init: c.init() && !c.restartable, sidecar: c.restartable, Count: n, Each: each, Total: mul(n, each)})
}

// sum fills in the totals from the charges, which are in the order of the containers, init containers first.
func (d *Demand) sum() {
	if len(d.Charges) == 0 {
		return
	}
	d.Totals = map[string]int64{}
	steady, before := map[string]int64{}, map[string]int64{} // the containers that run at the end; init containers so far that keep running
	for _, c := range d.Charges {
		if c.Init {
			d.Totals[c.Resource] = max(d.Totals[c.Resource], add(before[c.Resource], c.Total))
			continue
		}
		steady[c.Resource] = add(steady[c.Resource], c.Total)
		if c.sidecar {
			before[c.Resource] = add(before[c.Resource], c.Total)
		}
	}
	for name, n := range steady {
		d.Totals[name] = max(d.Totals[name], n)
	}
}
