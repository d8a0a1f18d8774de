package podexec

import (
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/raygate/raygate/operator/internal/backoff"
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
type attempts struct {
	mu       sync.Mutex
	clusters map[types.UID]map[attempt]answer
}

// answer is what the API server said, for one generation of the cluster; nothing where it could not be asked.
type answer struct {
	generation int64
	failures   []Failure
}

func (s *attempts) failed(cluster metav1.Object, a attempt, failures []Failure) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.clusters == nil {
		s.clusters = map[types.UID]map[attempt]answer{}
	}
	if s.clusters[cluster.GetUID()] == nil {
		s.clusters[cluster.GetUID()] = map[attempt]answer{}
	}
	s.clusters[cluster.GetUID()][a] = answer{generation: cluster.GetGeneration(), failures: failures}
}

func (s *attempts) succeeded(cluster metav1.Object, a attempt) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.clusters[cluster.GetUID()], a)
}

// settled returns, and forgets, attempts to create workers of groups that lack none: a request that timed out may have succeeded.
func (s *attempts) settled(cluster metav1.Object, lacking map[string]struct{}) []attempt {
	s.mu.Lock()
	defer s.mu.Unlock()
	var list []attempt
	for a := range s.clusters[cluster.GetUID()] {
		if _, still := lacking[a.group]; a.operation == creating && !still {
			delete(s.clusters[cluster.GetUID()], a)
			list = append(list, a)
		}
	}
	return list
}

// last is what the API server said when it last refused this for the generation.
func (s *attempts) last(cluster metav1.Object, a attempt) []Failure {
	s.mu.Lock()
	defer s.mu.Unlock()
	if last := s.clusters[cluster.GetUID()][a]; last.generation == cluster.GetGeneration() {
		return last.failures
	}
	return nil
}

func (s *attempts) unfinished(cluster metav1.Object, group string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	last, ok := s.clusters[cluster.GetUID()][attempt{creating, group}]
	return ok && last.generation == cluster.GetGeneration()
}

func (s *attempts) forget(cluster types.UID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.clusters, cluster)
}
