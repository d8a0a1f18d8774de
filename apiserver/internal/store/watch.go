package store

import (
	"cmp"
	"context"
	"slices"
	"sort"
	"time"
)

// EventType is the type of a watch event.
type EventType string

// The types of watch events.
const (
	// Added: the object is new, or has begun to match.
	Added EventType = "ADDED"
	// Modified: the object has changed.
	Modified EventType = "MODIFIED"
	// Deleted: the object is gone, or no longer matches; Item is its last version seen.
	Deleted EventType = "DELETED"
	// Synced: all objects that were there at the start have been sent. No item.
	Synced EventType = "SYNCED"
	// Heartbeat: nothing has happened for a while. No item.
	Heartbeat EventType = "HEARTBEAT"
	// Reset: the resume token was too old; forget everything, the watch starts over. No item.
	Reset EventType = "RESET"
)

// Event is one message of a watch.
type Event struct {
	Type EventType
	Item *Item
	// Token resumes after this event.
	Token string
	// Age of a Heartbeat is how long the API server has not been in contact, zero while it is.
	Age time.Duration
}

// WatchOptions of Watch.
type WatchOptions struct {
	Selection
	// ResumeToken continues an earlier watch. Empty means from now, after the present objects.
	ResumeToken string
	// SkipInitial leaves out the existing objects if there is no ResumeToken.
	SkipInitial bool
	// OnHeartbeat is called before each heartbeat; an error ends the watch. It checks the caller's rights again. Nil does nothing.
	OnHeartbeat func() error
}

// watchBatch is the number of changes that are read from the log with the lock held once, watchBatchBytes the bytes of their objects: a
// slow client keeps them from being freed.
const (
	watchBatch      = 128
	watchBatchBytes = 1 << 20
)

// Watch calls send for every event until ctx ends or send fails. All watchers read the same log, so that a slow one only needs its position
// in it. When the log has moved past that position, the watch ends with ErrSlowWatcher.
func (s *Store) Watch(ctx context.Context, o WatchOptions, send func(Event) error) error {
	w := &watcher{s: s, o: o, send: send}
	if err := w.start(ctx); err != nil {
		return err
	}
	return w.follow(ctx)
}

type watcher struct {
	s      *Store
	o      WatchOptions
	send   func(Event) error
	next   uint64 // number of the next change to look at
	resume uint64 // version to resume from when nothing more is sent
}

// start finds the place of the watch in the log, and sends the events before it.
func (w *watcher) start(ctx context.Context) error {
	resume, ahead, err := w.waitForVersion(ctx)
	if err != nil {
		return err
	}
	c := w.s.cache
	c.mu.RLock()
	if w.o.ResumeToken != "" && !ahead && resume >= c.since {
		w.next = c.first + uint64(sort.Search(len(c.log), func(i int) bool { return c.log[i].version > resume }))
		w.resume = resume
		c.mu.RUnlock()
		return w.send(Event{Type: Synced, Token: resumeToken(resume)})
	}
	items := c.listLocked(w.o.Namespace)
	w.next, w.resume = c.first+uint64(len(c.log)), c.version
	c.mu.RUnlock()
	return w.sendInitial(ctx, items)
}

// waitForVersion waits until the cache is as new as the watch needs. It returns the version of the resume token, and whether that is ahead of the cache: a token may
// come from a replica that is ahead of this one. If it stays ahead, it cannot be used here.
func (w *watcher) waitForVersion(ctx context.Context) (resume uint64, ahead bool, err error) {
	if w.o.ResumeToken != "" {
		if resume, err = parseResumeToken(w.o.ResumeToken); err != nil {
			return 0, false, err
		}
	}
	if err := w.s.waitForVersion(ctx, parseVersion(w.o.MinVersion)); err != nil {
		return 0, false, err
	}
	c := w.s.cache
	// The snapshot includes own writes. It is also returned while the watch is disconnected.
	written := w.s.pending.newest(w.o.Namespace)
	w.s.await(ctx, func() bool { return c.version >= written })
	ahead = !w.s.await(ctx, func() bool { return c.synced && c.version >= resume })
	if err := ctx.Err(); err != nil {
		return 0, false, err
	}
	return resume, ahead, w.s.Ready()
}

