package edge

import (
	"context"
	"net/http"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/grpc/codes"

	"github.com/raygate/raygate/apiserver/internal/authn"
	"github.com/raygate/raygate/apiserver/internal/rpcstatus"
)

// Options of New.
type Options struct {
	// Identifier says who calls. Required.
	Identifier authn.Identifier
	// Table translates what is refused. Required.
	Table *rpcstatus.Table
	// Limits of what is in flight.
	Limits Limits
	// StallTime is how long a client of a stream may take nothing. Zero means 30 s.
	StallTime time.Duration
	// StreamAge is how long a gRPC stream lives, give or take a tenth, so that clients spread over replicas anew. Zero means as long as it likes.
	StreamAge time.Duration
	// BodyTime is how long a client may take to send a gRPC request. Zero means 10 s.
	BodyTime time.Duration
	// MaxBody is the longest gRPC request in bytes, that of grpc.MaxRecvMsgSize. Required.
	MaxBody int
}

// Edge is the one place where calls come in. Its metric counts the calls that it refuses.
type Edge struct {
	Options
	prometheus.Collector
	room         *room
	unidentified chan struct{}
	refused      *prometheus.CounterVec
	conns        sync.Map // see Listener
}

// New returns an Edge.
func New(o Options) *Edge {
	if o.StallTime == 0 {
		o.StallTime = 30 * time.Second
	}
	if o.BodyTime == 0 {
		o.BodyTime = 10 * time.Second
	}
	e := &Edge{Options: o, room: newRoom(o.Limits), refused: prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "raygate_apiserver_edge_refused_total", Help: "Calls refused before their body was read.",
	}, []string{"transport", "code"})}
	e.Collector = e.refused
	e.unidentified = make(chan struct{}, min(e.room.limits.Unidentified, 1<<16))
	return e
}

// Enter finds out who sends r and takes a place for the call. long says that it stays open. The context returned carries the caller; the
// visit must be left.
func (e *Edge) Enter(ctx context.Context, r *http.Request, long bool) (context.Context, *Visit, error) {
	caller, err := e.identify(ctx, r)
	if err != nil {
		return ctx, nil, err
	}
	v, err := e.room.enter(caller.Name(), long)
	if err != nil {
		return ctx, nil, err
	}
	return authn.WithCaller(ctx, caller), v, nil
}

func (e *Edge) identify(ctx context.Context, r *http.Request) (*authn.Caller, error) {
	caller, err := e.Identifier.Known(r)
	if caller != nil || err != nil {
		return caller, err
	}
	select {
	case e.unidentified <- struct{}{}:
		defer func() { <-e.unidentified }()
	default:
		return nil, full("OVERLOADED", "too many calls wait for Kubernetes to say whose they are", time.Second)
	}
	return e.Identifier.Identify(ctx, r)
}

// Refused counts a refusal, for the metrics.
func (e *Edge) Refused(transport string, code codes.Code) {
	e.refused.WithLabelValues(transport, code.String()).Inc()
}
