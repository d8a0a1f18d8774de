package plan

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/raygate/raygate/pkg/devices"
	"github.com/raygate/raygate/pkg/devices/condition"
)

// Program is a registry, ready to be carried out. It is never changed and may be used by many at once.
type Program struct {
	// Hash is the hash of the file; empty if there was none.
	Hash string

	vendors  []vendor // by name
	owned    map[string]owner
	absent   []absentGroup
	nodeName devices.Policy
	optOut   devices.OptOut
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
	conditions map[string]*condition.Condition
}

// absentGroup are variables of containers without a device of the members, and the conditions of these variables.
type absentGroup struct {
	vendor     string // the first member
	members    []int
	env        []devices.Env
	conditions map[string]*condition.Condition
}

// Compile prepares a registry that devices.Validate has no complaint about. Families that are not enabled are left out.
func Compile(r *devices.Registry, hash string) *Program {
	p := &Program{Hash: hash, owned: map[string]owner{}, nodeName: cmp.Or(r.Defaults.NodeName, devices.Skip), optOut: r.Defaults.OptOut}
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
		v.conditions = v.compile()
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
			p.absent = append(p.absent, absentGroup{vendor: v.Name, env: env, conditions: compileEnv(env, nil)})
		}
		p.absent[at].members = append(p.absent[at].members, i)
	}
	return p
}

// compile prepares all expressions of the family.
func (v *vendor) compile() map[string]*condition.Condition {
	out := compileEnv(v.Env, v.FieldNames())
	for i := range v.Rules {
		put(out, v.Rules[i].When, v.FieldNames())
	}
	for i := range v.Annotations {
		put(out, v.Annotations[i].When, v.FieldNames())
	}
	return out
}

func compileEnv(list []devices.Env, fields []string) map[string]*condition.Condition {
	out := map[string]*condition.Condition{}
	for i := range list {
		put(out, list[i].Expression(), fields)
	}
	return out
}

// put compiles an expression once. If it does not compile, there is no condition, which is reported when the expression is evaluated.
func put(to map[string]*condition.Condition, text string, fields []string) {
	if text == "" || to[text] != nil {
		return
	}
	if c, err := condition.Compile(text, fields); err == nil {
		to[text] = c
	}
}

// Owned returns the names of all resources of the registry, sorted.
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

// OptsOut reports whether a Pod with these labels is left unchanged. Quotas and checks still apply to it.
func OptsOut(labels map[string]string) bool {
	return labels[devices.OptOutLabel] == devices.OptOutValue
}

// ForbidsOptOut returns the reason why a Pod with devices may not opt out of changes by its label; empty if it may, or does not. An empty
// namespace is unknown, and may be one that permits it.
func (p *Program) ForbidsOptOut(namespace string, labels map[string]string) string {
	if !OptsOut(labels) || p.optOut.Policy != devices.Deny || slices.Contains(p.optOut.Namespaces, namespace) || namespace == "" && len(p.optOut.Namespaces) > 0 {
		return ""
	}
	where := ""
	if namespace != "" {
		where = " in namespace " + namespace
	}
	return fmt.Sprintf("metadata.labels[%s]: %s is not permitted%s (defaults.optOut of the registry of device families)", devices.OptOutLabel, devices.OptOutValue, where)
}

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
