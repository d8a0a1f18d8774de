package v1

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"path"
	"strings"

	"github.com/grpc-ecosystem/grpc-gateway/v2/runtime"
	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"

	"github.com/raygate/raygate/apiserver/internal/document"
	"github.com/raygate/raygate/apiserver/internal/edge"
	"github.com/raygate/raygate/apiserver/internal/interceptor"
	"github.com/raygate/raygate/apiserver/internal/rest"
	"github.com/raygate/raygate/apiserver/internal/rpcstatus"
)

// Prefix of the paths of this version.
const Prefix = "/apis/v1/"

// Options of New. All are required.
type Options struct {
	// Conn reaches the services.
	Conn grpc.ClientConnInterface
	// Edge decides on a request before its body is read.
	Edge *edge.Edge
	// Table translates the errors that arise here.
	Table *rpcstatus.Table
}

// API is the HTTP handler of this version.
type API struct {
	Options
	mux    *runtime.ServeMux // of what has no route: it says why
	routes routes
}

// New returns the handler. ctx ends the registrations.
func New(ctx context.Context, o Options) (*API, error) {
	a := &API{Options: o}
	a.mux = a.newMux()
	for _, s := range services {
		mux := a.newMux() // of its own: a mux tries one pattern after the other
		for _, m := range []*runtime.ServeMux{mux, a.mux} {
			if err := s.register(ctx, m, o.Conn); err != nil {
				return nil, fmt.Errorf("registering %s: %w", s.descriptor.Name(), err)
			}
		}
		a.routes = append(a.routes, routesOf(s.descriptor, mux)...)
	}
	return a, nil
}

func (a *API) newMux() *runtime.ServeMux {
	return runtime.NewServeMux(
		runtime.WithMarshalerOption(runtime.MIMEWildcard, newMarshaler()),
		runtime.WithIncomingHeaderMatcher(func(string) (string, bool) { return "", false }), // see rest.Metadata
		runtime.WithOutgoingHeaderMatcher(outgoingHeader),
		runtime.WithOutgoingTrailerMatcher(func(string) (string, bool) { return "", false }),
		runtime.WithErrorHandler(func(_ context.Context, _ *runtime.ServeMux, _ runtime.Marshaler, w http.ResponseWriter, _ *http.Request, err error) {
			a.WriteError(w, err)
		}),
		runtime.WithRoutingErrorHandler(a.routingError),
		runtime.WithDisablePathLengthFallback(),
		runtime.WithDisableHTTPMethodOverride(),
	)
}

// passedHeaders are those that reach the services, and under which names.
var passedHeaders = map[string]string{"X-Request-Id": "x-request-id", "Traceparent": "traceparent", "Tracestate": "tracestate", "User-Agent": "user-agent"}

func outgoingHeader(name string) (string, bool) {
	if name == interceptor.WarningKey {
		return "Warning", true
	}
	return "", false
}

// ServeHTTP implements http.Handler: first who it is and whether there is room, then all else.
func (a *API) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if clean := cleanPath(r.URL.Path); clean != r.URL.Path { // as Go's own mux does, which KubeRay's server has in front
		to := *r.URL
		to.Path, to.RawPath = clean, ""
		http.Redirect(w, r, to.RequestURI(), http.StatusTemporaryRedirect)
		return
	}
	matched := a.routes.match(r.Method, r.URL.Path)
	if matched != nil {
		rest.SetRoute(w, matched.pattern)
	}
	ctx, visit, err := a.Edge.Enter(r.Context(), r, false)
	if err != nil {
		a.WriteError(w, rest.Refused(a.Edge, a.Table, w.Header(), err))
		return
	}
	defer visit.Leave()
	data, err := read(ctx, w, r, visit)
	if err != nil {
		w.Header().Set("Connection", "close")
		a.WriteError(w, err)
		return
	}
	if matched != nil && matched.body != nil {
		warnOfUnknown(w.Header(), data, matched.body)
	}
	if addr, err := netip.ParseAddrPort(r.RemoteAddr); err == nil {
		ctx = peer.NewContext(ctx, &peer.Peer{Addr: net.TCPAddrFromAddrPort(addr)})
	}
	ctx = metadata.NewIncomingContext(ctx, rest.Metadata(r.Header, passedHeaders))
	r = r.WithContext(document.WithBody(ctx, &document.Body{}))
	r.Body = io.NopCloser(bytes.NewReader(data))
	if matched != nil {
		matched.mux.ServeHTTP(w, r)
		return
	}
	a.mux.ServeHTTP(w, r)
}

// read returns the body of a request that asks for nothing that would be ignored while something is written.
func read(ctx context.Context, w http.ResponseWriter, r *http.Request, visit *edge.Visit) ([]byte, error) {
	if err := rest.Unheeded(r); err != nil {
		return nil, err
	}
	data, err := rest.ReadObject(ctx, w, r, visit)
	if err != nil {
		return nil, err
	}
	// Kubernetes heeds the body of a DELETE, such as {"dryRun": ["All"]}.
	if said := string(bytes.TrimSpace(data)); r.Method == http.MethodDelete && said != "" && said != "{}" {
		return nil, rpcstatus.BadField("", "a DELETE takes no body: what it says would be ignored")
	}
	d := json.NewDecoder(bytes.NewReader(data))
	if err := d.Decode(&json.RawMessage{}); err == nil && d.InputOffset() < int64(len(bytes.TrimRight(data, " \t\r\n"))) {
		return nil, rpcstatus.BadField("", "the body goes on after its JSON object: what follows would be ignored")
	}
	return data, nil
}

// cleanPath is path.Clean that keeps a slash at the end.
func cleanPath(p string) string {
	clean := path.Clean(p)
	if strings.HasSuffix(p, "/") && clean != "/" {
		clean += "/"
	}
	return clean
}
