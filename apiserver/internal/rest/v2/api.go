package v2

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"strings"

	"github.com/grpc-ecosystem/grpc-gateway/v2/runtime"
	"github.com/klauspost/compress/gzhttp"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"
	"google.golang.org/protobuf/proto"
	"k8s.io/apimachinery/pkg/types"

	"github.com/raygate/raygate/apiserver/internal/document"
	"github.com/raygate/raygate/apiserver/internal/edge"
	"github.com/raygate/raygate/apiserver/internal/interceptor"
	"github.com/raygate/raygate/apiserver/internal/rest"
	"github.com/raygate/raygate/apiserver/internal/rpcstatus"
)

const (
	// Prefix of the paths of this version.
	Prefix = "/apis/v2/"
	// minGzip is from where on compressing is worth its time, as for the Kubernetes API server.
	minGzip = 128 << 10
)

// Options of New. All are required but Dashboard and Pages.
type Options struct {
	// Services are those that are served.
	Services []Service
	// Conn reaches them. What they answer is not changed here.
	Conn *interceptor.Channel
	// Edge decides on a request before its body is read.
	Edge *edge.Edge
	// Table translates the errors that arise here.
	Table *rpcstatus.Table
	// Dashboard answers what goes to the dashboard of a cluster. An error means that nothing has been answered. Nil means that there is no such thing.
	Dashboard func(w http.ResponseWriter, r *http.Request, cluster types.NamespacedName, path string) error
	// Pages shows dashboards to browsers. Nil means that there are none, and that nothing leads to ServePages.
	Pages *Pages
}

// API is the HTTP handler of this version.
type API struct {
	Options
	mux    *runtime.ServeMux // of streams
	routes routes
	zip    func(http.Handler) http.HandlerFunc
}

// New returns the handler. ctx ends the registrations.
func New(ctx context.Context, o Options) (*API, error) {
	a := &API{Options: o}
	a.mux = a.newMux()
	var err error
	a.zip, err = gzhttp.NewWrapper(gzhttp.MinSize(minGzip), gzhttp.CompressionLevel(1), gzhttp.EnableZstd(false), gzhttp.ContentTypes([]string{typeJSON, typeYAML}))
	if err != nil {
		return nil, fmt.Errorf("making the compression: %w", err)
	}
	for _, s := range o.Services {
		if err := s.Register(ctx, a.mux, o.Conn); err != nil {
			return nil, fmt.Errorf("registering %s: %w", s.Descriptor.Name(), err)
		}
		a.routes = append(a.routes, routesOf(s.Descriptor)...)
	}
	return a, nil
}

// newMux returns the mux of streams. Unary calls do without: it tries one pattern after the other, and copies messages and metadata.
func (a *API) newMux() *runtime.ServeMux {
	return runtime.NewServeMux(
		runtime.WithMarshalerOption(runtime.MIMEWildcard, marshaler{typeJSON}),
		runtime.WithMarshalerOption(typeJSON, marshaler{typeJSON}),
		runtime.WithMarshalerOption(typePretty, marshaler{typePretty}),
		runtime.WithMarshalerOption(typeYAML, marshaler{typeYAML}),
		runtime.WithMarshalerOption(typeSSE, marshaler{typeSSE}),
		runtime.WithMarshalerOption(typeText, marshaler{typeText}),
		runtime.WithIncomingHeaderMatcher(func(string) (string, bool) { return "", false }), // see rest.Metadata
		runtime.WithOutgoingHeaderMatcher(func(string) (string, bool) { return "", false }),
		runtime.WithOutgoingTrailerMatcher(func(string) (string, bool) { return "", false }),
		runtime.WithErrorHandler(a.errorHandler),
		runtime.WithStreamErrorHandler(a.streamError),
		runtime.WithForwardResponseOption(streamHeaders),
	)
}

// streamHeaders sets what HTTP clients look for besides the messages of a stream.
func streamHeaders(ctx context.Context, w http.ResponseWriter, _ proto.Message) error {
	w.Header().Set("X-Accel-Buffering", "no")
	if c := callFrom(ctx); c != nil && c.route.text { // also of an empty one
		w.Header().Set("Content-Type", marshaler{typeText}.StreamContentType(nil))
	}
	return nil
}

