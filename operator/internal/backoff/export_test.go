package backoff

import "k8s.io/apimachinery/pkg/types"

// Len is the number of entries of the owners.
func (l *Limiter[Why]) Len(owners ...types.UID) int {
	n := 0
	for _, owner := range owners {
		n += len(l.entries.All(owner))
	}
	return n
}
