package archive

import (
	"context"
	"errors"
	"io"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/raygate/raygate/operator/internal/dashboards"
	"github.com/raygate/raygate/operator/internal/objectmap"
	"github.com/raygate/raygate/operator/internal/poll"
	"github.com/raygate/raygate/pkg/history"
)

// Store is the part of history.Store that writes.
type Store interface {
	// Has reports whether a record exists.
	Has(ctx context.Context, k history.Key) (bool, error)
	// Put writes a record and its log, and reports whether it was new.
	Put(ctx context.Context, r *history.Record, log io.Reader) (bool, error)
	// Spool opens the log of an attempt that runs.
	Spool(ctx context.Context, k history.Key) (*history.Spool, error)
}

// Config configures an Archive. All fields from Timeout on are optional.
type Config struct {
	Store Store
	// Cache has the Pods and RayClusters, and Live the events.
	Cache, Live client.Reader
	Clock       clock.WithDelayedExecution
	Dashboards  *dashboards.Dashboards
	// Timeout limits the work on one record, of which the dashboard gets half, and the logs of nodes a quarter. 0 means a minute.
	Timeout time.Duration
	// NodeLogs is the most bytes of logs of Ray's nodes in a record. 0 means none.
	NodeLogs int64
	// InFlight is the maximum number of records that are written at once. It limits the memory. 0 means 8.
	InFlight int
	// FollowAfter is how long a job runs until its log is stored while it is written. 0 means 30 seconds.
	FollowAfter time.Duration
	// Random returns a number in [0,1) by which pauses vary. Nil means a random one.
	Random func() float64
}

// Archive writes records in the background. It is safe for concurrent use. A nil Archive stores nothing.
type Archive struct {
	config   Config
	poller   *poll.Poller[run, struct{}]
	events   *eventLists
	meter    *meter
	failed   objectmap.Map[string, failures]    // by run
	logs     objectmap.Map[string, *runningLog] // by run
	follower follower
	serve    objectmap.Map[string, serveAnswer] // by cluster, of a RayService
}

// failures are failed attempts in a row, and why the last one failed.
type failures struct {
	count int
	last  string
}

// run identifies the subject of a record.
type run struct {
	object types.UID
	run    string
}

// New returns an Archive that works until its Start returns.
func New(c Config) *Archive {
	if c.Timeout <= 0 {
		c.Timeout = time.Minute
	}
	if c.InFlight <= 0 {
		c.InFlight = 8
	}
	if c.FollowAfter <= 0 {
		c.FollowAfter = followAfter
	}
	return &Archive{
		config: c, events: newEventLists(c.Live, c.Clock), meter: newMeter(c.Cache, c.Clock),
		poller:   poll.New[run, struct{}](poll.Options{Clock: c.Clock, MaxInFlight: c.InFlight}),
		follower: newFollower(c.Clock, c.Random),
	}
}

// Start waits for the end of the context, ends all work and waits for it.
func (a *Archive) Start(ctx context.Context) error {
	return errors.Join(a.follower.poller.Start(ctx), a.poller.Start(ctx))
}

// Outcome is the state of a record.
type Outcome struct {
	// Done means that the record is stored. Lost then describes what it lacks; empty if it is complete.
	Done bool
	Lost string
	// Failure is why the last attempt to store it failed; empty if there was none.
	Failure string
	// Retry is the time until the next attempt; 0 while one runs.
	Retry time.Duration
}

// incomplete is the error of a record that is stored and lacks something.
type incomplete struct{ lost string }

// Error implements error.
func (e *incomplete) Error() string { return e.lost }

// Outcome returns what became of the record of a key.
func (a *Archive) Outcome(k history.Key) Outcome {
	id := runOf(k)
	o, asked := a.poller.Outcome(id, command)
	failed, _ := a.failed.Get(id.object, id.run)
	var lacks *incomplete
	switch {
	case !asked || !o.Done:
		return Outcome{Failure: failed.last}
	case o.Err == nil:
		return Outcome{Done: true}
	case errors.As(o.Err, &lacks):
		return Outcome{Done: true, Lost: lacks.lost}
	default:
		due := o.DoneAt.Add(pause(failed.count))
		return Outcome{Failure: o.Err.Error(), Retry: max(due.Sub(a.config.Clock.Now()), time.Millisecond)}
	}
}

const (
	command = "put"
	// firstPause and lastPause are the pauses after failures.
	firstPause = 3 * time.Second
	lastPause  = 5 * time.Minute
)

func pause(failures int) time.Duration {
	return min(firstPause<<min(max(failures-1, 0), 10), lastPause)
}

func runOf(k history.Key) run { return run{types.UID(k.UID), k.Run()} }

// Keep begins to store the record of a subject, unless that has begun or is done. After a failure it begins again once Retry has
// passed. wake is called when the outcome is known.
func (a *Archive) Keep(s Subject, wake func()) {
	id := runOf(s.Key)
	failed, _ := a.failed.Get(id.object, id.run)
	a.failed.Set(id.object, id.run, failed)
	if o := a.Outcome(s.Key); o.Failure != "" && o.Retry == time.Millisecond {
		a.poller.Forget(id, command)
	}
	a.poller.Do(id, command, poll.Command{Timeout: a.config.Timeout, Wake: wake, Run: func(ctx context.Context) error {
		err := a.put(ctx, s)
		if lacks := (&incomplete{}); err == nil || errors.As(err, &lacks) {
			a.failed.Set(id.object, id.run, failures{})
			a.logs.Delete(id.object, id.run)
		} else {
			a.failed.Set(id.object, id.run, failures{failed.count + 1, err.Error()})
		}
		return err
	}})
}

// Forget drops what is known about an object. A nil Archive knows nothing.
func (a *Archive) Forget(object types.UID) {
	if a == nil {
		return
	}
	for r := range a.failed.All(object) {
		a.poller.Forget(run{object, r}, command)
	}
	a.failed.Forget(object)
	for r := range a.logs.All(object) {
		a.follower.poller.Unobserve(run{object, r}, command)
	}
	a.logs.Forget(object)
}

// put gathers and writes the record.
func (a *Archive) put(ctx context.Context, s Subject) error {
	if there, err := a.config.Store.Has(ctx, s.Key); err != nil || there {
		return err
	}
	stored, err := a.unfollow(ctx, s.Key)
	if err != nil {
		return err
	}
	r, err := a.gather(ctx, s)
	if err != nil {
		return err
	}
	log := a.log(ctx, s, r, stored)
	if log != nil {
		defer func() { _ = log.Close() }()
		_, err = a.config.Store.Put(ctx, r, log)
	} else {
		_, err = a.config.Store.Put(ctx, r, nil)
	}
	if err == nil && len(r.Lost) > 0 {
		err = &incomplete{strings.Join(r.Lost, "; ")}
	}
	return err
}
