package devicequota

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// podState is the state of a Pod in sums.
type podState int

const (
	running podState = iota
	pending          // includes Pods that are being deleted
	reserved
	states
)

func (s podState) String() string { return [...]string{"running", "pending", "reserved"}[s] }

// sums are the demands of Pods by scope properties and resource. They are updated with each change, so that admission does not
// iterate over all Pods of the namespace: see BenchmarkD36 of package deviceadmission.
type sums map[facts]map[string]*tally

// tally is the demand of some Pods for a resource.
type tally struct {
	amounts [states]int64
	pods    [states]int
	// beyond counts Pods with amounts that would overflow a sum; the amounts do not include these.
	beyond int
}

const (
	// countable is the largest amount that is summed: an exbibyte in MiB.
	countable = 1 << 40
	// endless is the sum if an amount exceeds countable. Every limit is at most endless.
	endless = 1 << 60
)

func (t *tally) total() int64 {
	if t.beyond > 0 {
		return endless
	}
	return t.amounts[running] + t.amounts[pending] + t.amounts[reserved]
}

// change adds or subtracts a Pod.
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

// change adds or subtracts an entry, whose totals must not change in between.
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

// used returns the demand of Pods under the quota for a resource, without that of the Pod with the UID.
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
