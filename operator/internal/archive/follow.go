package archive

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io"
	"sync"
	"time"

	"golang.org/x/time/rate"
	"k8s.io/utils/clock"

	"github.com/raygate/raygate/operator/internal/dashboards"
	"github.com/raygate/raygate/operator/internal/poll"
	"github.com/raygate/raygate/pkg/dashboard"
	"github.com/raygate/raygate/pkg/history"
)

const (
	// followAfter is how long a job runs until its log is stored while it is written. A shorter job costs no request before its end.
	followAfter = 30 * time.Second
	// maxFollowed is how many logs are followed at once, each with a buffer of at most 256 KiB. Others are read at the end only.
	maxFollowed = 256
	// followRate is how many bytes are read per second, of all logs together.
	followRate = 16 << 20
	// flushEvery is how long bytes stay in memory at most. They are stored earlier if the dashboard breaks off.
	flushEvery = time.Minute
	// reopenAfter is the pause until a log that broke off is read again, and lastReopen the longest one.
	reopenAfter, lastReopen = 5 * time.Second, 5 * time.Minute
	// followBuffer is the size of a read.
	followBuffer = 32 << 10

	forever = 365 * 24 * time.Hour
)

var (
	errAnotherLog = errors.New("the dashboard has another log than before")
	errOver       = errors.New("the attempt is over")
)

// follower stores logs of jobs that run.
type follower struct {
	poller *poll.Poller[run, struct{}]
	rate   *rate.Limiter
	// since is when this process began: an earlier one may have stored logs of attempts that began before.
	since time.Time
}

func newFollower(c clock.Clock, random func() float64) follower {
	return follower{
		poller: poll.New[run, struct{}](poll.Options{Clock: c, Random: random, MaxInFlight: maxFollowed, MaxBackoff: lastReopen}),
		rate:   rate.NewLimiter(followRate, followBuffer), since: c.Now(),
	}
}

// Follow begins to store the log of an attempt whose job has run since a time, unless that has begun. A wait above 0 means that it is too early.
func (a *Archive) Follow(k history.Key, job string, at dashboards.Site, since time.Time) (wait time.Duration) {
	if wait := a.config.FollowAfter - a.config.Clock.Since(since); wait > 0 {
		return wait
	}
	id := runOf(k)
	l := a.running(id)
	a.follower.poller.Observe(id, command, poll.Query[struct{}]{
		Interval: reopenAfter, Timeout: forever, Revision: at.Revision() + " " + job,
		Ask: func(ctx context.Context) (struct{}, error) { return struct{}{}, l.follow(ctx, a, k, job, at) },
	}, poll.Observer[struct{}]{Changed: func(poll.Answer[struct{}], poll.Answer[struct{}]) bool { return false }, Wake: func() {}})
	return 0
}

// running returns the log of an attempt.
func (a *Archive) running(id run) *runningLog {
	l, ok := a.logs.Get(id.object, id.run)
	if !ok {
		l = &runningLog{}
		a.logs.Set(id.object, id.run, l)
	}
	return l
}

// unfollow ends to store the log of an attempt, and returns what is stored; nil if there is nothing.
func (a *Archive) unfollow(ctx context.Context, k history.Key) (*history.Spool, error) {
	id := runOf(k)
	a.follower.poller.Unobserve(id, command)
	if _, followed := a.logs.Get(id.object, id.run); !followed && (k.Started.IsZero() || k.Started.After(a.follower.since)) {
		return nil, nil
	}
	l := a.running(id)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.over = true
	if err := l.open(ctx, a.config.Store, k); err != nil || l.spool.End() == 0 {
		return nil, err
	}
	return l.spool, nil
}

// runningLog is the log of an attempt that runs.
type runningLog struct {
	mu    sync.Mutex
	spool *history.Spool // nil until it is opened
	over  bool
}

// open opens the spool. The caller holds the lock.
func (l *runningLog) open(ctx context.Context, in Store, k history.Key) (err error) {
	if l.spool == nil {
		l.spool, err = in.Spool(ctx, k)
	}
	return err
}

// begin stores what an earlier stream left, and returns how much of the log there is, with its last bytes.
func (l *runningLog) begin(ctx context.Context, in Store, k history.Key) (end int64, last []byte, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.over {
		return 0, nil, errOver
	}
	if err := l.open(ctx, in, k); err != nil {
		return 0, nil, err
	}
	return l.spool.End(), bytes.Clone(l.spool.Last()), l.spool.Flush(ctx)
}

// do changes the spool, unless the attempt is over.
func (l *runningLog) do(change func(*history.Spool) error) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.over {
		return errOver
	}
	return change(l.spool)
}

func (l *runningLog) flush(ctx context.Context) error {
	return l.do(func(p *history.Spool) error { return p.Flush(ctx) })
}

// follow stores the log until the stream of the dashboard ends.
func (l *runningLog) follow(ctx context.Context, a *Archive, k history.Key, job string, at dashboards.Site) error {
	end, last, err := l.begin(ctx, a.config.Store, k)
	if err != nil {
		return err
	}
	l.flushLater(ctx, a.config.Clock)
	var copied int64
	err = a.config.Dashboards.Call(ctx, at, func(c dashboard.Client) error {
		in, err := c.TailJobLogs(ctx, job)
		if err != nil {
			return err
		}
		defer func() { _ = in.Close() }()
		stream := &paced{ctx, in, a.follower.rate}
		if err := skip(stream, end, last); err != nil {
			return err
		}
		copied, err = io.CopyBuffer(spooling{ctx, l}, stream, make([]byte, followBuffer))
		return err
	})
	if errors.Is(err, errAnotherLog) { // the driver was started again on another head
		return errors.Join(err, l.do(func(p *history.Spool) error { return p.Reset(ctx) }))
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	switch failure := l.flush(ctx); {
	case failure != nil:
		return failure
	case copied > 0:
		return nil // so that the pause is short
	default:
		return cmp.Or(err, io.ErrUnexpectedEOF)
	}
}

// flushLater stores now and then what was read.
func (l *runningLog) flushLater(ctx context.Context, c clock.WithDelayedExecution) {
	c.AfterFunc(flushEvery, func() {
		if ctx.Err() == nil {
			_ = l.flush(ctx) // the bytes stay, and the next time stores them
			l.flushLater(ctx, c)
		}
	})
}

// skip reads the beginning of a log, whose last bytes are known.
func skip(in io.Reader, n int64, last []byte) error {
	if _, err := io.CopyN(io.Discard, in, n-int64(len(last))); err != nil {
		return err
	}
	got := make([]byte, len(last))
	if _, err := io.ReadFull(in, got); err != nil {
		return err
	}
	if !bytes.Equal(got, last) {
		return errAnotherLog
	}
	return nil
}

// spooling writes to a spool.
type spooling struct {
	ctx context.Context //nolint:containedctx // that of the stream
	log *runningLog
}

// Write implements io.Writer.
func (s spooling) Write(p []byte) (int, error) {
	return len(p), s.log.do(func(to *history.Spool) error { return to.Add(s.ctx, p) })
}

// paced reads no faster than its share of a rate.
type paced struct {
	ctx  context.Context //nolint:containedctx // that of the stream
	in   io.Reader
	rate *rate.Limiter
}

// Read implements io.Reader.
func (p *paced) Read(b []byte) (int, error) {
	n, err := p.in.Read(b[:min(len(b), followBuffer)])
	if wait := p.rate.WaitN(p.ctx, n); err == nil {
		err = wait
	}
	return n, err
}
