package raycluster

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
)

// cacheLag is how long to wait when the cache has not yet shown our last write.
const cacheLag = 10 * time.Millisecond

// memory holds what is remembered about clusters between runs, to be gentle with the API server. All of it can be lost
// at any time without harm.
type memory struct {
	mu       sync.Mutex
	clusters map[types.NamespacedName]remembered
}

type remembered struct {
	uid types.UID
	// replaced is the resourceVersion that our last status write took the place of.
	replaced string
	// changedSince is when the status that is due first differed from the stored one; zero if it does not.
	changedSince time.Time
	// adopted is the head whose annotations we have replaced.
	adopted types.UID
	// counted is the generation whose broken rules and warnings were counted.
	counted int64
	// pods is the number of Pods at the last look.
	pods int
}

func newMemory() *memory { return &memory{clusters: map[types.NamespacedName]remembered{}} }

// update changes what is known of the cluster, starting afresh when a new one has taken the name.
func (m *memory) update(rc *rayv1.RayCluster, change func(*remembered)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	k := key(rc)
	r := m.clusters[k]
	if r.uid != rc.UID {
		r = remembered{uid: rc.UID}
	}
	change(&r)
	m.clusters[k] = r
}

// forget drops the cluster and returns the UID that it had, or "".
func (m *memory) forget(k types.NamespacedName) types.UID {
	m.mu.Lock()
	defer m.mu.Unlock()
	uid := m.clusters[k].uid
	delete(m.clusters, k)
	return uid
}

// adopted is the head whose annotations were replaced, "" for none.
func (m *memory) adopted(rc *rayv1.RayCluster) types.UID {
	m.mu.Lock()
	defer m.mu.Unlock()
	if r := m.clusters[key(rc)]; r.uid == rc.UID {
		return r.adopted
	}
	return ""
}

// count reports whether the verdict on this version is to be counted, which it is once.
func (m *memory) count(rc *rayv1.RayCluster) (first bool) {
	m.update(rc, func(r *remembered) {
		first = r.counted != rc.Generation
		r.counted = rc.Generation
	})
	return first
}

// stale reports whether rc is a version that we ourselves have replaced.
func (m *memory) stale(rc *rayv1.RayCluster) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	r := m.clusters[key(rc)]
	return r.uid == rc.UID && r.replaced != "" && r.replaced == rc.ResourceVersion
}

// patience is how long to gather changes of Pods before looking at all of them: the more Pods a look has to go through,
// the longer, so that the cost of scaling to n Pods does not grow with n times n.
func (m *memory) patience(k types.NamespacedName) time.Duration {
	m.mu.Lock()
	defer m.mu.Unlock()
	return min(30*time.Millisecond+time.Duration(m.clusters[k].pods)*time.Millisecond/2, 500*time.Millisecond)
}
