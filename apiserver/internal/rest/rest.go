package rest

import (
	"cmp"
	"net/http"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"github.com/raygate/raygate/apiserver/internal/interceptor"
	"github.com/raygate/raygate/apiserver/internal/rpcstatus"
)

// API is one version of the API.
type API struct {
	// Prefix of its paths, such as /apis/v2/.
	Prefix string
	http.Handler
	// WriteError writes an error as this version does.
	WriteError func(w http.ResponseWriter, err error)
	// Local and Ambient are as in Options, for this version only.
	Local, Ambient bool
	// Public means that reads return the same for all callers, so that pages of other sites may link to them.
	Public bool
	// OwnPages refuses all other sites, also allowed ones.
	OwnPages bool
	// AnyOrigin allows pages of other sites: their requests have a proof.
	AnyOrigin bool
}

// Options of New.
type Options struct {
	// APIs are the versions, at least one. The first also answers all other paths.
	APIs []API
	// OpenAPI is served at /openapi/v3.json.
	OpenAPI []byte
	// Checks decide on /readyz, in this order.
	Checks []Check
	// Local is set when requests carry no credentials and come from this machine: only clients that name it by a loopback name are served.
	Local bool
	// Ambient is set if callers are authenticated without a header of their own: by a certificate, by a header of a proxy in front, or not
	// at all. The origin * of Origins is ignored then.
	Ambient bool
	// Home is where browsers are sent from /. Empty means /docs.
	Home string
	// Origins are the sites whose pages may use the API: https://example.org, https://*.example.org, or * for any. Empty means none.
	Origins []string
}

// Server is the HTTP handler of the public port. Its metric is the duration of requests.
type Server struct {
	Options
	prometheus.Collector
	origins *origins
	handler http.Handler
	seconds *prometheus.HistogramVec
}

// New returns the handler.
func New(o Options) *Server {
	s := &Server{Options: o, seconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name: "raygate_apiserver_http_request_duration_seconds", Help: "Duration of HTTP requests by route; that of a watch is its whole life.",
		Buckets: []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 10, 60},
	}, []string{"route", "method", "code"})}
	s.Collector, s.handler = s.seconds, http.HandlerFunc(s.dispatch)
	if s.origins = newOrigins(o.Origins, o.Local || slices.ContainsFunc(o.APIs, func(a API) bool { return a.Local })); s.origins.all != nil {
		s.handler = s.origins.all.Handler(s.handler)
	}
	return s
}

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	start := time.Now() //nolint:forbidigo // a duration for the metrics
	w := &Writer{ResponseWriter: rw, control: http.NewResponseController(rw), route: "other"}
	id := r.Header.Get("X-Request-Id")
	if !interceptor.UsableRequestID(id) {
		id = uuid.NewString()
		r.Header.Set("X-Request-Id", id)
	}
	header := w.Header()
	header.Set("X-Request-Id", id)
	header.Set("X-Content-Type-Options", "nosniff")
	header.Set("Cache-Control", "no-store")
	defer func() { // also when a handler breaks the connection off
		trace.SpanFromContext(r.Context()).SetAttributes(attribute.String("http.route", w.route)) // in place of the path, which may have credentials
		s.seconds.WithLabelValues(w.route, methodLabel(r.Method), codeLabel(w.code)).Observe(time.Since(start).Seconds())
	}()
	if s.api(r.URL.Path).AnyOrigin { // which has its own answer to questions of other origins
		s.dispatch(w, r)
		return
	}
	s.handler.ServeHTTP(w, r)
}

// methodLabel keeps methods that clients invent out of the metrics.
func methodLabel(method string) string {
	if method == http.MethodOptions || slices.Contains(methods, method) {
		return method
	}
	return "other"
}

// codeLabel keeps codes that dashboards invent out of the metrics.
func codeLabel(code int) string {
	if code != 0 && http.StatusText(code) == "" {
		return "other"
	}
	return strconv.Itoa(code)
}

// methods are the methods of the API.
var methods = []string{http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete}

func (s *Server) dispatch(w http.ResponseWriter, r *http.Request) {
	api := s.api(r.URL.Path)
	if err := s.check(r, api); err != nil {
		w.Header().Set("Connection", "close") // the body is not read
		api.WriteError(w, err)
		return
	}
	switch r.URL.Path {
	case "/livez", "/healthz", "/readyz":
		SetRoute(w, r.URL.Path)
		s.serveHealth(w, r, false)
	case "/openapi/v3.json":
		SetRoute(w, r.URL.Path)
		s.serveOpenAPI(w)
	case "/docs", "/docs/":
		SetRoute(w, "/docs")
		WritePage(w, docsPage)
	case "/":
		if !strings.Contains(r.Header.Get("Accept"), "text/html") { // only browsers want pages
			s.APIs[0].WriteError(w, rpcstatus.PathNotFound("there is nothing at /; see /docs"))
			return
		}
		http.Redirect(w, r, cmp.Or(s.Home, "/docs"), http.StatusFound)
	default:
		api.ServeHTTP(w, r)
	}
}

func (s *Server) api(requested string) *API {
	clean := path.Clean(requested)
	for i := range s.APIs {
		prefix := s.APIs[i].Prefix
		if strings.HasPrefix(clean, prefix) || clean == strings.TrimSuffix(prefix, "/") { // a base URL may end with a slash
			return &s.APIs[i]
		}
	}
	return &s.APIs[0]
}
