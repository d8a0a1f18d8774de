package v2

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"sync"

	"github.com/grpc-ecosystem/grpc-gateway/v2/runtime"
	"github.com/klauspost/compress/gzhttp"
	"google.golang.org/grpc"
	"google.golang.org/grpc/peer"
	"google.golang.org/protobuf/proto"
	"k8s.io/apimachinery/pkg/types"

	"github.com/raygate/raygate/apiserver/internal/document"
	"github.com/raygate/raygate/apiserver/internal/edge"
	"github.com/raygate/raygate/apiserver/internal/interceptor"
	"github.com/raygate/raygate/apiserver/internal/rest"
	"github.com/raygate/raygate/apiserver/internal/rpcstatus"
	raygatev2 "github.com/raygate/raygate/proto/gen/go/raygate/v2"
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
	Conn grpc.ClientConnInterface
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
	routes routes
}

// New returns the handler. ctx ends the registrations.
func New(ctx context.Context, o Options) (*API, error) {
	a := &API{Options: o}
	zip, err := gzhttp.NewWrapper(gzhttp.MinSize(minGzip), gzhttp.CompressionLevel(1), gzhttp.EnableZstd(false), gzhttp.ContentTypes([]string{typeJSON, typeYAML}))
	if err != nil {
		return nil, fmt.Errorf("making the compression: %w", err)
	}
	for _, s := range o.Services {
		mux := a.newMux() // of its own: a mux tries one pattern after the other
		if err := s.Register(ctx, mux, o.Conn); err != nil {
			return nil, fmt.Errorf("registering %s: %w", s.Descriptor.Name(), err)
		}
		a.routes = append(a.routes, routesOf(s.Descriptor, mux, zip(inParts(mux)))...)
	}
	return a, nil
}

func (a *API) newMux() *runtime.ServeMux {
	return runtime.NewServeMux(
		runtime.WithMarshalerOption(runtime.MIMEWildcard, marshaler{typeJSON}),
		runtime.WithMarshalerOption(typeJSON, marshaler{typeJSON}),
		runtime.WithMarshalerOption(typePretty, marshaler{typePretty}),
		runtime.WithMarshalerOption(typeYAML, marshaler{typeYAML}),
		runtime.WithMarshalerOption(typeSSE, marshaler{typeSSE}),
		runtime.WithMarshalerOption(typeText, marshaler{typeText}),
		runtime.WithIncomingHeaderMatcher(incomingHeader),
		runtime.WithOutgoingHeaderMatcher(outgoingHeader),
		runtime.WithOutgoingTrailerMatcher(func(string) (string, bool) { return "", false }),
		runtime.WithErrorHandler(a.errorHandler),
		runtime.WithRoutingErrorHandler(func(_ context.Context, _ *runtime.ServeMux, m runtime.Marshaler, w http.ResponseWriter, r *http.Request, _ int) {
			a.noRoute(w, r, m)
		}),
		runtime.WithWriteContentLength(),
		runtime.WithStreamErrorHandler(a.streamError),
		runtime.WithForwardResponseOption(responseHeaders),
		runtime.WithDisablePathLengthFallback(),
		runtime.WithDisableHTTPMethodOverride(),
	)
}

// incomingHeader is the list of headers that reach the services, besides Authorization and Grpc-Timeout, which always do. Nothing
// else does: no header of a proxy can pass for an identity.
func incomingHeader(name string) (string, bool) {
	switch http.CanonicalHeaderKey(name) {
	case "X-Request-Id", "X-Min-Resource-Version", "If-Match", "Traceparent", "Tracestate":
		return strings.ToLower(name), true
	case "User-Agent":
		return runtime.MetadataPrefix + "user-agent", true
	}
	return "", false
}

func outgoingHeader(name string) (string, bool) {
	if name == interceptor.WarningKey {
		return "Warning", true
	}
	return "", false
}

