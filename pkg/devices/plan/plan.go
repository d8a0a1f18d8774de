package plan

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/raygate/raygate/pkg/devices"
)

// planner is one plan under way.
type planner struct {
	*Program
	pod    *Pod
	result *Result
	// annotations are the annotations that containers want; the last one counts, because each would overwrite the one before.
	annotations map[string]wanted
}

// wanted is the value of an annotation.
type wanted struct {
	value  string
	of     *devices.Annotation
	vendor string
}

// Plan returns the changes to the Pod, without making them.
//
// A plan must not change its own result, because webhooks are called more than once. Registries that load have this property, but not
// proven for every Pod; a Pod without it is refused.
func (p *Program) Plan(pod *Pod) *Result {
	r := p.once(pod)
	if r.Empty() {
		return r
	}
	if again := p.once(pod.after(&r.changes)); again.Refused() || !again.Empty() {
		r.RegistryFault = true
		r.Problems = []Problem{{Text: "the registry of device families is at fault: its rules for " + strings.Join(r.Vendors, ", ") + " undo each other for this Pod"}}
		r.changes = changes{}
	}
	return r
}

func (p *Program) once(pod *Pod) *Result {
	r := &Result{pod: pod, changes: changes{containers: make([]containerChanges, len(pod.containers))}}
	if pod.Static() {
		return r
	}
	w := &planner{Program: p, pod: pod, result: r, annotations: map[string]wanted{}}
	involved := map[int]bool{}
	for i := range pod.containers {
		if c := &pod.containers[i]; !c.missing {
			w.container(c, &r.changes.containers[i], involved)
		}
	}
	for i := range p.vendors {
		if involved[i] {
			r.Vendors = append(r.Vendors, p.vendors[i].Name)
		}
	}
	w.annotate()
	if len(involved) > 0 {
		w.wholePod(involved)
	}
	r.Demand.sum()
	r.Problems = sortProblems(r.Problems)
	slices.Sort(r.Warnings)
	r.Warnings = slices.Compact(r.Warnings)
	if r.Refused() || pod.node != "" && len(involved) > 0 {
		r.changes = changes{} // refused, or bound to a node already
	}
	return r
}

// container plans one container.
func (w *planner) container(c *container, out *containerChanges, involved map[int]bool) {
	asked := w.ask(c)
	present := map[int]bool{}
	env := newVariables(c.env)
	for _, a := range asked {
		if !a.wantsDevice() {
			continue
		}
		present[a.index] = true
		if c.privileged {
			w.privileged(c, a.vendor)
			continue
		}
		involved[a.index] = true
		w.fill(a)
		a.write(out)
		a.setEnv(env)
		a.wantAnnotations()
		w.result.Demand.charge(a.vendor, c, a.get)
		w.result.Devices = append(w.result.Devices, a.device())
	}
	if !c.privileged {
		w.setAbsentEnv(c, env, present)
	}
	out.env = env.changes
}

func (w *planner) setAbsentEnv(c *container, env *variables, present map[int]bool) {
	for _, g := range w.absent {
		if slices.ContainsFunc(g.members, func(i int) bool { return present[i] }) {
			continue
		}
		for i := range g.env {
			e := &g.env[i]
			if !w.evaluate(g.conditions, e.Expression(), g.vendor, c, nil) {
				continue
			}
			if problem := env.set(e, strings.ReplaceAll(e.Value, "${container}", c.name)); problem != "" {
				w.problem(Problem{Container: c.name, Text: problem})
			}
		}
	}
}

// privileged skips a privileged container, because it sees all devices of its node independent of its requests.
func (w *planner) privileged(c *container, v *vendor) {
	if v.privileged == devices.Deny {
		w.problem(Problem{Forbidden: true, Container: c.name, Text: fmt.Sprintf("is privileged and asks for %s; the policy privileged: Deny of the registry does not permit that", v.Name)})
		return
	}
	w.warn("container %s is privileged and was passed over: it sees all devices of its node, whatever it asks for of %s", c.name, v.Name)
}

// annotate compares the annotations that containers need with those of the Pod.
func (w *planner) annotate() {
	for key, a := range w.annotations {
		has, ok := w.pod.annotations[key]
		switch {
		case !ok && a.value != "":
			if w.result.changes.annotations == nil {
				w.result.changes.annotations = map[string]string{}
			}
			w.result.changes.annotations[key] = a.value
		case ok && len(a.of.OneOf) > 0 && !slices.Contains(a.of.OneOf, has):
			w.problem(Problem{Text: fmt.Sprintf("annotation %s is %q, but must be one of %s for %s", key, has, strings.Join(a.of.OneOf, ", "), a.vendor)})
		case ok && len(a.of.OneOf) == 0 && has != a.value:
			w.problem(Problem{Text: fmt.Sprintf("annotation %s is %q, but must be %q for what the containers ask of %s, or be left out", key, has, a.value, a.vendor)})
		}
	}
}

// wholePod plans the fields that a Pod has only once.
func (w *planner) wholePod(involved map[int]bool) {
	if w.pod.node != "" {
		if w.nodeName == devices.Deny {
			w.problem(Problem{Forbidden: true, Text: fmt.Sprintf("spec.nodeName is %s: a Pod with devices must be placed by a scheduler; the policy nodeName: Deny of the registry does not permit it", w.pod.node)})
		} else {
			w.warn("spec.nodeName is set, so the Pod was left as it is: its devices are not placed by a scheduler")
		}
		return
	}
	if w.pod.runtimeClass == "" {
		classes := w.wantedBy(involved, func(v *vendor) string { return v.RuntimeClass })
		w.result.changes.runtimeClass = w.agree("spec.runtimeClassName", classes)
	}
	schedulers := w.wantedBy(involved, func(v *vendor) string { return v.scheduler })
	if s := w.pod.scheduler; s == "" || s == corev1.DefaultSchedulerName {
		w.result.changes.scheduler = w.agree("spec.schedulerName", schedulers)
		if w.result.changes.scheduler == s {
			w.result.changes.scheduler = ""
		}
		return
	}
	for name, vendor := range schedulers {
		if name != w.pod.scheduler {
			w.warn("spec.schedulerName is %s and was kept, but %s needs %s: the Pod may stay pending, or get other devices than it asks for", w.pod.scheduler, vendor, name)
		}
	}
}

// wantedBy returns the values that the involved families want for a field, each with the first family that wants it.
func (w *planner) wantedBy(involved map[int]bool, wants func(*vendor) string) map[string]string {
	families := map[string]string{}
	for i := range w.vendors {
		v := &w.vendors[i]
		if value := wants(v); involved[i] && value != "" && families[value] == "" {
			families[value] = v.Name
		}
	}
	return families
}

// agree returns the value that all families want, or "" if they want none. The keys of want are values, its values are families.
func (w *planner) agree(fieldName string, want map[string]string) string {
	var only string
	var all []string
	for name, vendor := range want {
		only = name
		all = append(all, vendor+" needs "+name)
	}
	if len(all) > 1 {
		slices.Sort(all)
		w.problem(Problem{Text: fieldName + ": a Pod has one, but " + strings.Join(all, ", and ")})
		return ""
	}
	return only
}

func (w *planner) problem(p Problem) { w.result.Problems = append(w.result.Problems, p) }

func (w *planner) warn(format string, args ...any) {
	w.result.Warnings = append(w.result.Warnings, fmt.Sprintf(format, args...))
}
