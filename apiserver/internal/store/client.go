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

	"github.com/raygate/raygate/apiserver/internal/edge"
)

// ClientOptions of NewClient.
type ClientOptions struct {
	// OnWarning is called with every warning of the API server. Nil ignores them.
	OnWarning func(ctx context.Context, text string)
}

// NewClient returns a client of one API group. All callers share it and its HTTP/2 connections: the configuration (of package authn) adds the caller's
// credentials to each request.
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
	c.Wrap(func(next http.RoundTripper) http.RoundTripper { return bounded{next} })
	client, err := rest.RESTClientFor(c)
	if err != nil {
		return nil, fmt.Errorf("building client for %s: %w", gv, err)
	}
	return client, nil
}

const (
	// maxProxied bounds what is read of an answer that comes through the Service proxy of the API server.
	maxProxied = 64 << 10
	// decodedCopies is about how many times the length of an answer is held once it has been decoded.
	decodedCopies = 4
)

// bounded is for answers that the client reads as a whole: those of what users run behind the Service proxy are cut off, and all others count for the call
// that they are read for, since it is users who decide how long their objects are. Logs come piece by piece.
type bounded struct{ next http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (b bounded) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := b.next.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	switch {
	case strings.Contains(r.URL.Path, "/proxy/"):
		resp.Body = body{io.LimitReader(resp.Body, maxProxied), resp.Body}
	case !strings.HasSuffix(r.URL.Path, "/log"):
		resp.Body = body{counted{r.Context(), resp.Body}, resp.Body}
	}
	return resp, nil
}

type body struct {
	io.Reader
	io.Closer
}

// counted is a body that is held for the call of a context.
type counted struct {
	ctx  context.Context // that of the request: Read has none
	body io.Reader
}

// Read implements io.Reader.
func (c counted) Read(p []byte) (int, error) {
	n, err := c.body.Read(p)
	if n > 0 {
		if full := edge.Hold(c.ctx, decodedCopies*int64(n)); full != nil {
			return n, full
		}
	}
	return n, err
}

type warningHandler func(ctx context.Context, text string)

// HandleWarningHeaderWithContext implements rest.WarningHandlerWithContext. Code 299 is the only one that Kubernetes uses.
func (h warningHandler) HandleWarningHeaderWithContext(ctx context.Context, code int, _, text string) {
	if h != nil && code == 299 && text != "" {
		h(ctx, text)
	}
}