// responseHeaders sets what HTTP clients look for besides the body.
func responseHeaders(ctx context.Context, w http.ResponseWriter, m proto.Message) error {
	c := callFrom(ctx)
	if c == nil || m == nil || c.route.long && c.route.stream {
		w.Header().Set("X-Accel-Buffering", "no")
		if c != nil && c.route.text { // also of an empty one
			w.Header().Set("Content-Type", marshaler{typeText}.StreamContentType(nil))
		}
		return nil
	}
	if err := c.takeRoom(ctx, m); err != nil {
		return err
	}
	meta := document.MetadataOf(m)
	if rv := meta.GetResourceVersion(); rv != "" {
		w.Header().Set("ETag", `"`+rv+`"`)
	}
	name := meta.GetName()
	if s, ok := m.(interface{ GetSubmission() *raygatev2.Submission }); ok {
		name = url.PathEscape(s.GetSubmission().GetSubmissionId())
	}
	if name != "" && c.route.method == http.MethodPost && c.route.verb == "" {
		w.Header().Set("Location", strings.TrimSuffix(c.path, "/")+"/"+name)
		w.WriteHeader(http.StatusCreated)
	}
	return nil
}

// call is a request on its way through the mux.
type call struct {
	http.ResponseWriter
	out      *bufio.Writer // of calls that do not stay open: compression writes a few bytes at a time
	visit    *edge.Visit
	document *document.Body
	route    *route
	path     string
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
	if !c.ended {
		c.begun = true
		c.ResponseWriter.WriteHeader(code)
	}
}

// Write implements http.ResponseWriter.
func (c *call) Write(p []byte) (int, error) {
	if c.ended {
		return len(p), nil
	}
	c.begun = true
	if c.out != nil {
		return c.out.Write(p)
	}
	return c.ResponseWriter.Write(p)
}

// buffers are those of answers.
var buffers = sync.Pool{New: func() any { return bufio.NewWriterSize(nil, 32<<10) }}

// Unwrap is for http.ResponseController.
func (c *call) Unwrap() http.ResponseWriter { return c.ResponseWriter }

// ServeHTTP implements http.Handler: first who it is and whether there is room, then all else.
func (a *API) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if a.servedDashboard(w, r) {
		return
	}
	settleAccept(r)
	if r.Method == http.MethodHead {
		if get := a.routes.match(http.MethodGet, r.URL.Path); get != nil && !get.stream {
			// The server, which leaves out the body, goes by the request that it knows.
			r = r.WithContext(r.Context())
			r.Method = http.MethodGet
		}
	}
	c := &call{ResponseWriter: w, route: a.routes.match(r.Method, r.URL.Path), path: r.URL.Path}
	if c.route != nil {
		rest.SetRoute(w, c.route.pattern)
		if c.route.text {
			r.Header.Set("Accept", typeText)
		}
	}
	ctx, visit, err := a.Edge.Enter(r.Context(), r, c.route != nil && c.route.long)
	if err != nil {
		a.WriteError(w, rest.Refused(a.Edge, a.Table, w.Header(), err))
		return
	}
	defer visit.Leave()
	c.visit = visit
	if err := prepare(ctx, w, r, c.route, visit); err != nil {
		w.Header().Set("Connection", "close") // what is left of the body is not read
		a.WriteError(w, err)
		return
	}
	if addr, err := netip.ParseAddrPort(r.RemoteAddr); err == nil {
		ctx = peer.NewContext(ctx, &peer.Peer{Addr: net.TCPAddrFromAddrPort(addr)})
	}
	if c.route == nil {
		a.noRoute(c, r, marshaler{r.Header.Get("Accept")})
		return
	}
	if !c.route.long { // a stream is sent on at once
		c.out = buffers.Get().(*bufio.Writer)
		c.out.Reset(w)
		defer func() {
			_ = c.out.Flush()
			c.out.Reset(nil)
			buffers.Put(c.out)
		}()
	}
	c.document = &r.Body.(*body).document
	ctx = document.WithBody(context.WithValue(ctx, callKey{}, c), c.document)
	c.route.handler.ServeHTTP(c, r.WithContext(ctx))
}

// WriteError writes an error that arises outside of a call.
func (a *API) WriteError(w http.ResponseWriter, err error) { a.writeError(w, marshaler{typeJSON}, err) }
