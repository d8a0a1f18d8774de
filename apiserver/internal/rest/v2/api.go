package v2

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/klauspost/compress/gzhttp"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	"github.com/raygate/raygate/apiserver/internal/dashboardproxy"
	"github.com/raygate/raygate/apiserver/internal/encoding"
	"github.com/raygate/raygate/apiserver/internal/flowcontrol"
	"github.com/raygate/raygate/apiserver/internal/interceptor"
	"github.com/raygate/raygate/apiserver/internal/rest"
	"github.com/raygate/raygate/apiserver/internal/rpcstatus"
	raygatev2 "github.com/raygate/raygate/proto/gen/go/raygate/v2"
)

const (
	// Prefix of the paths of this version.
	Prefix = "/apis/v2/"
	// minGzip is the minimum size of a compressed answer in bytes, as for the Kubernetes API server.
	minGzip = 128 << 10
)

// services returns the services of this version: all of its proto package.
func services() []protoreflect.ServiceDescriptor {
	var all []protoreflect.ServiceDescriptor
	protoregistry.GlobalFiles.RangeFilesByPackage(raygatev2.File_raygate_v2_meta_proto.Package(), func(file protoreflect.FileDescriptor) bool {
		for i := range file.Services().Len() {
			all = append(all, file.Services().Get(i))
		}
		return true
	})
	return all
}

// Options of New. All are required but Past and Pages.
type Options struct {
	// Conn reaches the services.
	Conn *interceptor.Channel
	// FlowControl decides on a request before its body is read.
	FlowControl *flowcontrol.Controller
	// Dashboards leads to the dashboards of clusters, and to the ports of their heads.
	Dashboards *dashboardproxy.Proxy
	// Package stores a package that is one body, and returns its URI.
	Package func(ctx context.Context, req *raygatev2.UploadPackageRequest, content io.Reader) (uri string, err error)
	// Past serves the answers of dashboards of past sessions. Nil means that there is no history.
	Past *dashboardproxy.Past
	// Pages shows dashboards to browsers. Nil means that it does not.
	Pages *dashboardproxy.Pages
}

// API is the HTTP handler of this version.
type API struct {
	Options
	routes rest.Routes
	zip    func(http.Handler) http.HandlerFunc
	gate   rest.Gate
	// files are the places of requests for files of pages without a caller.
	files chan struct{}
}

// New returns the handler.
func New(o Options) (*API, error) {
	a := &API{Options: o, routes: rest.RoutesOf(services()...), files: make(chan struct{}, maxFiles)}
	a.gate = rest.Gate{FlowControl: o.FlowControl, WriteError: a.WriteError}
	var err error
	a.zip, err = gzhttp.NewWrapper(gzhttp.MinSize(minGzip), gzhttp.CompressionLevel(1), gzhttp.EnableZstd(false), gzhttp.ContentTypes([]string{typeJSON, typeYAML}))
	if err != nil {
		return nil, fmt.Errorf("making the compression: %w", err)
	}
	return a, nil
}

// call is a request with its route.
type call struct {
	*API
	w        http.ResponseWriter
	request  *http.Request
	route    *rest.Route
	exchange *encoding.Exchange
	form     format
}

// ServeHTTP implements http.Handler.
func (a *API) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if a.servedDashboard(w, r) || a.servedPackage(w, r) {
		return
	}
	form, parts := chooseFormat(r), strings.Split(r.URL.Path, "/")
	route := a.routes.Match(r.Method, parts)
	if r.Method == http.MethodHead { // the server leaves out the body
		if get := a.routes.Match(http.MethodGet, parts); get != nil && !get.Descriptor.IsStreamingServer() {
			route = get
		}
	}
	if route != nil {
		rest.SetRoute(w, route.Pattern)
	}
	a.gate.Enter(w, r, route != nil && route.Long, func(ctx context.Context, visit *flowcontrol.Visit) error {
		b, err := prepare(ctx, w, r, route, visit)
		switch {
		case err != nil:
			return err
		case route == nil:
			path := rpcstatus.Quoted(r.URL.Path)
			a.writeError(w, form, a.routes.Missing(w.Header(), r, "there is nothing at "+path+"; see /docs", r.Method+" is not possible on "+path))
		default:
			a.call(ctx, &call{API: a, w: w, request: r, route: route, exchange: &encoding.Exchange{Text: form == typeYAML || form == typePretty}, form: form}, b)
		}
		return nil
	})
}

// call makes a request of a body and calls the method of a route.
func (a *API) call(ctx context.Context, c *call, b *body) {
	ctx, cancel, err := rest.CallContext(ctx, c.request, passedHeaders)
	if err != nil {
		a.writeError(c.w, c.form, err)
		return
	}
	defer cancel()
	ctx = encoding.WithExchange(ctx, c.exchange)
	fill := func(request any) error {
		return c.route.Fill(request.(proto.Message), c.request.URL, func(into proto.Message) error { return b.decode(into, c.exchange) })
	}
	if c.route.Descriptor.IsStreamingServer() {
		c.serveStream(ctx, fill)
		return
	}
	c.serveUnary(ctx, fill)
}

// passedHeaders maps the headers that services receive to their keys.
var passedHeaders = map[string]string{
	"X-Request-Id": "x-request-id", "X-Min-Resource-Version": "x-min-resource-version", "If-Match": "if-match",
	"Traceparent": "traceparent", "Tracestate": "tracestate", "User-Agent": "user-agent",
}

// WriteError writes an error that arises outside of a call.
func (a *API) WriteError(w http.ResponseWriter, err error) { a.writeError(w, typeJSON, err) }
