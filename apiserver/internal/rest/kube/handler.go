package kube

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/url"
	"strings"

	"google.golang.org/grpc/codes"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"

	"github.com/raygate/raygate/apiserver/internal/authn"
	"github.com/raygate/raygate/apiserver/internal/edge"
	"github.com/raygate/raygate/apiserver/internal/relay"
	"github.com/raygate/raygate/apiserver/internal/rest"
	"github.com/raygate/raygate/apiserver/internal/rpcstatus"
)

// Options of New. All are required.
type Options struct {
	// Transport reaches the API server at Host with the identity of the caller in a request's context.
	Transport http.RoundTripper
	Host      *url.URL
	// Edge decides on a request before its body is read.
	Edge *edge.Edge
	// Table translates the errors that arise here.
	Table *rpcstatus.Table
	// Expand gives the groups of a custom resource that name a compute template what it says, and tells whether there were any.
	Expand func(ctx context.Context, namespace string, tree map[string]any) (bool, error)
	// IsRayService tells whether a Service belongs to a Ray cluster, for the context's caller.
	IsRayService func(ctx context.Context, namespace, name string) (bool, error)
	// Record makes a write visible to later reads of the gateway. answer is that of the API server.
	Record func(resource string, key types.NamespacedName, answer []byte) error
	// Stop ends what stays open.
	Stop <-chan struct{}
}

// maxRecorded is the longest answer to a write that is looked at, in bytes: etcd takes 1.5 MiB.
const maxRecorded = 2 << 20

// Handler serves the paths.
type Handler struct{ Options }

var _ http.Handler = (*Handler)(nil)

// New returns a Handler.
func New(o Options) *Handler {
	o.Transport = retrying{o.Transport}
	return &Handler{Options: o}
}

// ServeHTTP implements http.Handler.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	t, err := targetOf(w.Header(), r)
	if err != nil {
		h.WriteError(w, err)
		return
	}
	rest.SetRoute(w, t.route)
	ctx, visit, err := h.Edge.Enter(r.Context(), r, true)
	if err != nil {
		h.WriteError(w, rest.Refused(h.Edge, h.Table, w.Header(), err))
		return
	}
	defer visit.Leave()
	defer audit(ctx, r, t)
	r = r.WithContext(ctx)
	if err := h.prepare(w, r, t, visit); err != nil {
		w.Header().Set("Connection", "close") // what is left of the body is not read
		h.WriteError(w, err)
		return
	}
	if err := h.pass(w, r, t); err != nil {
		h.WriteError(w, err)
	}
}

// prepare looks at what the target asks for, and reads the body of an object.
func (h *Handler) prepare(w http.ResponseWriter, r *http.Request, t *target, visit *edge.Visit) error {
	if t.service != "" {
		ours, err := h.IsRayService(r.Context(), t.namespace, t.service)
		if err != nil {
			return err
		}
		if !ours {
			return &rpcstatus.Error{Code: codes.NotFound, Reason: "NOT_FOUND", Message: "kuberay service not found: there is no Service " + t.service + " of a Ray cluster in namespace " + t.namespace}
		}
	}
	if t.service == "" {
		if err := rest.Unheeded(r, "dryRun"); err != nil {
			return err
		}
		if r.Method == http.MethodDelete && strings.HasSuffix(r.URL.Path, "/") { // client-go refuses an empty name too
			return rpcstatus.BadField("name", "is empty: Kubernetes would delete the whole collection; leave out the slash at the end to do so")
		}
	}
	switch {
	case r.Body == nil || r.Body == http.NoBody:
		rest.LiftReadLimit(w) // a watch or a WebSocket has none
		return nil
	case t.service != "":
		relay.LimitBody(w, r)
		return nil
	}
	data, err := rest.ReadObject(r.Context(), w, r, visit)
	if err != nil {
		return err
	}
	if t.templates {
		if data, err = h.expand(r, t.namespace, data); err != nil {
			return err
		}
	}
	r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(data)), int64(len(data))
	r.Header.Del("Content-Length")
	return nil
}

// pass sends a request on and the answer back, as they come. An error means that nothing has been answered.
func (h *Handler) pass(w http.ResponseWriter, r *http.Request, t *target) error {
	u := h.Host.JoinPath()
	u.Path, u.RawPath = strings.TrimSuffix(h.Host.Path, "/")+r.URL.Path, strings.TrimSuffix(h.Host.EscapedPath(), "/")+r.URL.EscapedPath()
	u.RawQuery = t.query
	return relay.Pass(w, r, relay.Target{
		URL: u, Transport: h.Transport, Stop: h.Stop, Untrusted: t.service != "", Answer: func(resp *http.Response) error { return h.record(r, t, resp) },
	})
}

// record notes an object that was written, so that a client that goes on with /apis/v2 reads its own write.
func (h *Handler) record(r *http.Request, t *target, resp *http.Response) error {
	single := r.Method == http.MethodPost && t.resource != "" || t.name != "" // others delete a collection
	switch {
	case r.Method == http.MethodGet || r.Method == http.MethodHead || !single || strings.Contains(t.query, "dryRun"):
		return nil
	case resp.StatusCode/100 != 2 || resp.Header.Get("Content-Type") != "application/json" || resp.Header.Get("Content-Encoding") != "" || resp.ContentLength > maxRecorded:
		return nil
	}
	answer, err := io.ReadAll(io.LimitReader(resp.Body, maxRecorded+1))
	resp.Body = readCloser{io.MultiReader(bytes.NewReader(answer), resp.Body), resp.Body}
	if err != nil || len(answer) > maxRecorded {
		return err
	}
	if err := h.Record(t.resource, types.NamespacedName{Namespace: t.namespace, Name: t.name}, answer); err != nil {
		klog.FromContext(r.Context()).V(2).Info("Could not record a write", "path", r.URL.Path, "error", err.Error())
	}
	return nil
}

type readCloser struct {
	io.Reader
	io.Closer
}

// audit notes what may have changed something, and what was asked of a dashboard: Ray kills actors by GET.
func audit(ctx context.Context, r *http.Request, t *target) {
	message := "Mutation"
	if r.Method == http.MethodGet || r.Method == http.MethodHead {
		if t.service == "" {
			return
		}
		message = "Read"
	}
	fields := []any{"method", r.Method + " " + t.route, "requestID", r.Header.Get("X-Request-Id"), "namespace", t.namespace, "path", r.URL.Path}
	if c := authn.CallerFrom(ctx); c != nil {
		fields = append(fields, "user", c.Name(), "groups", c.Groups())
	}
	klog.FromContext(ctx).WithName("audit").Info(message, fields...)
}
