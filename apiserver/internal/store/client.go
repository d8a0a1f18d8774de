package store

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/client-go/rest"
)

// ClientOptions of NewClient.
type ClientOptions struct {
	// OnWarning is told of every warning that the API server sends with an answer. Nil ignores them.
	OnWarning func(ctx context.Context, text string)
}

// NewClient returns a client of one API group. All callers share it and its HTTP/2 connections: whose request it is, the configuration
// (of package authn) puts on each request on its way out, so a caller costs nothing.
func NewClient(config *rest.Config, scheme *runtime.Scheme, gv schema.GroupVersion, o ClientOptions) (*rest.RESTClient, error) {
	c := rest.CopyConfig(config)
	c.GroupVersion = &gv
	c.APIPath = "/apis"
	if gv.Group == "" {
		c.APIPath = "/api"
	}
	c.ContentType = runtime.ContentTypeJSON // custom resources have no other form
	c.AcceptContentTypes = runtime.ContentTypeJSON
	c.NegotiatedSerializer = serializer.NewCodecFactory(scheme).WithoutConversion()
	c.WarningHandlerWithContext = warningHandler(o.OnWarning)
	c.Wrap(func(next http.RoundTripper) http.RoundTripper { return proxied{next} })
	client, err := rest.RESTClientFor(c)
	if err != nil {
		return nil, fmt.Errorf("building client for %s: %w", gv, err)
	}
	return client, nil
}

// maxProxied bounds what is read of an answer that comes through the Service proxy of the API server.
const maxProxied = 64 << 10

// proxied cuts off answers of what users run behind the Service proxy: the client reads answers as a whole.
type proxied struct{ next http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (p proxied) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := p.next.RoundTrip(r)
	if err == nil && strings.Contains(r.URL.Path, "/proxy/") {
		resp.Body = struct {
			io.Reader
			io.Closer
		}{io.LimitReader(resp.Body, maxProxied), resp.Body}
	}
	return resp, err
}

type warningHandler func(ctx context.Context, text string)

// HandleWarningHeaderWithContext implements rest.WarningHandlerWithContext. Code 299 is the only one that Kubernetes uses.
func (h warningHandler) HandleWarningHeaderWithContext(ctx context.Context, code int, _, text string) {
	if h != nil && code == 299 && text != "" {
		h(ctx, text)
	}
}
