package raycluster

import (
	"context"

	"k8s.io/utils/ptr"
)

// announce has large clusters make room for a new one while that gets what its Pods need.
type announce struct{ slots *fairSlots }

// Run implements step.
func (a *announce) Run(_ context.Context, s *scope) (outcome, error) {
	if len(s.pods) == 0 && !ptr.Deref(s.cluster.Spec.Suspend, false) {
		a.slots.announce(s.cluster.UID)
	}
	return outcome{}, nil
}
