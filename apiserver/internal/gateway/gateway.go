package gateway

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/grpc-ecosystem/grpc-gateway/v2/runtime"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/raygate/raygate/apiserver/internal/document"
	"github.com/raygate/raygate/apiserver/internal/interceptor"
	"github.com/raygate/raygate/apiserver/internal/rpcstatus"
	raygatev2 "github.com/raygate/raygate/proto/gen/go/raygate/v2"
)

// Options of New. Conn and Table are required.
type Options struct {
	// Conn reaches the services. What they answer is not changed here.
	Conn grpc.ClientConnInterface
	// Table translates the errors that arise here.
	Table *rpcstatus.Table
	// OpenAPI is served at /openapi/v3.json. Empty means that there is none.
	OpenAPI []byte
	// Review says what else is wrong with an object whose form has mistakes, given what could be read of it. Nil means that only the form
	// is looked at.
	Review func(object proto.Message, form []rpcstatus.Violation) []rpcstatus.Violation
	// Checks decide on /readyz, in this order.
	Checks []Check
	// Local is set when requests carry no credentials: only clients that name this machine by a loopback name are served, and no
	// pages of other sites, which could otherwise use the visitor's gateway.
	Local bool
}

// Gateway is the HTTP handler of the public port.
type Gateway struct {
	Options
	table  *rpcstatus.Table
	mux    *runtime.ServeMux
	routes routes
}

// New returns the handler. ctx ends the registrations.
func New(ctx context.Context, o Options) (*Gateway, error) {
	g := &Gateway{Options: o, table: o.Table}
	g.mux = runtime.NewServeMux(
		runtime.WithMarshalerOption(runtime.MIMEWildcard, marshaler{typeJSON}),
		runtime.WithMarshalerOption(typeJSON, marshaler{typeJSON}),
		runtime.WithMarshalerOption(typePretty, marshaler{typePretty}),
		runtime.WithMarshalerOption(typeYAML, marshaler{typeYAML}),
		runtime.WithMarshalerOption(typeSSE, marshaler{typeSSE}),
		runtime.WithIncomingHeaderMatcher(incomingHeader),
		runtime.WithOutgoingHeaderMatcher(outgoingHeader),
		runtime.WithOutgoingTrailerMatcher(func(string) (string, bool) { return "", false }),
		runtime.WithErrorHandler(g.errorHandler),
		runtime.WithRoutingErrorHandler(g.routingError),
		runtime.WithStreamErrorHandler(g.streamError),
		runtime.WithForwardResponseOption(responseHeaders),
		runtime.WithDisablePathLengthFallback(),
		runtime.WithDisableHTTPMethodOverride(),
	)
	if err := errors.Join(
		raygatev2.RegisterClusterServiceHandlerClient(ctx, g.mux, raygatev2.NewClusterServiceClient(o.Conn)),
		raygatev2.RegisterJobServiceHandlerClient(ctx, g.mux, raygatev2.NewJobServiceClient(o.Conn)),
		raygatev2.RegisterServeServiceHandlerClient(ctx, g.mux, raygatev2.NewServeServiceClient(o.Conn)),
		raygatev2.RegisterCronJobServiceHandlerClient(ctx, g.mux, raygatev2.NewCronJobServiceClient(o.Conn)),
	); err != nil {
		return nil, fmt.Errorf("registering services: %w", err)
	}
	g.routes = routesOf(Services()...)
	return g, nil
}

