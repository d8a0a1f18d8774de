package simulation

import (
	"context"
	"errors"
	"io"
	"sync"
	"time"

	"gocloud.dev/blob/memblob"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/operator/internal/archive"
	"github.com/raygate/raygate/operator/internal/jobplan"
	"github.com/raygate/raygate/pkg/history"
)

// Ways of a history store.
const (
	storeOff   = iota // there is none
	storeWorks        // with delays
	storeFlaky        // some requests fail
	storeFails
	storeHangs // until the caller gives up
	storeWays
)

// historyStore is the history store of a seed. It outlives the operator.
type historyStore struct {
	world *world
	way   int

	parts *history.Store // of logs of jobs that run

	mu      sync.Mutex
	records map[string]*history.Record
}

func newHistoryStore(w *world) *historyStore {
	return &historyStore{
		world: w, way: w.pick("history store", storeWays), records: map[string]*history.Record{}, parts: history.New(memblob.OpenBucket(nil), history.Limits{}),
	}
}

func id(k history.Key) string { return k.Kind + " " + k.Name + " " + k.UID + " " + k.Run() }

// request is what happens to a request.
func (s *historyStore) request(ctx context.Context, name string) error {
	w := s.world
	if s.way == storeHangs {
		<-ctx.Done()
		return ctx.Err()
	}
	if err := wait(ctx, w.between("store "+name, time.Millisecond, 3*time.Second)); err != nil {
		return err
	}
	if s.way == storeFails || s.way == storeFlaky && w.chance("store fails "+name, 0.4) {
		return errors.New("503 SlowDown")
	}
	return nil
}

// Has implements archive.Store.
func (s *historyStore) Has(ctx context.Context, k history.Key) (bool, error) {
	if err := s.request(ctx, "has "+k.Name); err != nil {
		return false, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.records[id(k)] != nil, nil
}

// Put implements archive.Store.
func (s *historyStore) Put(ctx context.Context, r *history.Record, log io.Reader) (bool, error) {
	var kept int64
	if log != nil {
		var err error
		if kept, err = io.Copy(io.Discard, log); err != nil {
			r.Lost = append(r.Lost, err.Error())
		}
	}
	if err := s.request(ctx, "put "+r.Name); err != nil {
		return false, err
	}
	if p, err := s.parts.Spool(ctx, r.Key); err == nil && kept < p.End() {
		s.world.watch.violate("storedLogIsKept", "%s has %d bytes of the log, but %d were stored while it ran: %q", id(r.Key), kept, p.End(), r.Lost)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.records[id(r.Key)] != nil {
		return false, nil
	}
	s.records[id(r.Key)] = r
	s.world.log("%s is stored, lost: %q", id(r.Key), r.Lost)
	return true, nil
}

// Spool implements archive.Store. Its parts are stored without faults.
func (s *historyStore) Spool(ctx context.Context, k history.Key) (*history.Spool, error) {
	if err := s.request(ctx, "spool "+k.Name); err != nil {
		return nil, err
	}
	return s.parts.Spool(ctx, k)
}

func (s *historyStore) has(k history.Key) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.records[id(k)] != nil
}

// checkHistory is about a RayJob whose deletions wait for the store. The caller holds the lock.
func (d *watchdog) checkHistory(j *rayv1.RayJob, alive bool) {
	w := d.world
	most := 2 * time.Minute // the limit, stopping the job, and some time
	if j.DeletionTimestamp != nil {
		most = 5 * time.Minute // giving up takes patience of its own
	}
	since, known := d.undeleted[j.UID]
	switch {
	case !w.deletes(j) || !alive || w.excused():
		delete(d.undeleted, j.UID)
	case !known:
		d.undeleted[j.UID] = time.Now()
	case time.Since(since) > most:
		d.violateLocked("storeDelaysNothing", "%s is %s and waits since %s for a deletion", j.Name, j.Status.JobDeploymentStatus, time.Since(since))
	}
}

// deletes reports whether a RayJob is being deleted, or its cluster is to be deleted now and is not.
func (w *world) deletes(j *rayv1.RayJob) bool {
	st := &j.Status
	rc := w.clusterObject(st.RayClusterName)
	own := rc.Name != "" && rc.DeletionTimestamp == nil && len(j.Spec.ClusterSelector) == 0
	switch state := st.JobDeploymentStatus; {
	case j.DeletionTimestamp != nil:
		return true
	case state == rayv1.JobDeploymentStatusSuspending, state == rayv1.JobDeploymentStatusRetrying:
		return own
	case state.IsTerminal() && j.Spec.ShutdownAfterJobFinishes && j.Spec.DeletionStrategy == nil && st.EndTime != nil:
		return own && time.Since(st.EndTime.Time) > time.Duration(j.Spec.TTLSecondsAfterFinished)*time.Second
	default:
		return false
	}
}

// deletions looks at all RayJobs, once faults have stopped.
func (d *watchdog) deletions() {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, o := range d.world.store.All(kindRayJob) {
		d.checkHistory(o.(*rayv1.RayJob), true)
	}
}

// unstored finds ended RayJobs that a store which works has no record of.
func (d *watchdog) unstored() {
	w := d.world
	if w.historyStore.way != storeWorks {
		return
	}
	for _, o := range w.store.All(kindRayJob) {
		j := o.(*rayv1.RayJob)
		k := archive.KeyOfJob(j)
		if j.Status.JobDeploymentStatus.IsTerminal() && jobplan.Over(j) && j.Status.StartTime != nil && !w.historyStore.has(k) {
			d.violate("historyIsKept", "%s has ended, and has no record", id(k))
		}
	}
}
