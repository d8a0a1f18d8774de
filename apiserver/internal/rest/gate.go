package rest

import (
	"context"
	"net/http"
	"time"

	"k8s.io/klog/v2"

	"github.com/raygate/raygate/apiserver/internal/authn"
	"github.com/raygate/raygate/apiserver/internal/flowcontrol"
)

// Gate is the entry of an API: flow control, and the errors in the form of that API.
type Gate struct {
	FlowControl *flowcontrol.Controller
	WriteError  func(w http.ResponseWriter, err error)
}

// Enter calls serve with a context that has the caller, if flow control admits the request. long means that the request stays open. An error of
// serve means that nothing was answered; the connection is then closed, because the rest of the body is not read.
func (g *Gate) Enter(w http.ResponseWriter, r *http.Request, long bool, serve func(ctx context.Context, visit *flowcontrol.Visit) error) {
	ctx, visit, err := g.FlowControl.Enter(r.Context(), r, long)
	if err != nil {
		g.WriteError(w, Refused(g.FlowControl, w.Header(), err))
		return
	}
	defer visit.Leave()
	if err := serve(ctx, visit); err != nil {
		w.Header().Set("Connection", "close")
		g.WriteError(w, err)
	}
}

// EndWhen cancels a request once ended returns true, which it asks in intervals as long as ctx lasts. The timer is that of the first interval: a request
// that is answered within it costs no goroutine.
func EndWhen(ctx context.Context, cancel context.CancelFunc, interval time.Duration, ended func() bool) *time.Timer {
	return time.AfterFunc(interval, func() {
		switch {
		case ctx.Err() != nil:
		case ended():
			cancel()
		default:
			EndWhen(ctx, cancel, interval, ended)
		}
	})
}

// Audit logs a request that bypasses the services, because the access log only has their calls. mutates means that it can change something. fields are
// keys and values.
func Audit(ctx context.Context, r *http.Request, route string, mutates bool, fields ...any) {
	message := "Read"
	if mutates {
		message = "Mutation"
	}
	all := append([]any{"method", r.Method + " " + route, "requestID", r.Header.Get("X-Request-Id")}, fields...)
	if c := authn.CallerFrom(ctx); c != nil {
		all = append(all, "user", c.Name(), "groups", c.Groups())
	}
	klog.FromContext(ctx).WithName("audit").Info(message, all...)
}

// IsRead reports whether an HTTP method only reads.
func IsRead(method string) bool { return method == http.MethodGet || method == http.MethodHead }
