package store

import (
	"context"
	"fmt"
	"net/http"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/client-go/rest"
)

// ClientOptions of NewClient.
type ClientOptions struct {
	// Token returns the bearer token of the request's caller. Nil means the credentials of the configuration, for reading on the
	// gateway's own account and for --authentication=none.
	Token func(context.Context) (string, error)
	// OnWarning is told of every warning that the API server sends with an answer. Nil ignores them.
	OnWarning func(ctx context.Context, text string)
}

// NewClient returns a client of one API group. All callers share it and its HTTP/2 connections: a caller's token is put on
// each request on its way out, so a caller costs nothing.
func NewClient(config *rest.Config, scheme *runtime.Scheme, gv schema.GroupVersion, o ClientOptions) (*rest.RESTClient, error) {
	c := rest.CopyConfig(config)
	if o.Token != nil {
		c = rest.AnonymousClientConfig(config)
		c.QPS, c.Burst, c.UserAgent = config.QPS, config.Burst, config.UserAgent
		c.Wrap(func(next http.RoundTripper) http.RoundTripper { return tokenTransport{next: next, token: o.Token} })
	}
	c.GroupVersion = &gv
	c.APIPath = "/apis"
	if gv.Group == "" {
		c.APIPath = "/api"
	}
	c.ContentType = runtime.ContentTypeJSON // custom resources have no other form
	c.AcceptContentTypes = runtime.ContentTypeJSON
	c.NegotiatedSerializer = serializer.NewCodecFactory(scheme).WithoutConversion()
	c.WarningHandlerWithContext = warningHandler(o.OnWarning)
	client, err := rest.RESTClientFor(c)
	if err != nil {
		return nil, fmt.Errorf("building client for %s: %w", gv, err)
	}
	return client, nil
}

// tokenTransport puts the caller's token on a request. It fails rather than sends a request without.
type tokenTransport struct {
	next  http.RoundTripper
	token func(context.Context) (string, error)
}

// RoundTrip implements http.RoundTripper.
func (t tokenTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	token, err := t.token(r.Context())
	if err != nil {
		return nil, err
	}
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+token)
	return t.next.RoundTrip(r)
}

type warningHandler func(ctx context.Context, text string)

// HandleWarningHeaderWithContext implements rest.WarningHandlerWithContext. Code 299 is the only one that Kubernetes uses.
func (h warningHandler) HandleWarningHeaderWithContext(ctx context.Context, code int, _, text string) {
	if h != nil && code == 299 && text != "" {
		h(ctx, text)
	}
}
