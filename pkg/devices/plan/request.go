package plan

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/raygate/raygate/pkg/devices"
)

// request is the request of one container for one family.
type request struct {
	w       *planner
	vendor  *vendor
	index   int // of the family
	c       *container
	amounts map[devices.Field]amount // those above zero
	zeros   map[devices.Field]bool   // those that are written as zero
	broken  bool                     // an amount could not be read
}

func (a *request) get(f devices.Field) int64 { return a.amounts[f].value }

// set changes an amount; an unchanged amount keeps its text.
func (a *request) set(f devices.Field, n int64) {
	if a.amounts[f].value != n {
		a.amounts[f] = amount{value: n}
	}
}

// ask reads the requests of the container, by family. Unreadable amounts are problems.
func (w *planner) ask(c *container) []*request {
	var list []*request
	find := func(i int) *request {
		for _, a := range list {
			if a.index == i {
				return a
			}
		}
		a := &request{w: w, vendor: &w.vendors[i], index: i, c: c, amounts: map[devices.Field]amount{}, zeros: map[devices.Field]bool{}}
		list = append(list, a)
		return a
	}
	read := func(name, text string) {
		at, ok := w.owned[name]
		if !ok {
			return
		}
		a := find(at.vendor)
		n, problem := a.vendor.parse(at.field, text)
		switch {
		case problem != "":
			a.broken = true
			w.problem(Problem{Container: c.name, Resource: name, Text: text + " " + problem})
		case n > 0:
			a.amounts[at.field] = amount{value: n, text: text}
		default:
			a.zeros[at.field] = true
		}
	}
	for name, text := range c.limits {
		read(name, text)
	}
	for name, text := range c.requests {
		limit, both := c.limits[name]
		if !both {
			read(name, text)
		} else if at, ok := w.owned[name]; ok && limit != text && !w.equal(at, limit, text) {
			w.problem(Problem{Container: c.name, Resource: name, Text: fmt.Sprintf("the request %s must be equal to the limit %s", text, limit)})
		}
	}
	slices.SortFunc(list, func(a, b *request) int { return cmp.Compare(a.index, b.index) })
	return list
}

// equal compares amounts in the unit of the family.
func (w *planner) equal(at owner, a, b string) bool {
	v := &w.vendors[at.vendor]
	m, problem := v.parse(at.field, a)
	n, other := v.parse(at.field, b)
	return problem == "" && other == "" && m == n
}

// wantsDevice reports whether anything except a priority is requested.
func (a *request) wantsDevice() bool {
	return a.broken || a.get(devices.Count) > 0 || a.get(devices.Memory) > 0 || a.get(devices.MemoryPercent) > 0 || a.get(devices.Cores) > 0
}

// fill completes and checks the amounts. It reports only the first broken rule.
func (w *planner) fill(a *request) {
	if a.broken {
		return
	}
	v := a.vendor
	if a.get(devices.Count) == 0 {
		w.fillCount(a)
	}
	for i := range v.Rules {
		if problem := a.carryOut(&v.Rules[i]); problem != "" {
			f := v.Rules[i].Field
			w.problem(Problem{Container: a.c.name, Resource: v.Resources.Name(f), Text: a.text(f) + problem})
			return
		}
	}
	if e := v.Exclusive; e != nil && a.get(devices.Count) > 0 && a.get(devices.Cores) == 0 && a.whole() {
		a.set(devices.Cores, e.Cores)
		w.warn("container %s: %s was set to %d, because it asks for whole devices", a.c.name, v.Resources.Cores, e.Cores)
	}
}

// fillCount sets the default of the family as the number of devices, or warns where there is none.
func (w *planner) fillCount(a *request) {
	v := a.vendor
	// A count that is written as zero was meant: HAMi adds cores to it, which must not make a device of it.
	if n := v.Defaults.Count; n > 0 && !a.zeros[devices.Count] {
		a.set(devices.Count, n)
		w.warn("container %s: %s was set to %d, because it asks for a part of a device without a number of devices", a.c.name, v.Resources.Count, n)
	} else if v.Resources.Count != "" && v.Resources.Count != v.Resources.Cores {
		w.warnWithoutCount(a)
	}
}

func (w *planner) warnWithoutCount(a *request) {
	for _, f := range []devices.Field{devices.Memory, devices.MemoryPercent} {
		if a.get(f) > 0 {
			w.warn("container %s: %s is ignored by the device plugin without %s", a.c.name, a.vendor.Resources.Name(f), a.vendor.Resources.Count)
		}
	}
}

