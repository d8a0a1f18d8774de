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

	"github.com/raygate/raygate/apiserver/internal/flowcontrol"
)

// NewClient returns a client of one API group. All callers share it and its HTTP/2 connections: the configuration (of package authn) adds the caller's
// credentials to each request. onWarning is called with every warning of the API server; nil ignores them.
func NewClient(config *rest.Config, scheme *runtime.Scheme, gv schema.GroupVersion, onWarning func(ctx context.Context, text string)) (*rest.RESTClient, error) {
	c := rest.CopyConfig(config)
	c.GroupVersion = &gv
	c.APIPath = "/apis"
	if gv.Group == "" {
		c.APIPath = "/api"
	}
	c.ContentType = runtime.ContentTypeJSON // custom resources have no other form
	c.AcceptContentTypes = runtime.ContentTypeJSON
	c.NegotiatedSerializer = serializer.NewCodecFactory(scheme).WithoutConversion()
	c.WarningHandlerWithContext = warningHandler(onWarning)
	c.Wrap(func(next http.RoundTripper) http.RoundTripper { return bounded{next} })
	client, err := rest.RESTClientFor(c)
	if err != nil {
		return nil, fmt.Errorf("building client for %s: %w", gv, err)
	}
	return client, nil
}

const (
	// maxProxied is the maximum size of an answer through the Service proxy of the API server, in bytes.
	maxProxied = 64 << 10
	// decodedCopies is the approximate memory of a decoded answer, in multiples of its length.
	decodedCopies = 4
)

// bounded limits answers that the client reads as a whole: those of programs of users behind the Service proxy are cut off, and the bytes of all others are
// held for the call, since users decide on the size of their objects. Logs are read in pieces.
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
		resp.Body = body{flowcontrol.Counted(r.Context(), resp.Body, decodedCopies), resp.Body}
	}
	return resp, nil
}

type body struct {
	io.Reader
	io.Closer
}

type warningHandler func(ctx context.Context, text string)

// HandleWarningHeaderWithContext implements rest.WarningHandlerWithContext. Code 299 is the only one that Kubernetes uses.
func (h warningHandler) HandleWarningHeaderWithContext(ctx context.Context, code int, _, text string) {
	if h != nil && code == 299 && text != "" {
		h(ctx, text)
	}
}
