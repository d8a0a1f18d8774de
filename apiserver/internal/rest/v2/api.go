package v2

import (
	"fmt"
	"net/http"
	"strings"

	"github.com/klauspost/compress/gzhttp"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
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

// Services are those of this version: one per kind, and after them the one for what runs on clusters.
var Services = []protoreflect.ServiceDescriptor{
	raygatev2.File_raygate_v2_cluster_service_proto.Services().Get(0),
	raygatev2.File_raygate_v2_job_service_proto.Services().Get(0),
	raygatev2.File_raygate_v2_serve_service_proto.Services().Get(0),
	raygatev2.File_raygate_v2_cronjob_service_proto.Services().Get(0),
	raygatev2.File_raygate_v2_submission_service_proto.Services().Get(0),
}

// Options of New. All are required but Dashboard and Pages.
type Options struct {
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
	routes rest.Routes
	zip    func(http.Handler) http.HandlerFunc
}

// New returns the handler.
func New(o Options) (*API, error) {
	a := &API{Options: o, routes: rest.RoutesOf(Services...)}
	if a.Pages != nil {
		a.Pages.files = make(chan struct{}, maxFiles)
	}
	var err error
	a.zip, err = gzhttp.NewWrapper(gzhttp.MinSize(minGzip), gzhttp.CompressionLevel(1), gzhttp.EnableZstd(false), gzhttp.ContentTypes([]string{typeJSON, typeYAML}))
	if err != nil {
		return nil, fmt.Errorf("making the compression: %w", err)
	}
	return a, nil
}

// call is a request whose route is known.
type call struct {
	*API
	w        http.ResponseWriter
	request  *http.Request
	route    *rest.Route
	exchange *document.Exchange
	form     format
}

// ServeHTTP implements http.Handler: first who it is and whether there is room, then all else.
func (a *API) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if a.servedDashboard(w, r) {
		return
	}
	form, parts := settleAccept(r), strings.Split(r.URL.Path, "/")
	route := a.routes.Match(r.Method, parts)
	if r.Method == http.MethodHead { // the server leaves out the body
		if get := a.routes.Match(http.MethodGet, parts); get != nil && !get.Descriptor.IsStreamingServer() {
			route = get
		}
	}
	if route != nil {
		rest.SetRoute(w, route.Pattern)
	}
	ctx, visit, err := a.Edge.Enter(r.Context(), r, route != nil && route.Long)
	if err != nil {
		a.WriteError(w, rest.Refused(a.Edge, a.Table, w.Header(), err))
		return
	}
	defer visit.Leave()
	b, err := prepare(ctx, w, r, route, visit)
	if err != nil {
		w.Header().Set("Connection", "close") // what is left of the body is not read
		a.WriteError(w, err)
		return
	}
	if route == nil {
		a.noRoute(w, r, form)
		return
	}
	ctx, cancel, err := rest.CallContext(ctx, r, passedHeaders)
	if err != nil {
		a.writeError(w, form, err)
		return
	}
	defer cancel()
	c := &call{API: a, w: w, request: r, route: route, exchange: &document.Exchange{Text: form == typeYAML || form == typePretty}, form: form}
	ctx = document.WithExchange(ctx, c.exchange)
	fill := func(request any) error {
		return route.Fill(request.(proto.Message), parts, r.URL.RawQuery, func(into proto.Message) error { return b.decode(into, c.exchange) })
	}
	if route.Descriptor.IsStreamingServer() {
		c.serveStream(ctx, fill)
		return
	}
	c.serveUnary(ctx, fill)
}

// passedHeaders are those that reach the services, and under which names.
var passedHeaders = map[string]string{
	"X-Request-Id": "x-request-id", "X-Min-Resource-Version": "x-min-resource-version", "If-Match": "if-match",
	"Traceparent": "traceparent", "Tracestate": "tracestate", "User-Agent": "user-agent",
}

// WriteError writes an error that arises outside of a call.
func (a *API) WriteError(w http.ResponseWriter, err error) { a.writeError(w, typeJSON, err) }