// whole reports whether the container has its devices for itself, judged by its memory.
func (a *request) whole() bool {
	if p := a.get(devices.MemoryPercent); p > 0 {
		return p == 100
	}
	return a.get(devices.Memory) == 0
}

// text is the amount as the user wrote it, with a blank behind it.
func (a *request) text(f devices.Field) string {
	x := a.amounts[f]
	switch {
	case x.text != "":
		return x.text + " "
	case x.value > 0:
		return a.vendor.write(f, x.value) + " "
	default:
		return ""
	}
}

// write records missing limits and requests. It writes both, because the API server copies limits to requests only if there are no
// requests.
func (a *request) write(out *containerChanges) {
	if a.broken {
		return
	}
	for f, x := range a.amounts {
		name := a.vendor.Resources.Name(f)
		text := x.text
		if text == "" {
			text = a.vendor.write(f, x.value)
		}
		a.put(&out.limits, a.c.limits, name, text, f)
		a.put(&out.requests, a.c.requests, name, text, f)
	}
}

func (a *request) put(out *map[string]string, has map[string]string, name, text string, f devices.Field) {
	if old, ok := has[name]; ok {
		if n, problem := a.vendor.parse(f, old); problem == "" && n == a.get(f) {
			return
		}
	}
	if *out == nil {
		*out = map[string]string{}
	}
	(*out)[name] = text
}

// setEnv gives the container the variables of the family.
func (a *request) setEnv(env *variables) {
	for i := range a.vendor.Env {
		e := &a.vendor.Env[i]
		if !e.On() || e.When == devices.HasPriority && a.get(devices.Priority) == 0 || !a.when(e.Expression()) {
			continue
		}
		value, complete := a.expand(e.Value)
		if !complete {
			continue
		}
		if problem := env.set(e, value); problem != "" {
			a.w.problem(Problem{Container: a.c.name, Text: problem})
		}
	}
}

// expand fills in a template; complete is false if an amount in it is absent.
func (a *request) expand(template string) (value string, complete bool) {
	if !strings.Contains(template, "${") {
		return template, true
	}
	complete = true
	value = strings.ReplaceAll(template, "${container}", a.c.name)
	for _, f := range devices.Fields {
		place := "${" + string(f) + "}"
		if strings.Contains(template, place) {
			complete = complete && a.get(f) > 0
			value = strings.ReplaceAll(value, place, strconv.FormatInt(a.get(f), 10))
		}
	}
	return value, complete
}

// wantAnnotations records the annotations that the Pod needs for this container.
func (a *request) wantAnnotations() {
	for i := range a.vendor.Annotations {
		x := &a.vendor.Annotations[i]
		if x.If != nil && !a.holds(x.If) || x.Unless != nil && a.w.pod.has(x.Unless) || !a.when(x.When) {
			continue
		}
		if value, complete := a.expand(x.Default); complete {
			a.w.annotations[x.Key] = wanted{value: value, of: x, vendor: a.vendor.Name}
		}
	}
}

// has reports whether the Pod has the annotation, with that value if one is meant.
func (p *Pod) has(a *devices.AnnotationValue) bool {
	value, ok := p.annotations[a.Key]
	return ok && (a.Value == "" || a.Value == value)
}

// device is the device that the container gets, for consumers that count devices.
func (a *request) device() Device {
	v := a.vendor
	count := a.get(devices.Count)
	d := Device{
		Vendor: v.Name, Container: a.c.name, Init: a.c.init(), Restartable: a.c.restartable, Index: a.c.index, Count: count,
		MemoryMiB: v.mebibytes(a.get(devices.Memory)), Cores: a.get(devices.Cores), MemoryPercent: a.get(devices.MemoryPercent),
	}
	if v.Units.Memory.Per == devices.Container && count > 1 {
		d.MemoryMiB /= count
	}
	switch {
	case v.Units.Cores.Per != devices.Container:
		d.TotalCores = mul(d.Cores, max(1, count))
	case count > 1:
		d.TotalCores = d.Cores
		d.Cores /= count
	default:
		d.TotalCores = d.Cores
	}
	d.Shared = !a.whole() || v.Exclusive != nil && d.Cores > 0 && d.Cores < v.Exclusive.Cores
	return d
}
