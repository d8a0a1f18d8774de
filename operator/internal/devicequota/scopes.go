package devicequota

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// facts are the properties of a Pod for scopes of quotas. Their JSON names are part of the ledger.
type facts struct {
	BestEffort     bool   `json:"bestEffort,omitempty"`
	Terminating    bool   `json:"terminating,omitempty"`    // has an active deadline
	CrossNamespace bool   `json:"crossNamespace,omitempty"` // has affinity to Pods of other namespaces
	PriorityClass  string `json:"priorityClass,omitempty"`
}

func factsOf(pod *corev1.Pod) facts {
	return facts{
		BestEffort:     bestEffort(&pod.Spec),
		Terminating:    pod.Spec.ActiveDeadlineSeconds != nil && *pod.Spec.ActiveDeadlineSeconds >= 0,
		CrossNamespace: crossNamespace(pod.Spec.Affinity),
		PriorityClass:  pod.Spec.PriorityClassName,
	}
}

// bestEffort reports whether the Pod requests neither CPU nor memory.
func bestEffort(s *corev1.PodSpec) bool {
	asks := func(lists ...corev1.ResourceList) bool {
		return slices.ContainsFunc(lists, func(l corev1.ResourceList) bool {
			cpu, memory := l[corev1.ResourceCPU], l[corev1.ResourceMemory]
			return !cpu.IsZero() || !memory.IsZero()
		})
	}
	if s.Resources != nil && asks(s.Resources.Limits, s.Resources.Requests) {
		return false
	}
	return !slices.ContainsFunc(slices.Concat(s.InitContainers, s.Containers), func(c corev1.Container) bool {
		return asks(c.Resources.Limits, c.Resources.Requests)
	})
}

func crossNamespace(a *corev1.Affinity) bool {
	if a == nil {
		return false
	}
	var terms []corev1.PodAffinityTerm
	add := func(required []corev1.PodAffinityTerm, preferred []corev1.WeightedPodAffinityTerm) {
		terms = append(terms, required...)
		for _, p := range preferred {
			terms = append(terms, p.PodAffinityTerm)
		}
	}
	if p := a.PodAffinity; p != nil {
		add(p.RequiredDuringSchedulingIgnoredDuringExecution, p.PreferredDuringSchedulingIgnoredDuringExecution)
	}
	if p := a.PodAntiAffinity; p != nil {
		add(p.RequiredDuringSchedulingIgnoredDuringExecution, p.PreferredDuringSchedulingIgnoredDuringExecution)
	}
	return slices.ContainsFunc(terms, func(t corev1.PodAffinityTerm) bool { return len(t.Namespaces) > 0 || t.NamespaceSelector != nil })
}

// match reports whether the quota applies to the Pod: all its scopes and all expressions of its selector match.
func (f *facts) match(q *corev1.ResourceQuota) bool {
	for _, scope := range q.Spec.Scopes {
		if !f.in(corev1.ScopedResourceSelectorRequirement{ScopeName: scope, Operator: corev1.ScopeSelectorOpExists}) {
			return false
		}
	}
	if q.Spec.ScopeSelector == nil {
		return true
	}
	return !slices.ContainsFunc(q.Spec.ScopeSelector.MatchExpressions, func(r corev1.ScopedResourceSelectorRequirement) bool { return !f.in(r) })
}

func (f *facts) in(r corev1.ScopedResourceSelectorRequirement) bool {
	switch r.ScopeName {
	case corev1.ResourceQuotaScopeBestEffort:
		return f.BestEffort
	case corev1.ResourceQuotaScopeNotBestEffort:
		return !f.BestEffort
	case corev1.ResourceQuotaScopeTerminating:
		return f.Terminating
	case corev1.ResourceQuotaScopeNotTerminating:
		return !f.Terminating
	case corev1.ResourceQuotaScopeCrossNamespacePodAffinity:
		return f.CrossNamespace
	case corev1.ResourceQuotaScopePriorityClass:
		switch r.Operator {
		case corev1.ScopeSelectorOpIn:
			return slices.Contains(r.Values, f.PriorityClass)
		case corev1.ScopeSelectorOpNotIn:
			return !slices.Contains(r.Values, f.PriorityClass)
		case corev1.ScopeSelectorOpDoesNotExist:
			return f.PriorityClass == ""
		default:
			return f.PriorityClass != ""
		}
	default:
		return false // not a scope for Pods, or unknown to this program
	}
}

// asksForDevices reports whether the Pod has any extended resource.
func asksForDevices(pod *corev1.Pod) bool {
	extended := func(list corev1.ResourceList) bool {
		for name := range list {
			if strings.Contains(string(name), "/") {
				return true
			}
		}
		return false
	}
	return slices.ContainsFunc(slices.Concat(pod.Spec.InitContainers, pod.Spec.Containers), func(c corev1.Container) bool {
		return extended(c.Resources.Limits) || extended(c.Resources.Requests)
	})
}
