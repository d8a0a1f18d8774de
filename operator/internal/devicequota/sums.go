package devicequota

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// podState is what becomes of a Pod next.
type podState int

const (
	running podState = iota
	pending          // also one that is ending
	reserved
	states
)

func (s podState) String() string { return [...]string{"running", "pending", "reserved"}[s] }

// sums are what Pods take, by what scopes of quotas ask of them and by resource. They follow each change, so that a call of admission does not
// look at all Pods of the namespace: see BenchmarkD36 of package deviceadmission.
type sums map[facts]map[string]*tally

// tally is what some Pods take of a resource.
type tally struct {
	amounts [states]int64
	pods    [states]int
	// beyond counts Pods with amounts that would overflow a sum. These are in no amount.
	beyond int
}

const (
	// countable is the greatest amount that is summed: an exbibyte in MiB.
	countable = 1 << 40
	// endless is the sum with one that is greater. Every limit is at most that.
	endless = 1 << 60
)

func (t *tally) total() int64 {
	if t.beyond > 0 {
		return endless
	}
	return t.amounts[running] + t.amounts[pending] + t.amounts[reserved]
}

// change adds a Pod, or takes it away.
func (t *tally) change(amount int64, s podState, by int) {
	t.pods[s] += by
	if amount > countable {
		t.beyond += by
		return
	}
	t.amounts[s] += amount * int64(by)
}

func (t *tally) add(other *tally) {
	for s := range states {
		t.amounts[s] += other.amounts[s]
		t.pods[s] += other.pods[s]
	}
	t.beyond += other.beyond
}

// change adds an entry, or takes it away. What it takes must not change in between.
func (s sums) change(t *entry, by int) {
	if len(t.totals) == 0 {
		return
	}
	list := s[t.scopes]
	if list == nil {
		list = map[string]*tally{}
		s[t.scopes] = list
	}
	for resource, amount := range t.totals {
		sum := list[resource]
		if sum == nil {
			sum = &tally{}
			list[resource] = sum
		}
		sum.change(amount, t.state, by)
		if *sum == (tally{}) {
			delete(list, resource)
		}
	}
	if len(list) == 0 {
		delete(s, t.scopes)
	}
}

// used is what Pods under the quota take of a resource, without the one with the UID.
func (n *namespace) used(q *corev1.ResourceQuota, resource string, except types.UID) tally {
	var u tally
	for scopes, list := range n.sums {
		if sum := list[resource]; sum != nil && scopes.match(q) {
			u.add(sum)
		}
	}
	if t := n.entries[except]; t != nil && t.totals[resource] > 0 && t.scopes.match(q) {
		u.change(t.totals[resource], t.state, -1)
	}
	return u
}
