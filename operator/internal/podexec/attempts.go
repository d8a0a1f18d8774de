package podexec

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/raygate/raygate/operator/internal/backoff"
	"github.com/raygate/raygate/operator/internal/byowner"
)

// attempt is what is tried for a group.
type attempt struct {
	operation operation
	group     string
}

type operation string

const (
	creating operation = "create"
	deleting operation = "delete"
)

func (a attempt) key(cluster metav1.Object) backoff.Key {
	return backoff.Key{Owner: cluster.GetUID(), Attempt: string(a.operation) + "/" + a.group}
}

// attempts are those that did not succeed, with the answers of the API server. All of it can be lost at any time without harm: what
// is refused is tried once more. The zero value is ready.
type attempts struct{ byowner.Map[attempt, answer] }

// answer is what the API server said, for one generation of the cluster; nothing where it could not be asked.
type answer struct {
	generation int64
	failures   []Failure
}

func (s *attempts) failed(cluster metav1.Object, a attempt, failures []Failure) {
	s.Set(cluster.GetUID(), a, answer{generation: cluster.GetGeneration(), failures: failures})
}

func (s *attempts) succeeded(cluster metav1.Object, a attempt) { s.Delete(cluster.GetUID(), a) }

// settled returns, and forgets, attempts to create workers of groups that lack none: a request that timed out may have succeeded.
func (s *attempts) settled(cluster metav1.Object, lacking map[string]struct{}) []attempt {
	var list []attempt
	for a := range s.All(cluster.GetUID()) {
		if _, still := lacking[a.group]; a.operation == creating && !still {
			s.succeeded(cluster, a)
			list = append(list, a)
		}
	}
	return list
}

// last is what the API server said when it last refused this for the generation.
func (s *attempts) last(cluster metav1.Object, a attempt) []Failure {
	if last, _ := s.Get(cluster.GetUID(), a); last.generation == cluster.GetGeneration() {
		return last.failures
	}
	return nil
}

func (s *attempts) unfinished(cluster metav1.Object, group string) bool {
	last, ok := s.Get(cluster.GetUID(), attempt{creating, group})
	return ok && last.generation == cluster.GetGeneration()
}
