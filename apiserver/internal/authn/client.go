package authn

import (
	"bytes"
	"fmt"
	"io"
	"net/http"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/transport"
	"k8s.io/klog/v2"
)

// CallerConfig returns the configuration of clients that act as the caller in each request's context. A request without a caller fails.
func CallerConfig(config *rest.Config, mode Mode) *rest.Config {
	switch mode {
	case None:
		return rest.CopyConfig(config)
	case Impersonate:
		c := rest.CopyConfig(config)
		c.Wrap(func(next http.RoundTripper) http.RoundTripper { return impersonation{next} })
		return c
	default:
		c := rest.AnonymousClientConfig(config)
		c.QPS, c.Burst, c.UserAgent = config.QPS, config.Burst, config.UserAgent
		c.Wrap(func(next http.RoundTripper) http.RoundTripper { return passthrough{next} })
		return c
	}
}

// OwnConfig returns the configuration of clients that act as the gateway for all callers. If Kubernetes refuses a request with 401 or 403,
// the error is ErrOwnCredentials, which callers do not confuse with an error of their own credentials.
func OwnConfig(config *rest.Config, mode Mode) *rest.Config {
	c := rest.CopyConfig(config)
	if mode != None { // where every caller is the gateway
		c.Wrap(func(next http.RoundTripper) http.RoundTripper { return own{next} })
	}
	return c
}

type passthrough struct{ next http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (t passthrough) RoundTrip(r *http.Request) (*http.Response, error) {
	c := CallerFrom(r.Context())
	if c == nil || c.token == "" {
		return nil, ErrNoCredentials
	}
	return transport.NewBearerAuthRoundTripper(c.token, t.next).RoundTrip(r)
}

type impersonation struct{ next http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (t impersonation) RoundTrip(r *http.Request) (*http.Response, error) {
	c := CallerFrom(r.Context())
	if c == nil || c.user.Name == "" {
		return nil, ErrNoIdentity
	}
	as := transport.ImpersonationConfig{UserName: c.user.Name, UID: c.user.UID, Groups: c.user.Groups, Extra: c.user.Extra}
	resp, err := transport.NewImpersonatingRoundTripper(as, t.next).RoundTrip(r)
	if err != nil {
		return nil, err
	}
	// 401 is about the gateway's credentials, and so is a 403 that names the verb impersonate; any other 403 is the caller's.
	return refuseOwn(r, resp, func(text []byte) bool {
		return resp.StatusCode == http.StatusUnauthorized || bytes.Contains(text, []byte("cannot impersonate resource"))
	})
}

type own struct{ next http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (t own) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := t.next.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	return refuseOwn(r, resp, func([]byte) bool { return true })
}

// refuseOwn returns ErrOwnCredentials for a rejection of the gateway's own credentials, which ours detects by its text.
func refuseOwn(r *http.Request, resp *http.Response, ours func(text []byte) bool) (*http.Response, error) {
	if resp.StatusCode != http.StatusUnauthorized && resp.StatusCode != http.StatusForbidden {
		return resp, nil
	}
	text, err := io.ReadAll(io.LimitReader(resp.Body, 64<<10))
	_ = resp.Body.Close()
	if err != nil {
		return nil, fmt.Errorf("reading a refusal of the API server: %w", err)
	}
	if ours(text) {
		klog.FromContext(r.Context()).Error(ErrOwnCredentials, "Kubernetes refused the gateway", "method", r.Method, "path", r.URL.Path, "status", resp.Status, "answer", string(text))
		return nil, ErrOwnCredentials
	}
	resp.Body = io.NopCloser(bytes.NewReader(text))
	return resp, nil
}
