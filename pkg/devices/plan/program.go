package plan

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/raygate/raygate/pkg/devices"
)

// Program is a registry, ready to be carried out. It is never changed and may be used by many at once.
type Program struct {
	// Hash is that of the file, empty if there was none.
	Hash string

	vendors  []vendor // by name
	owned    map[string]owner
	absent   []absentGroup
	nodeName devices.Policy
}

// owner is the field that a resource is.
type owner struct {
	vendor int
	field  devices.Field
}

type vendor struct {
	devices.Vendor
	toMiB      int64
	privileged devices.Policy
	scheduler  string // empty if any does
}

// absentGroup are variables of containers without a device of the members.
type absentGroup struct {
	members []int
	env     []devices.Env
}

// Compile prepares a registry that devices.Validate has no complaint about. Families that are not enabled are left out.
func Compile(r *devices.Registry, hash string) *Program {
	p := &Program{Hash: hash, owned: map[string]owner{}, nodeName: cmp.Or(r.Defaults.NodeName, devices.Skip)}
	for i := range r.Vendors {
		v := vendor{Vendor: r.Vendors[i]}
		if !v.On() {
			continue
		}
		v.toMiB = max(1, v.Units.Memory.ToMiB)
		v.privileged = cmp.Or(v.Privileged, r.Defaults.Privileged, devices.Skip)
		if r.Defaults.Scheduler.When != devices.Never && v.Scheduler.When != devices.Never {
			v.scheduler = cmp.Or(v.Scheduler.Name, r.Defaults.Scheduler.Name)
		}
		p.vendors = append(p.vendors, v)
	}
	slices.SortFunc(p.vendors, func(a, b vendor) int { return strings.Compare(a.Name, b.Name) })
	groups := map[string]int{}
	for i := range p.vendors {
		v := &p.vendors[i]
		for _, f := range devices.Fields {
			if name := v.Resources.Name(f); name != "" {
				p.owned[name] = owner{i, f}
			}
		}
		env := slices.DeleteFunc(slices.Clone(v.AbsentEnv), func(e devices.Env) bool { return !e.On() })
		if len(env) == 0 {
			continue
		}
		at, shared := groups[v.AbsentEnvGroup]
		if !shared || v.AbsentEnvGroup == "" {
			at = len(p.absent)
			groups[v.AbsentEnvGroup] = at
			p.absent = append(p.absent, absentGroup{env: env})
		}
		p.absent[at].members = append(p.absent[at].members, i)
	}
	return p
}

// Owned are the names of all resources of the registry, sorted.
func (p *Program) Owned() []string { return slices.Sorted(maps.Keys(p.owned)) }

// Vendors are the names of the families in use, sorted.
func (p *Program) Vendors() []string {
	var names []string
	for i := range p.vendors {
		names = append(names, p.vendors[i].Name)
	}
	return names
}

// SetsAbsentEnv reports whether Pods without any device are changed, too.
func (p *Program) SetsAbsentEnv() bool { return len(p.absent) > 0 }

// counts reports whether the field counts against quotas.
func (v *vendor) counts(f devices.Field) bool {
	on := func(b *bool) bool { return b == nil || *b }
	switch f {
	case devices.Count:
		return on(v.Quota.Count)
	case devices.Memory:
		return on(v.Quota.Memory)
	case devices.Cores:
		return on(v.Quota.Cores)
	default:
		return false
	}
}
