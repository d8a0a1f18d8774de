package raycluster

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// childMemory is what is known of attempts at children, by UID of the cluster and identity of the child. All of it can be lost
// at any time: the next run finds the same again.
type childMemory struct {
	mu       sync.Mutex
	clusters map[types.UID]map[string]*childState
}

// childState is what is known of one child. It is used by one run at a time, because a cluster is reconciled by one worker at a
// time; gone alone is called from elsewhere.
type childState struct {
	mu sync.Mutex
	// created is what we made and the cache has perhaps not shown yet.
	created   client.Object
	createdAt time.Time
	// failure is what the last attempt ended with, for this generation of the cluster; the next is due at notBefore.
	failure    *childFailure
	generation int64
	tries      int
	notBefore  time.Time
	// patches in a row, the last at patchedAt.
	patches   int
	patchedAt time.Time
	// found is the generation of the cluster for which an object of the user's has been found.
	found int64
}

func newChildMemory() *childMemory {
	return &childMemory{clusters: map[types.UID]map[string]*childState{}}
}

func (m *childMemory) of(cluster types.UID, id string) *childState {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.clusters[cluster] == nil {
		m.clusters[cluster] = map[string]*childState{}
	}
	st, ok := m.clusters[cluster][id]
	if !ok {
		st = &childState{}
		m.clusters[cluster][id] = st
	}
	return st
}

func (m *childMemory) drop(cluster types.UID, id string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.clusters[cluster], id)
}

func (m *childMemory) forget(cluster types.UID) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.clusters, cluster)
}

// gone is told by the watch that an object is gone, so that it is no longer believed in.
func (m *childMemory) gone(cluster, object types.UID) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, st := range m.clusters[cluster] {
		st.mu.Lock()
		if st.created != nil && st.created.GetUID() == object {
			st.created = nil
		}
		st.mu.Unlock()
	}
}

// believed lays what we made over a cache that does not show it yet.
func (st *childState) believed(cached client.Object, now time.Time) client.Object {
	st.mu.Lock()
	defer st.mu.Unlock()
	if cached != nil || st.created == nil || now.Sub(st.createdAt) >= expectationTimeout {
		st.created = nil
		return cached
	}
	return st.created
}

func (st *childState) made(o client.Object, now time.Time) {
	st.mu.Lock()
	defer st.mu.Unlock()
	st.created, st.createdAt = o.DeepCopyObject().(client.Object), now
}

// wait is how long an attempt is still too early. A changed spec is tried at once.
func (st *childState) wait(generation int64, now time.Time) time.Duration {
	if st.failure == nil || st.generation != generation {
		return 0
	}
	return max(0, st.notBefore.Sub(now))
}

// failed notes a failure and returns after what time to try again.
func (st *childState) failed(f childFailure, generation int64, now time.Time) time.Duration {
	if st.generation != generation {
		st.tries = 0
	}
	wait := min(foreignRetry<<min(st.tries, 10), lastChildRetry)
	st.failure, st.generation, st.notBefore = &f, generation, now.Add(wait)
	st.tries++
	return wait
}

func (st *childState) fine() { st.failure, st.tries = nil, 0 }

// repeat notes the failure of an earlier run, which is not over.
func (st *childState) repeat(s *scope) {
	if st.failure != nil {
		s.children = append(s.children, *st.failure)
	}
}

func (st *childState) patched(now time.Time) {
	st.patches++
	st.patchedAt = now
}

// fought returns how long to leave a child alone that something else keeps changing. Whoever patches at every change would go
// round in circles with it as fast as the API server can.
func (st *childState) fought(now time.Time) time.Duration {
	if now.Sub(st.patchedAt) > 2*lastChildRetry {
		st.patches = 0
	}
	if st.patches < freePatches {
		return 0
	}
	wait := min(time.Second<<min(st.patches-freePatches+1, 10), lastChildRetry)
	return max(0, st.patchedAt.Add(wait).Sub(now))
}
