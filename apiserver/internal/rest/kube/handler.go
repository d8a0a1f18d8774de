package kube

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/url"
	"strings"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"

	"github.com/raygate/raygate/apiserver/internal/flowcontrol"
	"github.com/raygate/raygate/apiserver/internal/rest"
	"github.com/raygate/raygate/apiserver/internal/reverseproxy"
	"github.com/raygate/raygate/apiserver/internal/rpcstatus"
)

// Options of New. All are required.
type Options struct {
	// Transport reaches the API server at Host with the identity of the caller in a request's context.
	Transport http.RoundTripper
	Host      *url.URL
	// FlowControl decides on a request before its body is read.
	FlowControl *flowcontrol.Controller
	// Expand applies the compute templates that the groups of a custom resource name, and returns whether there were any.
	Expand func(ctx context.Context, namespace string, tree map[string]any) (bool, error)
	// IsRayService reports whether a Service belongs to a Ray cluster, for the context's caller.
	IsRayService func(ctx context.Context, namespace, name string) (bool, error)
	// Record makes a write visible to later reads of the gateway. answer is the API server's.
	Record func(resource string, key types.NamespacedName, answer []byte) error
	// Stop ends open requests.
	Stop <-chan struct{}
}

// maxRecorded is the longest answer to a write that is read, in bytes: etcd takes 1.5 MiB.
const maxRecorded = 2 << 20

// Handler serves the paths.
type Handler struct {
	Options
	gate rest.Gate
}

// New returns a Handler.
func New(o Options) *Handler {
	o.Transport = retrying{o.Transport}
	h := &Handler{Options: o}
	h.gate = rest.Gate{FlowControl: o.FlowControl, WriteError: h.WriteError}
	return h
}

// ServeHTTP implements http.Handler.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	t, err := targetOf(w.Header(), r)
	if err != nil {
		h.WriteError(w, err)
		return
	}
	rest.SetRoute(w, t.route)
	h.gate.Enter(w, r, true, func(ctx context.Context, visit *flowcontrol.Visit) error {
		if t.service != "" || !rest.IsRead(r.Method) { // Ray kills actors by GET
			defer rest.Audit(ctx, r, t.route, !rest.IsRead(r.Method), "namespace", t.namespace, "path", r.URL.Path)
		}
		r = r.WithContext(ctx)
		if err := h.prepare(w, r, t, visit); err != nil {
			return err
		}
		if err := h.pass(w, r, t); err != nil {
			h.WriteError(w, err)
		}
		return nil
	})
}

// check refuses a target that is not served.
func (h *Handler) check(r *http.Request, t *target) error {
	if t.service != "" {
		ours, err := h.IsRayService(r.Context(), t.namespace, t.service)
		if err == nil && !ours {
			err = rpcstatus.NotFound("kuberay service not found: there is no Service %s of a Ray cluster in namespace %s", t.service, t.namespace)
		}
		return err
	}
	if err := rest.RefuseUnsupported(r, "dryRun"); err != nil {
		return err
	}
	if r.Method == http.MethodDelete && strings.HasSuffix(r.URL.Path, "/") { // client-go refuses an empty name too
		return rpcstatus.BadField("name", "is empty: Kubernetes would delete the whole collection; leave out the slash at the end to do so")
	}
	return nil
}

// prepare checks the target, and reads the body of an object.
func (h *Handler) prepare(w http.ResponseWriter, r *http.Request, t *target, visit *flowcontrol.Visit) error {
	if err := h.check(r, t); err != nil {
		return err
	}
	switch {
	case r.Body == nil || r.Body == http.NoBody:
		rest.LiftReadLimit(w) // a watch or a WebSocket has none
		return nil
	case t.service != "":
		reverseproxy.LimitBody(w, r)
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
	return reverseproxy.Pass(w, r, reverseproxy.Target{
		URL: u, Transport: h.Transport, Stop: h.Stop, Untrusted: t.service != "", Answer: func(resp *http.Response) error { return h.record(r, t, resp) },
	})
}

// writesObject reports whether a request writes one object, and no collection.
func writesObject(r *http.Request, t *target) bool {
	if rest.IsRead(r.Method) || strings.Contains(t.query, "dryRun") {
		return false
	}
	return t.name != "" || t.resource != "" && r.Method == http.MethodPost
}

// record records a written object, so that the client can read its own write at /apis/v2.
func (h *Handler) record(r *http.Request, t *target, resp *http.Response) error {
	isObject := resp.StatusCode/100 == 2 && resp.Header.Get("Content-Type") == "application/json" && resp.Header.Get("Content-Encoding") == ""
	if !isObject || !writesObject(r, t) || resp.ContentLength > maxRecorded {
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