// Services are those that REST serves.
func Services() []protoreflect.ServiceDescriptor {
	var all []protoreflect.ServiceDescriptor
	for _, file := range []protoreflect.FileDescriptor{
		raygatev2.File_raygate_v2_cluster_service_proto, raygatev2.File_raygate_v2_job_service_proto,
		raygatev2.File_raygate_v2_serve_service_proto, raygatev2.File_raygate_v2_cronjob_service_proto,
	} {
		all = append(all, file.Services().Get(0))
	}
	return all
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
	method, _ := runtime.RPCMethod(ctx)
	_, rpc, _ := strings.Cut(strings.TrimPrefix(method, "/"), "/")
	if m == nil || strings.HasPrefix(rpc, "Watch") {
		w.Header().Set("X-Accel-Buffering", "no")
		return nil
	}
	meta := objectMeta(m)
	if rv := meta.GetResourceVersion(); rv != "" {
		w.Header().Set("ETag", `"`+rv+`"`)
	}
	if pattern, ok := runtime.HTTPPathPattern(ctx); ok && strings.HasPrefix(rpc, "Create") {
		w.Header().Set("Location", strings.ReplaceAll(pattern, "{namespace}", meta.GetNamespace())+"/"+meta.GetName())
		w.WriteHeader(http.StatusCreated)
	}
	return nil
}

// objectMeta returns the metadata of the object that a response holds; nil if it holds none, or a list.
func objectMeta(m proto.Message) *raygatev2.ObjectMeta {
	var meta *raygatev2.ObjectMeta
	m.ProtoReflect().Range(func(fd protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		if fd.Message() == nil || fd.IsList() || fd.IsMap() {
			return true
		}
		if object, ok := v.Message().Interface().(interface{ GetMetadata() *raygatev2.ObjectMeta }); ok {
			meta = object.GetMetadata()
		}
		return meta == nil
	})
	return meta
}

// ServeHTTP implements http.Handler.
func (g *Gateway) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	id := r.Header.Get("X-Request-Id")
	if !interceptor.UsableRequestID(id) {
		id = uuid.NewString()
		r.Header.Set("X-Request-Id", id)
	}
	header := w.Header()
	header.Set("X-Request-Id", id)
	header.Set("X-Content-Type-Options", "nosniff")
	header.Set("Cache-Control", "no-store")
	if g.Local {
		if err := refuseForeign(r); err != nil {
			g.writeError(w, marshaler{typeJSON}, err)
			return
		}
	}
	switch r.URL.Path {
	case "/livez":
		writeText(w, http.StatusOK, "ok\n")
	case "/healthz", "/readyz":
		g.serveReady(w, r)
	case "/openapi/v3.json":
		g.serveOpenAPI(w, r)
	case "/docs", "/docs/":
		g.serveDocs(w, r)
	case "/":
		http.Redirect(w, r, "/docs", http.StatusFound)
	default:
		g.serveAPI(w, r)
	}
}

func (g *Gateway) serveAPI(w http.ResponseWriter, r *http.Request) {
	settleAccept(r)
	headersToQuery(r)
	// An empty variable in a shell must not turn the list of one namespace into the list of all.
	if strings.HasPrefix(r.URL.Path, "/apis/v2/namespaces//") {
		g.writeError(w, marshaler{typeJSON}, rpcstatus.BadField("namespace", "required"))
		return
	}
	if r.Method == http.MethodHead && g.routes.match(http.MethodGet, r.URL.Path) != nil && !strings.HasSuffix(r.URL.Path, ":watch") {
		// The server, which leaves out the body, goes by the request that it knows.
		r = r.WithContext(r.Context())
		r.Method = http.MethodGet
	}
	if route := g.routes.match(r.Method, r.URL.Path); route != nil {
		if err := route.query.check(r.URL.RawQuery); err != nil {
			g.writeError(w, marshaler{typeJSON}, err)
			return
		}
	}
	control := http.NewResponseController(w)
	_ = control.SetReadDeadline(time.Now().Add(bodyTime)) //nolint:forbidigo // the kernel compares it with the real time
	if err := prepareBody(w, r); err != nil {
		m := marshaler{typeJSON}
		g.writeError(w, m, err)
		return
	}
	_ = control.SetReadDeadline(time.Time{}) // or the connection of a watch would be cut off
	a := &answer{ResponseWriter: w, control: control, request: r}
	g.mux.ServeHTTP(a, r.WithContext(document.WithBody(context.WithValue(r.Context(), answerKey{}, a), &r.Body.(*body).document)))
}
