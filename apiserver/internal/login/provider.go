package login

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"
	"google.golang.org/grpc/codes"

	"github.com/raygate/raygate/apiserver/internal/rpcstatus"
)

const (
	// askTime bounds each request to a provider.
	askTime = 10 * time.Second
	// maxSkew is how much the clock of a provider may be ahead: as much as package issuers allows for each request. The verifier here allows more.
	maxSkew = time.Minute
)

// provider is a client at an identity provider.
type provider struct {
	*ProviderConfig
	redirect string
	http     *http.Client
	now      func() time.Time

	mu     sync.Mutex
	found  *endpoints // nil until the provider has answered once
	failed error      // of the last attempt
	again  time.Time  // of the next attempt after failed
}

// endpoints are the parts of a provider's discovery document that login uses.
type endpoints struct {
	oauth2.Config
	verifier *oidc.IDTokenVerifier
	// EndSession and Revocation are empty if the provider has none.
	EndSession string `json:"end_session_endpoint"`
	Revocation string `json:"revocation_endpoint"`
}

func newProvider(c *ProviderConfig, redirect string, now func() time.Time) (*provider, error) {
	p := &provider{ProviderConfig: c, redirect: redirect, now: now, http: &http.Client{Timeout: askTime}}
	if ca := c.issuer.CertificateAuthority; ca != "" {
		roots := x509.NewCertPool()
		if !roots.AppendCertsFromPEM([]byte(ca)) {
			return nil, fmt.Errorf("reading the CA of issuer %s: it has no certificate", c.IssuerURL)
		}
		transport := http.DefaultTransport.(*http.Transport).Clone()
		transport.TLSClientConfig = &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}
		p.http.Transport = transport
	}
	return p, nil
}

// discover returns the endpoints. They are fetched once. A failure holds for retryAfter, so that nobody waits for the attempts of others.
func (p *provider) discover() (*endpoints, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.found == nil && !p.now().Before(p.again) {
		if p.found, p.failed = p.fetch(); p.failed != nil {
			p.failed, p.again = errAway(p.failed), p.now().Add(retryAfter)
		}
	}
	return p.found, p.failed
}

func (p *provider) fetch() (*endpoints, error) {
	ctx, at := oidc.ClientContext(context.Background(), p.http), p.IssuerURL // keys are fetched later, too, so no caller's context
	if p.issuer.DiscoveryURL != "" {
		ctx, at = oidc.InsecureIssuerURLContext(ctx, p.IssuerURL), strings.TrimSuffix(p.issuer.DiscoveryURL, "/.well-known/openid-configuration")
	}
	known, err := oidc.NewProvider(ctx, at)
	if err != nil {
		return nil, err
	}
	e := &endpoints{
		Config:   oauth2.Config{ClientID: p.ClientID, ClientSecret: p.secret, Endpoint: known.Endpoint(), RedirectURL: p.redirect, Scopes: p.Scopes},
		verifier: known.Verifier(&oidc.Config{ClientID: p.ClientID, Now: p.now}),
	}
	if p.secret == "" {
		e.Endpoint.AuthStyle = oauth2.AuthStyleInParams // a public client has nothing to authenticate with
	}
	if err := known.Claims(e); err != nil {
		return nil, err
	}
	return e, nil
}

// errAway reports that a provider does not answer as it should.
func errAway(err error) error {
	return &rpcstatus.Error{Code: codes.Unavailable, Reason: "PROVIDER_AWAY", Message: "the identity provider does not answer: " + withoutQuery(err).Error()}
}

// withoutQuery returns the error of a request without the query of its address.
func withoutQuery(err error) error {
	failed, ok := errors.AsType[*url.Error](err)
	if !ok {
		return err
	}
	return failed.Err
}

// errRefused reports that a provider, or the check of its answer, refuses a login.
func errRefused(format string, args ...any) error {
	return &rpcstatus.Error{Code: codes.Unauthenticated, Reason: "LOGIN_REFUSED", Message: fmt.Sprintf(format, args...)}
}

// failure translates the error of a request for tokens. Of the body it contains only the fields of an OAuth 2.0 error.
func failure(err error) error {
	refused, ok := errors.AsType[*oauth2.RetrieveError](err)
	if !ok {
		return errAway(err)
	}
	why, resp := cmp.Or(refused.ErrorDescription, refused.ErrorCode), refused.Response
	if resp != nil && (why == "" || resp.StatusCode >= http.StatusInternalServerError || resp.StatusCode == http.StatusTooManyRequests) {
		return errAway(errors.New(resp.Status))
	}
	return errRefused("the identity provider refuses: %s", why)
}

// context returns the context for a request to the provider, which ends with the caller's or after askTime.
func (p *provider) context(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(oidc.ClientContext(ctx, p.http), askTime)
}

// session checks the tokens of an answer, and returns the session that has them.
func (p *provider) session(ctx context.Context, e *endpoints, token *oauth2.Token) (*session, *oidc.IDToken, error) {
	raw, _ := token.Extra("id_token").(string)
	if raw == "" {
		return nil, nil, errRefused("the identity provider returned no ID token")
	}
	id, err := e.verifier.Verify(ctx, raw)
	if err != nil {
		return nil, nil, errRefused("the ID token is not accepted: %v", withoutQuery(err))
	}
	var claims struct {
		SID       string      `json:"sid"`
		NotBefore json.Number `json:"nbf"`
	}
	if err := id.Claims(&claims); err != nil {
		return nil, nil, errRefused("the ID token cannot be read")
	}
	begin, _ := claims.NotBefore.Float64() // zero without the claim; the verifier has read it
	if ahead := time.Unix(int64(begin), 0).Sub(p.now()); ahead > maxSkew {
		return nil, nil, errRefused("the ID token is valid in %s only: the clocks of the identity provider and of the gateway differ by more than %s", ahead.Round(time.Second), maxSkew)
	}
	return &session{
		Mark: Mark{Issuer: p.IssuerURL, Subject: id.Subject, SID: claims.SID, Checked: p.now().Unix()}, IDToken: raw, Refresh: token.RefreshToken, Expires: id.Expiry.Unix(),
	}, id, nil
}
