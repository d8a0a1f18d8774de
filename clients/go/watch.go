package raygate

import (
	"context"
	"errors"
	"io"
	"iter"
	"slices"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"
)

// Types of events.
const (
	// Added, Modified and Deleted come with an object.
	Added    = "ADDED"
	Modified = "MODIFIED"
	Deleted  = "DELETED"
	// Synced means that all existing objects have been sent, or, after a reconnect, that no change was missed.
	Synced = "SYNCED"
	// Heartbeat means that nothing has changed.
	Heartbeat = "HEARTBEAT"
	// Reset means that changes may have been missed: discard all state; Added events for all objects follow.
	Reset = "RESET"
)

// Event is something that a watch saw.
type Event[T any] struct {
	Type string
	// Object of Added, Modified and Deleted; the last version of a deleted one.
	Object T
	// Token resumes a watch after this event.
	Token string
	// Stale is how long the gateway has had no contact with the Kubernetes API server, in a Heartbeat.
	Stale time.Duration
}

// WatchOptions of a watch.
type WatchOptions struct {
	// LabelSelector in the syntax of kubectl; empty means all.
	LabelSelector string
	// Filter as in ListOptions.
	Filter string
	// Basic as in ListOptions.
	Basic bool
	// ResumeToken is the Token of an event of an earlier watch; empty starts with the objects there are.
	ResumeToken string
	// SkipInitial leaves out the objects there are when the watch begins.
	SkipInitial bool
	// OnReconnect is called with the reason when a stream ended and before the next is made. Nil is fine.
	OnReconnect func(err error)
}

// Watch returns the existing objects and then each change, until ctx ends or the loop is left. If the stream ends because of a gateway
// shutdown, its age or a slow reader, Watch opens another one and continues after the last event. An error ends the watch and is in the
// last pair.
func (m *Messages) Watch(ctx context.Context, o WatchOptions) iter.Seq2[Event[proto.Message], error] {
	return func(yield func(Event[proto.Message], error) bool) {
		w := &watch{m: m, o: o, token: o.ResumeToken, yield: yield}
		if err := w.run(ctx); err != nil {
			yield(Event[proto.Message]{}, err)
		}
	}
}

// errLeft ends a watch after the caller has left the loop.
var errLeft = errors.New("the loop was left")

type watch struct {
	m     *Messages
	o     WatchOptions
	token string
	yield func(Event[proto.Message], error) bool
	// seen is set by the first message of a stream, begun by the first message of the first stream.
	seen, begun bool
}

func (w *watch) run(ctx context.Context) error {
	backoff := newBackoff(defaultRetries)
	for tries := 0; ; tries++ {
		w.seen = false
		err := w.stream(ctx)
		switch {
		case errors.Is(err, errLeft):
			return nil
		case ctx.Err() != nil:
			return ctx.Err()
		}
		if w.seen {
			tries, backoff = 0, newBackoff(defaultRetries)
		}
		p := ProblemOf(err)
		switch {
		case w.token != "" && slices.ContainsFunc(p.Violations, func(v Violation) bool { return v.Field == "resume_token" }):
			// The token is from another gateway or has expired. Missed changes are unknown.
			w.token = ""
			if !w.yield(Event[proto.Message]{Type: Reset}, nil) {
				return nil
			}
		case !w.continues(p, err, tries):
			return err
		}
		if w.o.OnReconnect != nil {
			w.o.OnReconnect(err)
		}
		if !sleep(ctx, w.m.client.clock, max(p.RetryAfter, backoff.Step())) {
			return errors.Join(ctx.Err(), err)
		}
	}
}

// continues reports whether another stream follows after this end of one. tries is the number of streams before it without a message.
func (w *watch) continues(p *Problem, err error, tries int) bool {
	return passes(p, err) && (w.begun || tries < defaultRetries)
}

// passes reports whether the reason for this end of a stream passes.
func passes(p *Problem, err error) bool {
	return errors.Is(err, io.EOF) || p.Code == codes.Unavailable || p.Code == codes.ResourceExhausted
}

// stream hands on the messages of one stream. It never returns nil.
func (w *watch) stream(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	view := "FULL"
	if w.o.Basic {
		view = "BASIC"
	}
	method := w.m.kind.method("Watch")
	stream, err := openStream(ctx, w.m.client.conn, method, fields{
		"namespace": w.m.namespace, "label_selector": w.o.LabelSelector, "filter": w.o.Filter, "view": view, "resume_token": w.token, "skip_initial": w.o.SkipInitial,
	})
	if err != nil {
		return err
	}
	for {
		resp := newMessage(method.Output())
		if err := stream.RecvMsg(resp.Interface()); err != nil {
			return err
		}
		w.seen, w.begun = true, true
		said := resp.Interface().(interface {
			GetType() string
			GetResumeToken() string
			GetStaleSeconds() int64
		})
		w.token = said.GetResumeToken()
		e := Event[proto.Message]{Type: said.GetType(), Object: w.m.kind.object(resp), Token: w.token, Stale: time.Duration(said.GetStaleSeconds()) * time.Second}
		if !w.yield(e, nil) {
			return errLeft
		}
	}
}
