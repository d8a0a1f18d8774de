package plan

import (
	"cmp"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// Apply makes the changes to the Pod that was read by FromPod, in place. The annotations may be nil; those to keep are returned.
func (r *Result) Apply(annotations map[string]string, spec *corev1.PodSpec) map[string]string {
	if r.changes.empty() {
		return annotations
	}
	for i := range r.changes.containers {
		c := &r.pod.containers[i]
		list := spec.Containers
		if c.init() {
			list = spec.InitContainers
		}
		to, change := &list[c.index], &r.changes.containers[i]
		to.Resources.Limits = merge(to.Resources.Limits, change.limits)
		to.Resources.Requests = merge(to.Resources.Requests, change.requests)
		for _, e := range change.env {
			if entry := (corev1.EnvVar{Name: e.name, Value: e.value}); e.at < 0 {
				to.Env = append(to.Env, entry)
			} else {
				to.Env[e.at] = entry
			}
		}
	}
	if s := r.changes.runtimeClass; s != "" {
		spec.RuntimeClassName = &s
	}
	if s := r.changes.scheduler; s != "" {
		spec.SchedulerName = s
	}
	return merged(annotations, r.changes.annotations)
}

func merge(list corev1.ResourceList, with map[string]string) corev1.ResourceList {
	if len(with) == 0 {
		return list
	}
	if list == nil {
		list = corev1.ResourceList{}
	}
	for name, text := range with {
		if q, err := resource.ParseQuantity(text); err == nil {
			list[corev1.ResourceName(name)] = q
		}
	}
	return list
}

// after is the Pod with the changes.
func (p *Pod) after(ch *changes) *Pod {
	out := *p
	out.annotations = merged(p.annotations, ch.annotations)
	out.runtimeClass, out.scheduler = cmp.Or(ch.runtimeClass, p.runtimeClass), cmp.Or(ch.scheduler, p.scheduler)
	out.containers = slices.Clone(p.containers)
	for i := range ch.containers {
		to, change := &out.containers[i], &ch.containers[i]
		to.limits, to.requests = merged(to.limits, change.limits), merged(to.requests, change.requests)
		if len(change.env) > 0 {
			to.env = slices.Clone(to.env)
		}
		for _, e := range change.env {
			if entry := (variable{name: e.name, value: e.value}); e.at < 0 {
				to.env = append(to.env, entry)
			} else {
				to.env[e.at] = entry
			}
		}
	}
	return &out
}

// merged is both together, the second winning.
func merged(list, with map[string]string) map[string]string {
	if len(with) == 0 {
		return list
	}
	out := make(map[string]string, len(list)+len(with))
	maps.Copy(out, list)
	maps.Copy(out, with)
	return out
}