// call is a request whose route is known.
type call struct {
	http.ResponseWriter
	request  *http.Request // as it came
	zip      func(http.Handler) http.HandlerFunc
	document *document.Body
	route    *route
	path     string
	whole    bool // the answer is sent in one piece
	code     int  // of an answer in one piece: it is sent with it, since some headers are set after it
	begun    bool // something was written
	ended    bool // all that follows is dropped
}

type callKey struct{}

func callFrom(ctx context.Context) *call {
	c, _ := ctx.Value(callKey{}).(*call)
	return c
}

// WriteHeader implements http.ResponseWriter.
func (c *call) WriteHeader(code int) {
	switch {
	case c.ended:
	case c.whole:
		c.code = cmp.Or(c.code, code)
	default:
		c.begun = true
		c.ResponseWriter.WriteHeader(code)
	}
}

// Write implements http.ResponseWriter.
func (c *call) Write(p []byte) (int, error) {
	switch {
	case c.ended:
		return len(p), nil
	case c.whole:
		return len(p), c.send(p)
	}
	c.begun = true
	return c.ResponseWriter.Write(p)
}

// Unwrap is for http.ResponseController.
func (c *call) Unwrap() http.ResponseWriter { return c.ResponseWriter }

// ServeHTTP implements http.Handler: first who it is and whether there is room, then all else.
func (a *API) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if a.servedDashboard(w, r) {
		return
	}
	accept, parts := settleAccept(r), strings.Split(r.URL.Path, "/")
	c := &call{ResponseWriter: w, request: r, zip: a.zip, route: a.routes.match(r.Method, parts), path: r.URL.Path}
	if r.Method == http.MethodHead { // the server leaves out the body
		if get := a.routes.match(http.MethodGet, parts); get != nil && !get.stream {
			c.route = get
		}
	}
	if c.route != nil {
		rest.SetRoute(w, c.route.pattern)
		if c.route.text {
			accept = typeText
		}
	}
	ctx, visit, err := a.Edge.Enter(r.Context(), r, c.route != nil && c.route.long)
	if err != nil {
		a.WriteError(w, rest.Refused(a.Edge, a.Table, w.Header(), err))
		return
	}
	defer visit.Leave()
	b, err := prepare(ctx, w, r, c.route, visit)
	if err != nil {
		w.Header().Set("Connection", "close") // what is left of the body is not read
		a.WriteError(w, err)
		return
	}
	if c.route == nil {
		a.noRoute(c, r, marshaler{accept})
		return
	}
	if addr, err := netip.ParseAddrPort(r.RemoteAddr); err == nil {
		ctx = peer.NewContext(ctx, &peer.Peer{Addr: net.TCPAddrFromAddrPort(addr)})
	}
	ctx = document.WithBody(metadata.NewIncomingContext(ctx, rest.Metadata(r.Header, passedHeaders)), &b.document)
	if c.route.stream {
		a.mux.ServeHTTP(c, c.streamRequest(ctx, accept))
		return
	}
	c.document, c.whole = &b.document, !c.route.long
	b.document.InParts = c.whole && accept == typeJSON // others are made of the whole
	a.serveUnary(ctx, c, b, marshaler{accept}, parts)
}

// streamRequest is what the mux sees of the request for a stream: it would make metadata of the rest.
func (c *call) streamRequest(ctx context.Context, accept string) *http.Request {
	r := c.request.WithContext(context.WithValue(ctx, callKey{}, c))
	r.Header, r.Host, r.RemoteAddr = http.Header{"Accept": {accept}}, "", ""
	if timeout := c.request.Header[headerTimeout]; timeout != nil {
		r.Header[headerTimeout] = timeout
	}
	return r
}

// passedHeaders are those that reach the services, and under which names.
var passedHeaders = map[string]string{
	"X-Request-Id": "x-request-id", "X-Min-Resource-Version": "x-min-resource-version", "If-Match": "if-match",
	"Traceparent": "traceparent", "Tracestate": "tracestate", "User-Agent": "user-agent",
}

// WriteError writes an error that arises outside of a call.
func (a *API) WriteError(w http.ResponseWriter, err error) { a.writeError(w, marshaler{typeJSON}, err) }
