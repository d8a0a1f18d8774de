package plan

import (
	"maps"

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
	if len(r.changes.annotations) == 0 {
		return annotations
	}
	out := map[string]string{}
	maps.Copy(out, annotations)
	maps.Copy(out, r.changes.annotations)
	return out
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
