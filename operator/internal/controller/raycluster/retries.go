package raycluster

import (
	"fmt"
	"time"

	"k8s.io/client-go/util/flowcontrol"
	"k8s.io/utils/clock"

	rayv1 "github.com/raygate/raygate/operator/api/ray/v1"
)

// Times that retries of a refused write, and replacements of Pods that ended, wait between attempts. The wait doubles
// from the first to the second.
const (
	firstRetry = time.Second
	lastRetry  = 30 * time.Second
)

// retries remembers which groups have to wait before Pods are created for them, and how long. There are two reasons: the
// API server has refused it, which a changed spec may mend and which is then tried at once, and Pods that ended by
// themselves. All of it can be lost at any time without harm.
type retries struct {
	backoff *flowcontrol.Backoff
	clock   clock.PassiveClock
}

func newRetries(c clock.WithTicker) *retries {
	b := flowcontrol.NewBackOffWithJitter(firstRetry, lastRetry, 0)
	b.Clock = c
	return &retries{backoff: b, clock: c}
}

func endedID(rc *rayv1.RayCluster, group string) string {
	return fmt.Sprintf("%s/ended/%s", rc.UID, group)
}

func refusedID(rc *rayv1.RayCluster, group string) string {
	return fmt.Sprintf("%s/refused/%d/%s", rc.UID, rc.Generation, group)
}

// ended notes that Pods of the group ended by themselves.
func (r *retries) ended(rc *rayv1.RayCluster, group string) {
	r.backoff.Next(endedID(rc, group), r.clock.Now())
}

// refused notes a refusal and returns when to try again.
func (r *retries) refused(rc *rayv1.RayCluster, group string) time.Duration {
	id := refusedID(rc, group)
	r.backoff.Next(id, r.clock.Now())
	return r.backoff.Get(id)
}

func interruptedID(rc *rayv1.RayCluster, group string) string {
	return fmt.Sprintf("%s/interrupted/%s", rc.UID, group)
}

// interrupted notes that the API server could not be asked for all Pods of the group. It makes nobody wait.
func (r *retries) interrupted(rc *rayv1.RayCluster, group string) {
	r.backoff.Next(interruptedID(rc, group), r.clock.Now())
}

// accepted notes that creating Pods of the group works.
func (r *retries) accepted(rc *rayv1.RayCluster, group string) {
	r.backoff.DeleteEntry(refusedID(rc, group))
	r.backoff.DeleteEntry(interruptedID(rc, group))
}

// refusedLately reports whether the last attempt for the group did not get all Pods, so that a replica may be unfinished.
func (r *retries) refusedLately(rc *rayv1.RayCluster, group string) bool {
	return r.backoff.Get(refusedID(rc, group)) > 0 || r.backoff.Get(interruptedID(rc, group)) > 0
}

// wait returns how long the group still has to wait, zero if it does not, and whether a refusal is the reason.
func (r *retries) wait(rc *rayv1.RayCluster, group string) (d time.Duration, refused bool) {
	now := r.clock.Now()
	for _, id := range []string{endedID(rc, group), refusedID(rc, group)} {
		if r.backoff.IsInBackOffSinceUpdate(id, now) {
			d = max(d, r.backoff.Get(id))
			refused = refused || id == refusedID(rc, group)
		}
	}
	return d, refused
}

// forget drops what has not been asked for in a long time.
func (r *retries) forget() { r.backoff.GC() }
