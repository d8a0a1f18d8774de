package raycluster

import "context"

// finalize ends the list for an object that is being deleted. Its children carry owner references, and garbage
// collection removes them.
type finalize struct{}

// Run implements step.
func (*finalize) Run(_ context.Context, s *scope) (outcome, error) {
	s.deleting = s.cluster.DeletionTimestamp != nil
	return outcome{stop: s.deleting}, nil
}