// sendInitial sends the existing objects. Until all have been sent, its tokens start over, because a watch that resumed between them would
// lose the rest.
func (w *watcher) sendInitial(ctx context.Context, items []*Item) error {
	if w.o.ResumeToken != "" {
		if err := w.send(Event{Type: Reset, Token: resumeToken(0)}); err != nil {
			return err
		}
	}
	if !w.o.SkipInitial || w.o.ResumeToken != "" {
		items, err := w.o.of(ctx, items)
		if err != nil {
			return err
		}
		for _, item := range items {
			if err := w.send(Event{Type: Added, Item: item, Token: resumeToken(0)}); err != nil {
				return err
			}
		}
	}
	return w.send(Event{Type: Synced, Token: resumeToken(w.resume)})
}

// follow sends changes as they come.
func (w *watcher) follow(ctx context.Context) error {
	ticker := w.s.opts.Clock.NewTicker(w.s.opts.Heartbeat)
	defer ticker.Stop()
	for {
		batch, version, moved, err := w.read()
		if err != nil {
			return err
		}
		for _, ch := range batch {
			if err := w.sendChange(ch); err != nil {
				return err
			}
		}
		w.resume = max(w.resume, version)
		select { // a heartbeat has its turn also when changes never pause, for the sake of OnHeartbeat
		case <-ctx.Done():
			return ctx.Err()
		case <-ticker.C():
			if err := w.heartbeat(); err != nil {
				return err
			}
		case <-moved:
		}
	}
}

// atOnce is a closed channel.
var atOnce = func() chan struct{} {
	c := make(chan struct{})
	close(c)
	return c
}()

func (w *watcher) heartbeat() error {
	if w.o.OnHeartbeat != nil {
		if err := w.o.OnHeartbeat(); err != nil {
			return err
		}
	}
	return w.send(Event{Type: Heartbeat, Token: resumeToken(w.resume), Age: w.s.cache.age()})
}

// read returns the next changes from the log, the version after them, and a channel that is closed when there are more.
func (w *watcher) read() ([]change, uint64, <-chan struct{}, error) {
	c := w.s.cache
	c.mu.RLock()
	defer c.mu.RUnlock()
	if w.next < c.first {
		return nil, 0, nil, ErrSlowWatcher
	}
	rest, version, moved := c.log[min(w.next-c.first, uint64(len(c.log))):], c.version, c.moved
	if n := batchOf(rest); n < len(rest) {
		rest, version, moved = rest[:n], 0, atOnce
	}
	w.next += uint64(len(rest))
	return slices.Clone(rest), version, moved, nil // and not a part of the log, all of which it would keep
}

// batchOf returns the number of changes to read at once, at least one if there is one.
func batchOf(log []change) int {
	bytes := 0
	for n := range log[:min(len(log), watchBatch)] {
		if bytes += log[n].held(); n > 0 && bytes > watchBatchBytes {
			return n
		}
	}
	return min(len(log), watchBatch)
}

func (w *watcher) sendChange(ch change) error {
	w.resume = max(w.resume, ch.resume)
	item := cmp.Or(ch.next, ch.prev)
	if w.o.Namespace != "" && item.key.Namespace != w.o.Namespace {
		return nil
	}
	was, is := ch.prev != nil && w.o.has(ch.prev), ch.next != nil && w.o.has(ch.next)
	e := Event{Item: item, Token: ch.token}
	switch {
	case is && was:
		e.Type = Modified
	case is:
		e.Type = Added
	case was:
		e.Type = Deleted
	default:
		return nil
	}
	return w.send(e)
}
