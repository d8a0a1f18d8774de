package devicequota

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/raygate/raygate/pkg/devices/plan"
)

// hardPrefix is what keys of quotas begin with that are ours to enforce.
const hardPrefix = "limits."

// Verdict says whether a Pod fits.
type Verdict struct {
	// Exceeded has a line for each resource of each quota that the Pod does not fit; empty if it does.
	Exceeded []string
	// Resources are those exceeded.
	Resources []string
	// Warnings are for the user.
	Warnings []string
}

// usage of one resource under one quota.
type usage struct {
	total                      int64
	running, pending, reserved int
}

// Check says whether the Pod fits every quota that matches it, and reserves what it takes if it does and reserve is set. The program must be the one
// that the demand was computed with.
func (e *Engine) Check(program *plan.Program, pod *corev1.Pod, d *plan.Demand, reserve bool) Verdict {
	n := e.namespace(pod.Namespace)
	n.mu.Lock()
	defer n.mu.Unlock()
	now := e.o.Clock.Now()
	n.expire(now)
	asks := factsOf(pod)
	var v Verdict
	for _, name := range slices.Sorted(maps.Keys(n.quotas)) {
		q := n.quotas[name]
		if asks.match(q) {
			n.check(program, q, pod, d, &v)
		}
	}
	if len(v.Exceeded) == 0 && reserve && len(d.Totals) > 0 && n.pods[pod.UID] == nil {
		n.reserved[pod.UID] = &reservation{until: now.Add(e.o.TTL), entry: entry{scopes: asks, program: program, totals: d.Totals, pod: plan.FromPod(pod.Annotations, &pod.Spec)}}
	}
	return v
}

func (n *namespace) expire(now time.Time) {
	maps.DeleteFunc(n.reserved, func(_ types.UID, r *reservation) bool { return !now.Before(r.until) })
}

func (n *namespace) check(program *plan.Program, q *corev1.ResourceQuota, pod *corev1.Pod, d *plan.Demand, v *Verdict) {
	for _, key := range slices.Sorted(maps.Keys(q.Spec.Hard)) {
		resource, ours := strings.CutPrefix(string(key), hardPrefix)
		if !ours {
			continue
		}
		hard, exact, ok := program.Hard(resource, q.Spec.Hard[key])
		if !ok {
			continue
		}
		unsized(q, resource, d, v)
		wants := d.Totals[resource]
		if wants == 0 {
			continue // a Pod that takes nothing fits, however much others have taken
		}
		if !exact {
			hardText := q.Spec.Hard[key]
			v.Warnings = append(v.Warnings, fmt.Sprintf("quota %q: %s is %s, which was rounded down to whole units", q.Name, key, hardText.String()))
		}
		if used := n.used(program, q, resource, pod); used.total+wants > hard {
			v.Exceeded = append(v.Exceeded, explain(program, q.Name, resource, d, used, hard))
			v.Resources = append(v.Resources, resource)
		}
	}
}

// unsized is about requests whose memory nobody knows yet, where there is a quota for it.
func unsized(q *corev1.ResourceQuota, resource string, d *plan.Demand, v *Verdict) {
	for _, u := range d.Unsized {
		switch {
		case u.Resource != resource:
		case u.Deny:
			v.Exceeded = append(v.Exceeded, fmt.Sprintf("quota %q: %s: container %s asks for whole devices or a percentage, whose memory is not known; ask for an amount of %s", q.Name, resource, u.Container, resource))
			v.Resources = append(v.Resources, resource)
		default:
			v.Warnings = append(v.Warnings, fmt.Sprintf("quota %q: %s: container %s asks for whole devices or a percentage, which is not charged", q.Name, resource, u.Container))
		}
	}
}

// used is what other Pods under the quota take.
func (n *namespace) used(program *plan.Program, q *corev1.ResourceQuota, resource string, except *corev1.Pod) usage {
	var u usage
	for uid, t := range n.pods {
		if except != nil && uid == except.UID || !t.scopes.match(q) {
			continue
		}
		amount := t.total(program, resource)
		if amount == 0 {
			continue
		}
		u.total += amount
		if t.running {
			u.running++
		} else {
			u.pending++
		}
	}
	for uid, r := range n.reserved {
		if except != nil && uid == except.UID || n.pods[uid] != nil || !r.scopes.match(q) {
			continue
		}
		if amount := r.total(program, resource); amount > 0 {
			u.total += amount
			u.reserved++
		}
	}
	return u
}

// explain is a line such as: quota "team-a": nvidia.com/gpumem requested 8192 MiB (container ray-worker: 2 × 4096), in use 6144 MiB (2 running, 1
// pending), hard 8192 MiB, exceeds by 6144 MiB.
func explain(program *plan.Program, quota, resource string, d *plan.Demand, u usage, hard int64) string {
	unit := program.Unit(resource)
	var parts []string
	for _, c := range d.Charges {
		if c.Resource != resource {
			continue
		}
		text := fmt.Sprintf("container %s: %d", c.Container, c.Total)
		if c.Count > 1 {
			text = fmt.Sprintf("container %s: %d × %d", c.Container, c.Count, c.Each)
		}
		parts = append(parts, text)
	}
	var who []string
	for _, s := range []struct {
		n    int
		what string
	}{{u.running, "running"}, {u.pending, "pending"}, {u.reserved, "reserved"}} {
		if s.n > 0 {
			who = append(who, fmt.Sprint(s.n, " ", s.what))
		}
	}
	inUse := fmt.Sprintf("in use %d%s", u.total, unit)
	if len(who) > 0 {
		inUse += " (" + strings.Join(who, ", ") + ")"
	}
	return fmt.Sprintf("quota %q: %s requested %d%s (%s), %s, hard %d%s, exceeds by %d%s",
		quota, resource, d.Totals[resource], unit, strings.Join(parts, ", "), inUse, hard, unit, u.total+d.Totals[resource]-hard, unit)
}
