package dashboardproxy

import (
	"context"
	"io"
	"log"
	"maps"
	"net/http"
	"net/http/httputil"
	"net/url"
	"slices"
	"strings"
	"time"

	"google.golang.org/grpc/codes"
	"k8s.io/apimachinery/pkg/types"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/apiserver/internal/authz"
	"github.com/raygate/raygate/apiserver/internal/rpcstatus"
)

const (
	// maxBody is that of Ray's own server.
	maxBody = 100 << 20
	// bodyTime is how long a client may take to send a body of that size.
	bodyTime = 10 * time.Minute
	// rightsInterval is how often a call that stays open is authorized anew.
	rightsInterval = 10 * time.Second
)

// verbs are what the Service proxy of Kubernetes asks for.
var verbs = map[string]string{
	http.MethodGet: "get", http.MethodHead: "get", http.MethodPost: "create", http.MethodPut: "update", http.MethodPatch: "patch", http.MethodDelete: "delete",
}

// Serve sends a request on to path of a cluster's dashboard and its answer back, as they come and whatever they are, also when they become a WebSocket.
// path is escaped and begins with a slash. An error means that nothing has been answered. The caller is the context's.
func (p *Proxy) Serve(w http.ResponseWriter, r *http.Request, key types.NamespacedName, path string) error {
	return p.serve(w, r, key, path, false)
}

func (p *Proxy) serve(w http.ResponseWriter, r *http.Request, key types.NamespacedName, path string, page bool) error {
	verb, ok := verbs[r.Method]
	if !ok {
		w.Header().Set("Allow", strings.Join(slices.Sorted(maps.Keys(verbs)), ", "))
		return rpcstatus.MethodNotAllowed(r.Method + " is not passed on to dashboards")
	}
	plain, err := url.PathUnescape(path)
	if err != nil || slices.ContainsFunc(strings.Split(plain, "/"), func(s string) bool { return s == "." || s == ".." }) {
		return &rpcstatus.Error{Code: codes.InvalidArgument, Reason: "BAD_PATH", Message: "the path of the dashboard cannot be read, or leads out of it"}
	}
	if err := p.mayKnow(r.Context(), key); err != nil {
		return err
	}
	d, err := p.Open(r.Context(), key, verb)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	go p.endWithRights(ctx, cancel, d)
	if r.Body != nil && r.Body != http.NoBody {
		r.Body = http.MaxBytesReader(w, r.Body, maxBody)
		_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(bodyTime)) //nolint:forbidigo // the kernel compares it with the real time
	} else {
		_ = http.NewResponseController(w).SetReadDeadline(time.Time{})
	}
	var failed error
	(&httputil.ReverseProxy{
		Rewrite: func(pr *httputil.ProxyRequest) {
			pr.Out.URL = &url.URL{Scheme: d.url.Scheme, Host: d.url.Host, Path: d.url.Path + plain, RawPath: d.url.EscapedPath() + path, RawQuery: r.URL.RawQuery}
			pr.Out.Host = ""
			d.rewrite(pr.Out.Header)
			if page {
				settlePage(pr.Out.Header)
			}
		},
		Transport: p.transport, FlushInterval: -1, ErrorLog: log.New(io.Discard, "", 0),
		ModifyResponse: func(resp *http.Response) error {
			if restrict(resp.Header); page {
				return confine(resp)
			}
			return nil
		},
		ErrorHandler: func(_ http.ResponseWriter, r *http.Request, _ error) {
			if failed = r.Context().Err(); failed == nil {
				failed = unavailable(key.Name, "it cannot be reached, or has broken off")
			}
		},
	}).ServeHTTP(w, r.WithContext(ctx))
	return failed
}

// mayKnow says why the context's caller may not know of a cluster.
func (p *Proxy) mayKnow(ctx context.Context, key types.NamespacedName) error {
	return p.Authorizer.Authorize(ctx, authz.Access{Verb: "get", Group: rayv1.GroupVersion.Group, Resource: "rayclusters", Namespace: key.Namespace, Name: key.Name})
}

// endWithRights ends a call whose caller loses the right to it, and all calls when the process stops.
func (p *Proxy) endWithRights(ctx context.Context, cancel context.CancelFunc, d *Dashboard) {
	defer cancel()
	ticker := time.NewTicker(rightsInterval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-p.Stop:
			return
		case <-ticker.C:
			if p.StillAllowed(ctx, d) != nil {
				return
			}
		}
	}
}

// passed are the headers that a dashboard gets, as beginnings. Nothing that proves who somebody is to Kubernetes, or to this gateway, is among them.
var passed = []string{
	"Accept", "Connection", "Content-", "If-", "Origin", "Range", "Referer", "Sec-", "Traceparent", "Tracestate", "Upgrade", "User-Agent", "X-Ray-Authorization", "X-Request-Id",
}

// rewrite makes the header of a request that of one to the dashboard. A token of the client's own counts where the cluster has none in a Secret.
func (d *Dashboard) rewrite(h http.Header) {
	for name := range h {
		if !slices.ContainsFunc(passed, func(begin string) bool { return strings.HasPrefix(name, begin) }) {
			delete(h, name)
		}
	}
	if d.token != "" {
		h.Set("X-Ray-Authorization", "Bearer "+string(d.token))
	}
}

// restrict takes from an answer what would act on this gateway: what is served here is what users run, and a cookie may hold the cluster's token.
func restrict(h http.Header) {
	for name := range h {
		if name == "Set-Cookie" || strings.HasPrefix(name, "Access-Control-") {
			delete(h, name)
		}
	}
	h.Set("Content-Security-Policy", "sandbox")
}
