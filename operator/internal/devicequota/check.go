package devicequota

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/raygate/raygate/pkg/devices/plan"
)

// hardPrefix is the prefix of the quota keys that this package enforces.
const hardPrefix = "limits."

// Verdict is the result of a check.
type Verdict struct {
	// Exceeded has a line for each resource of each quota that the Pod exceeds; empty if it fits.
	Exceeded []string
	// Resources are the exceeded resources.
	Resources []string
	// Warnings are for the user.
	Warnings []string

	limited bool // a quota limits the Pod
}

// question is a Pod that admission checks.
type question struct {
	program *plan.Program
	pod     *corev1.Pod
	demand  *plan.Demand
	scopes  facts
}

// entry returns the reservation for the Pod.
func (a *question) entry() *entry {
	return &entry{scopes: a.scopes, state: reserved, pod: planned(a.pod), totals: a.demand.Totals}
}

// Check decides whether the Pod fits every quota that matches it. If it fits and reserve is set, Check reserves its demand.
// program must be the one with which the demand was computed. An error means that there is no verdict, because the ledger could
// not be read or written.
func (e *Engine) Check(ctx context.Context, program *plan.Program, pod *corev1.Pod, d *plan.Demand, reserve bool) (Verdict, error) {
	n := e.namespace(pod.Namespace)
	a := &question{program: program, pod: pod, demand: d, scopes: factsOf(pod)}
	if e.o.Ledger != nil && reserve && len(d.Totals) > 0 {
		return e.checkShared(ctx, n, a)
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	now := e.o.Clock.Now()
	v := n.decide(a, now)
	if len(v.Exceeded) == 0 && reserve && len(d.Totals) > 0 && !n.sees(pod.UID) {
		n.reserve(pod.UID, a.entry(), now.Add(DefaultTTL))
	}
	return v, nil
}

// decide returns the verdict for the current usage.
func (n *namespace) decide(a *question, now time.Time) Verdict {
	n.expire(now)
	n.use(a.program)
	var v Verdict
	for _, name := range slices.Sorted(maps.Keys(n.quotas)) {
		if q := n.quotas[name]; a.scopes.match(q) {
			n.check(a, q, &v)
		}
	}
	return v
}

// sees reports whether the Pod itself is known, not only a reservation for it.
func (n *namespace) sees(uid types.UID) bool {
	t := n.entries[uid]
	return t != nil && t.state != reserved
}

func (n *namespace) check(a *question, q *corev1.ResourceQuota, v *Verdict) {
	for _, l := range limits(a.program, q) {
		a.unsized(q, l.resource, v)
		wants := a.demand.Totals[l.resource]
		if wants == 0 {
			continue // a Pod without demand always fits
		}
		v.limited = true
		if !l.exact {
			v.Warnings = append(v.Warnings, fmt.Sprintf("quota %q: %s is %s, which was rounded down to whole units", q.Name, l.key, l.text))
		}
		if used := n.used(q, l.resource, a.pod.UID); used.total()+wants > l.hard {
			v.Exceeded = append(v.Exceeded, a.explain(q, l, &used))
			v.Resources = append(v.Resources, l.resource)
		}
	}
}

// limit is one enforced limit of a quota.
type limit struct {
	key, text, resource string // key and text as in the quota, and the resource in the key
	hard                int64
	exact               bool // text equals hard, without rounding
}

// limits returns the enforced limits of a quota, sorted by key.
func limits(p *plan.Program, q *corev1.ResourceQuota) []limit {
	var list []limit
	for _, key := range slices.Sorted(maps.Keys(q.Spec.Hard)) {
		resource, ours := strings.CutPrefix(string(key), hardPrefix)
		written := q.Spec.Hard[key]
		if hard, exact, counts := p.Hard(resource, written); ours && counts {
			list = append(list, limit{string(key), written.String(), resource, hard, exact})
		}
	}
	return list
}

// unsized handles requests with an unknown amount of memory under a quota for memory.
func (a *question) unsized(q *corev1.ResourceQuota, resource string, v *Verdict) {
	for _, u := range a.demand.Unsized {
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

// explain returns a line such as: quota "team-a": nvidia.com/gpumem requested 8192 MiB (container ray-worker: 2 × 4096), in use
// 6144 MiB (2 running, 1 pending), hard 8192 MiB, exceeds by 6144 MiB.
func (a *question) explain(q *corev1.ResourceQuota, l limit, u *tally) string {
	unit, wants := a.program.Unit(l.resource), a.demand.Totals[l.resource]
	var parts []string
	for _, c := range a.demand.Charges {
		if c.Resource != l.resource {
			continue
		}
		text := fmt.Sprintf("container %s: %d", c.Container, c.Total)
		if c.Count > 1 {
			text = fmt.Sprintf("container %s: %d × %d", c.Container, c.Count, c.Each)
		}
		parts = append(parts, text)
	}
	var who []string
	for s := range states {
		if u.pods[s] > 0 {
			who = append(who, fmt.Sprint(u.pods[s], " ", s))
		}
	}
	inUse := fmt.Sprintf("in use %d%s", u.total(), unit)
	if len(who) > 0 {
		inUse += " (" + strings.Join(who, ", ") + ")"
	}
	return fmt.Sprintf("quota %q: %s requested %d%s (%s), %s, hard %d%s, exceeds by %d%s",
		q.Name, l.resource, wants, unit, strings.Join(parts, ", "), inUse, l.hard, unit, u.total()+wants-l.hard, unit)
}
