package raycluster

import (
	"fmt"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/flowcontrol"
	"k8s.io/utils/clock"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
)

// Times that retries of a refused write, and replacements of Pods that ended, wait between attempts. The wait doubles
// from the first to the second.
const (
	firstRetry = time.Second
	lastRetry  = 30 * time.Second
)

// retries remembers which groups have to wait before Pods are created or deleted for them, how long, and what the API server
// said. There are two reasons: it has refused something, which a changed spec may mend and which is then tried at once, and
// Pods that ended by themselves. All of it can be lost at any time without harm.
type retries struct {
	backoff *flowcontrol.Backoff
	clock   clock.PassiveClock

	mu       sync.Mutex
	refusals map[types.UID]map[attempt]refusal // by cluster
}

// attempt is what was tried for a group.
type attempt struct {
	act   act
	group string
}

// refusal is the answer of the API server that is not over, for one generation of the cluster.
type refusal struct {
	generation int64
	failures   []failure
}

// act is what is refused.
type act string

const (
	creating act = "create"
	deleting act = "delete"
)

func newRetries(c clock.WithTicker) *retries {
	b := flowcontrol.NewBackOffWithJitter(firstRetry, lastRetry, 0)
	b.Clock = c
	return &retries{backoff: b, clock: c, refusals: map[types.UID]map[attempt]refusal{}}
}

func endedID(rc *rayv1.RayCluster, group string) string {
	return fmt.Sprintf("%s/ended/%s", rc.UID, group)
}

func interruptedID(rc *rayv1.RayCluster, group string) string {
	return fmt.Sprintf("%s/interrupted/%s", rc.UID, group)
}

func refusedID(rc *rayv1.RayCluster, a act, group string) string {
	return fmt.Sprintf("%s/%s/%d/%s", rc.UID, a, rc.Generation, group)
}

// ended notes that Pods of the group ended by themselves.
func (r *retries) ended(rc *rayv1.RayCluster, group string) {
	r.backoff.Next(endedID(rc, group), r.clock.Now())
}

// interrupted notes that the API server could not be asked for all Pods of the group. It makes nobody wait.
func (r *retries) interrupted(rc *rayv1.RayCluster, group string) {
	r.backoff.Next(interruptedID(rc, group), r.clock.Now())
}

// refused notes a refusal and returns when to try again.
func (r *retries) refused(rc *rayv1.RayCluster, a act, group string, failures []failure) time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.refusals[rc.UID] == nil {
		r.refusals[rc.UID] = map[attempt]refusal{}
	}
	r.refusals[rc.UID][attempt{a, group}] = refusal{generation: rc.Generation, failures: failures}
	id := refusedID(rc, a, group)
	r.backoff.Next(id, r.clock.Now())
	return r.backoff.Get(id)
}

// answer is what the API server said when it last refused this, nil if it did not under this spec.
func (r *retries) answer(rc *rayv1.RayCluster, a act, group string) []failure {
	r.mu.Lock()
	defer r.mu.Unlock()
	if last := r.refusals[rc.UID][attempt{a, group}]; last.generation == rc.Generation {
		return last.failures
	}
	return nil
}

// accepted notes that this works for the group.
func (r *retries) accepted(rc *rayv1.RayCluster, a act, group string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.refusals[rc.UID], attempt{a, group})
	r.backoff.DeleteEntry(refusedID(rc, a, group))
	if a == creating {
		r.backoff.DeleteEntry(interruptedID(rc, group))
	}
}

// refusedLately reports whether the last attempt for the group did not get all Pods, so that a replica may be unfinished.
func (r *retries) refusedLately(rc *rayv1.RayCluster, group string) bool {
	return r.backoff.Get(refusedID(rc, creating, group)) > 0 || r.backoff.Get(interruptedID(rc, group)) > 0
}

// wait returns how long the group still has to wait, zero if it does not.
func (r *retries) wait(rc *rayv1.RayCluster, a act, group string) (d time.Duration) {
	now := r.clock.Now()
	ids := []string{refusedID(rc, a, group)}
	if a == creating {
		ids = append(ids, endedID(rc, group))
	}
	for _, id := range ids {
		if r.backoff.IsInBackOffSinceUpdate(id, now) {
			d = max(d, r.left(id, now))
		}
	}
	return d
}

// left is how much of a wait is left, rounded up, since the library does not tell exactly. Whoever is woken early must not begin
// the whole wait anew.
func (r *retries) left(id string, now time.Time) time.Duration {
	all := r.backoff.Get(id)
	for d := firstRetry; d < all; d *= 2 {
		if !r.backoff.IsInBackOffSinceUpdate(id, now.Add(d)) {
			return d
		}
	}
	return all
}

// forget drops the cluster, and what has not been asked for in a long time.
func (r *retries) forget(cluster types.UID) {
	r.backoff.GC()
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.refusals, cluster)
}
