package flowcontrol

import (
	"cmp"
	"context"
	"net"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/grpc/codes"
	"k8s.io/utils/lru"

	"github.com/raygate/raygate/apiserver/internal/authn"
	"github.com/raygate/raygate/apiserver/internal/rpcstatus"
)

// Options of New.
type Options struct {
	// Identifier identifies callers. Required.
	Identifier authn.Identifier
	// Table translates errors. Required.
	Table *rpcstatus.Table
	// Limits of calls and bytes in flight.
	Limits Limits
	// StallTime is how long a client of a stream may read nothing. Zero means 30 s.
	StallTime time.Duration
	// StreamAge is the lifetime of a gRPC stream, plus or minus a tenth, so that clients spread over replicas again. Zero means no limit.
	StreamAge time.Duration
	// BodyTime is how long a client may take to send a gRPC request. Zero means 10 s.
	BodyTime time.Duration
	// MaxBody is the longest gRPC request in bytes, for grpc.MaxRecvMsgSize. Required.
	MaxBody int
}

// openLimits are the limits of calls without credentials, for each source address. There is no total limit, so that health probes are always admitted.
var openLimits = Limits{CallerCalls: 50, CallerLong: 50, CallerRate: 100, CallerBurst: 200}

// Limits of unknown credentials, for each source address: each is a request to the API server.
const (
	unknownRate  = 100
	unknownBurst = 500
)

// Limits of calls that receive their request although there is no room for the longest one: how many at once, and for how long.
const (
	crampedPlaces = 8
	crampedTime   = time.Second
)

// Controller admits calls. Its metric counts the calls that it refuses.
type Controller struct {
	Options
	prometheus.Collector
	room, open *room
	// unidentified are the places of calls that wait for the API server to identify their caller, renewed those of callers with an outdated verdict.
	unidentified, renewed chan struct{}
	// cramped are the places of calls that receive their request although there is no room for the longest one.
	cramped chan struct{}
	unknown *lru.Cache // address -> *rate.Limiter
	refused *prometheus.CounterVec
}

// New returns a Controller.
func New(o Options) *Controller {
	o.StallTime, o.BodyTime = cmp.Or(o.StallTime, 30*time.Second), cmp.Or(o.BodyTime, 10*time.Second)
	e := &Controller{Options: o, room: newRoom(o.Limits), open: newRoom(openLimits), unknown: lru.New(maxRates), refused: prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "raygate_apiserver_edge_refused_total", Help: "Calls refused before their body was read.",
	}, []string{"transport", "code"})}
	e.Collector = e.refused
	places := min(e.room.limits.Unidentified, 1<<16)
	e.unidentified, e.renewed, e.cramped = make(chan struct{}, places), make(chan struct{}, places), make(chan struct{}, crampedPlaces)
	return e
}

// Enter identifies the sender of r and takes a place for the call. long means that the call stays open. The returned context carries the caller. The
// caller of Enter must leave the visit.
func (e *Controller) Enter(ctx context.Context, r *http.Request, long bool) (context.Context, *Visit, error) {
	caller, err := e.identify(ctx, r)
	if err != nil {
		return ctx, nil, err
	}
	return enter(authn.WithCaller(ctx, caller), e.room, caller.Name(), long)
}

func enter(ctx context.Context, r *room, caller string, long bool) (context.Context, *Visit, error) {
	v, err := r.enter(caller, long)
	if err != nil {
		return ctx, nil, err
	}
	return context.WithValue(ctx, visitKey{}, v), v, nil
}

// identify authenticates unknown callers at the API server. Callers with an outdated verdict have a separate limit and use that verdict
// when the limit is reached. Invalid credentials therefore cannot lock out other callers.
func (e *Controller) identify(ctx context.Context, r *http.Request) (*authn.Caller, error) {
	id := e.Identifier(r)
	if id.Lookup == nil {
		return id.Caller, id.Err
	}
	places := e.renewed
	if id.Stale == nil {
		places = e.unidentified
		if id.Remote {
			if delay := reserve(e.unknown, host(r.RemoteAddr), unknownRate, unknownBurst); delay > 0 {
				return nil, full("OVERLOADED", "your address sends more new credentials a second than it may", delay)
			}
		}
	}
	select {
	case places <- struct{}{}:
		defer func() { <-places }()
	default:
		if id.Stale != nil {
			return id.Stale, nil
		}
		return nil, full("OVERLOADED", "too many calls wait for Kubernetes to say whose they are", time.Second)
	}
	return id.Lookup(ctx)
}

// host is the address of a client without its port.
func host(address string) string {
	name, _, err := net.SplitHostPort(address)
	if err != nil {
		return address
	}
	return name
}

// Refused counts a refusal, for the metrics.
func (e *Controller) Refused(transport string, code codes.Code) {
	e.refused.WithLabelValues(transport, code.String()).Inc()
}
