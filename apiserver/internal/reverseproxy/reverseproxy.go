// Package reverseproxy passes HTTP requests on to another server, including WebSockets, and the answers back. Dashboards and the paths of the
// Kubernetes API share it, so that the allowed headers are listed once.
package reverseproxy

import (
	"context"
	"fmt"
	"io"
	"log"
	"maps"
	"net/http"
	"net/http/httputil"
	"net/url"
	"slices"
	"strings"
	"time"

	"k8s.io/client-go/rest"
)

const (
	// MaxBody is the longest body that Ray's own server reads.
	MaxBody = 100 << 20
	// bodyTime is how long a client may take to send a body of that size.
	bodyTime = 10 * time.Minute
)

// ToAPIServer returns the address of the API server and the transport to it, as URL and Transport of a Target.
func ToAPIServer(config *rest.Config) (*url.URL, http.RoundTripper, error) {
	config = rest.CopyConfig(config)
	config.NextProtos = []string{"http/1.1"} // HTTP/2 has no upgrade to WebSocket
	host, _, err := rest.DefaultServerUrlFor(config)
	if err != nil {
		return nil, nil, fmt.Errorf("reading the address of the API server: %w", err)
	}
	transport, err := rest.TransportFor(config)
	if err != nil {
		return nil, nil, fmt.Errorf("making the transport to the API server: %w", err)
	}
	return host, transport, nil
}

// Target is the destination of a request, with the rules for its headers. URL and Transport are required.
type Target struct {
	// URL of the request, complete.
	URL *url.URL
	// Transport carries the request. It adds the credentials for the target, if any.
	Transport http.RoundTripper
	// Stop ends a request that is still open. Nil means never.
	Stop <-chan struct{}
	// Header changes the header of the request, which only contains allowed names. Nil changes nothing.
	Header func(h http.Header)
	// Untrusted means that the answer comes from a user's program: a cluster's dashboard. Its headers are filtered by an allow list.
	Untrusted bool
	// Answer changes the answer. Nil changes nothing.
	Answer func(resp *http.Response) error
}

// requestHeaders are the headers of a request that pass, as prefixes. None of them is a credential for Kubernetes or for this gateway, and none names the
// page that a browser shows.
var requestHeaders = []string{
	"Accept", "Connection", "Content-", "If-", "Origin", "Range", "Sec-", "Traceparent", "Tracestate", "Upgrade", "User-Agent", "X-Ray-Authorization", "X-Request-Id",
}

// answerHeaders are the headers of an untrusted answer that pass. Others act on this gateway's origin, on later requests of the browser, or on proxies in
// between: Set-Cookie, Access-Control-*, NEL, Report-To, Clear-Site-Data, Strict-Transport-Security, Alt-Svc, Service-Worker-Allowed, Refresh, Link.
var answerHeaders = []string{
	"Accept-Ranges", "Allow", "Connection", "Content-Disposition", "Content-Encoding", "Content-Language", "Content-Length", "Content-Range", "Content-Type", "Date", "Etag",
	"Last-Modified", "Location", "Retry-After", "Sec-Websocket-Accept", "Sec-Websocket-Extensions", "Sec-Websocket-Protocol", "Trailer", "Upgrade", "Vary",
}

// own are headers that the gateway sets on every answer.
var own = []string{"X-Request-Id", "Cache-Control", "X-Content-Type-Options"}

// LimitBody limits the body of a streamed request in bytes and in time. A request without a body may stay open.
func LimitBody(w http.ResponseWriter, r *http.Request) {
	deadline := time.Time{}
	if r.Body != nil && r.Body != http.NoBody {
		r.Body = http.MaxBytesReader(w, r.Body, MaxBody)
		deadline = time.Now().Add(bodyTime) //nolint:forbidigo // the kernel compares it with the real time
	}
	_ = http.NewResponseController(w).SetReadDeadline(deadline)
}

// Pass sends a request on and the answer back. An error is that of the transport, and means that nothing has been answered.
func Pass(w http.ResponseWriter, r *http.Request, t Target) error {
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	go func() {
		select {
		case <-t.Stop:
			cancel()
		case <-ctx.Done():
		}
	}()
	answer := &writer{ResponseWriter: w, own: w.Header().Clone()}
	var failed error
	(&httputil.ReverseProxy{
		Rewrite: func(pr *httputil.ProxyRequest) {
			pr.Out.URL, pr.Out.Host = t.URL, ""
			maps.DeleteFunc(pr.Out.Header, func(name string, _ []string) bool {
				return !slices.ContainsFunc(requestHeaders, func(prefix string) bool { return strings.HasPrefix(name, prefix) })
			})
			if t.Header != nil {
				t.Header(pr.Out.Header)
			}
		},
		Transport: t.Transport, FlushInterval: -1, ErrorLog: log.New(io.Discard, "", 0),
		ModifyResponse: func(resp *http.Response) error {
			for _, name := range own {
				resp.Header.Del(name)
			}
			if t.Untrusted {
				confine(resp.Header)
			}
			if t.Answer != nil {
				return t.Answer(resp)
			}
			return nil
		},
		ErrorHandler: func(_ http.ResponseWriter, _ *http.Request, err error) { failed = err },
	}).ServeHTTP(answer, r.WithContext(ctx))
	if failed != nil {
		answer.restore()
	}
	return failed
}

// confine keeps only the headers of an untrusted answer that describe its body. Its scripts cannot run.
func confine(h http.Header) {
	maps.DeleteFunc(h, func(name string, _ []string) bool { return !slices.Contains(answerHeaders, name) })
	if to := h.Get("Location"); to != "" && leadsAway(to) {
		h.Del("Location")
	}
	h.Set("Content-Security-Policy", "sandbox")
}

// leadsAway reports whether a browser would follow a Location to another host.
func leadsAway(location string) bool {
	u, err := url.Parse(location)
	return err != nil || u.Host != "" || u.Scheme != "" || strings.ContainsAny(location, "\\\t\r\n")
}

// writer keeps informational answers (1xx) away from the client: the reverse proxy copies their headers as they come, and then removes all headers, those
// of the gateway included.
type writer struct {
	http.ResponseWriter
	own http.Header
}

// WriteHeader implements http.ResponseWriter.
func (w *writer) WriteHeader(code int) {
	if code < http.StatusOK && code != http.StatusSwitchingProtocols {
		return
	}
	w.restore()
	w.ResponseWriter.WriteHeader(code)
}

// restore sets the headers of the gateway that are missing.
func (w *writer) restore() {
	h := w.Header()
	for name, values := range w.own {
		if _, ok := h[name]; !ok {
			h[name] = values
		}
	}
}

// Unwrap is for http.ResponseController.
func (w *writer) Unwrap() http.ResponseWriter { return w.ResponseWriter }
