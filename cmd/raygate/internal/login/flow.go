package login

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"
)

// renewBefore is how long before its expiry a token is renewed, since requests and clocks take time.
const renewBefore = time.Minute

// DefaultScopes are those that providers know. offline_access asks for a token to renew the others.
var DefaultScopes = []string{oidc.ScopeOpenID, "email", "profile", oidc.ScopeOfflineAccess}

// provider is the identity provider of a login.
type provider struct {
	oauth2.Config
	verifier *oidc.IDTokenVerifier
}

func (l *Login) provider(ctx context.Context) (*provider, error) {
	p, err := oidc.NewProvider(ctx, l.Issuer)
	if err != nil {
		return nil, fmt.Errorf("asking the identity provider: %w", err)
	}
	endpoint := p.Endpoint()
	endpoint.AuthStyle = oauth2.AuthStyleInParams // a public client mostly has no secret to authenticate with
	return &provider{
		Config:   oauth2.Config{ClientID: l.ClientID, ClientSecret: l.ClientSecret, Endpoint: endpoint, Scopes: l.Scopes},
		verifier: p.Verifier(&oidc.Config{ClientID: l.ClientID}),
	}, nil
}

// Browser logs in by the page of the provider, which show gets. The browser has to run on this machine: the page leads back to it, at the port; 0
// chooses a free one.
func (l *Login) Browser(ctx context.Context, port int, show func(url string)) error {
	p, err := l.provider(ctx)
	if err != nil {
		return err
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", fmt.Sprintf("127.0.0.1:%d", port))
	if err != nil {
		return fmt.Errorf("waiting for the browser: %w", err)
	}
	p.RedirectURL = fmt.Sprintf("http://%s/callback", listener.Addr())
	back := &callback{state: rand.Text(), done: make(chan *http.Request, 1)}
	server := &http.Server{Handler: back, ReadHeaderTimeout: 10 * time.Second}
	go func() { _ = server.Serve(listener) }()
	defer func() { _ = server.Shutdown(context.WithoutCancel(ctx)) }() // after the page with the result
	verifier, nonce := oauth2.GenerateVerifier(), rand.Text()
	// Google gives a token for the renewal for this parameter, and all others for the scope offline_access.
	show(p.AuthCodeURL(back.state, oauth2.S256ChallengeOption(verifier), oidc.Nonce(nonce), oauth2.AccessTypeOffline))
	select {
	case <-ctx.Done():
		return ctx.Err()
	case r := <-back.done:
		if problem := r.FormValue("error"); problem != "" {
			return fmt.Errorf("the identity provider refuses: %s", cmp.Or(r.FormValue("error_description"), problem))
		}
		token, err := p.Exchange(ctx, r.FormValue("code"), oauth2.VerifierOption(verifier))
		if err != nil {
			return fmt.Errorf("fetching the token: %w", withoutBody(err))
		}
		return l.take(ctx, p, token, nonce)
	}
}

// callback gets the answer of the provider.
type callback struct {
	state string
	done  chan *http.Request
}

// ServeHTTP implements http.Handler. It ignores requests that do not belong to this login.
func (c *callback) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path != "/callback" || r.FormValue("state") != c.state {
		http.NotFound(w, r)
		return
	}
	select {
	case c.done <- r:
	default: // the page was opened again
	}
	_, _ = w.Write([]byte("You can close this page and return to the terminal.\n"))
}

// Device logs in by a browser on any machine: show gets the address of a page and the code to enter there.
func (l *Login) Device(ctx context.Context, show func(url, code string)) error {
	p, err := l.provider(ctx)
	if err != nil {
		return err
	}
	if p.Endpoint.DeviceAuthURL == "" {
		return errors.New("the identity provider has no login by a code: log in without --device")
	}
	answer, err := p.DeviceAuth(ctx)
	if err != nil {
		return fmt.Errorf("asking for a code: %w", withoutBody(err))
	}
	show(cmp.Or(answer.VerificationURIComplete, answer.VerificationURI), answer.UserCode)
	token, err := p.DeviceAccessToken(ctx, answer)
	switch {
	case errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil:
		return errors.New("nobody entered the code before it expired: log in again")
	case err != nil:
		return fmt.Errorf("waiting for the login: %w", withoutBody(err))
	}
	return l.take(ctx, p, token, "")
}

// Renew fetches a new token if the current one ends soon, and reports whether it did.
func (l *Login) Renew(ctx context.Context) (renewed bool, err error) {
	switch {
	case l.IDToken != "" && time.Until(l.Expiry) > renewBefore:
		return false, nil
	case l.RefreshToken == "":
		return false, errors.New("the login has ended: run raygate login")
	}
	p, err := l.provider(ctx)
	if err != nil {
		return false, err
	}
	token, err := p.TokenSource(ctx, &oauth2.Token{RefreshToken: l.RefreshToken}).Token()
	if err != nil {
		return false, fmt.Errorf("renewing the login: %w; run raygate login", withoutBody(err))
	}
	return true, l.take(ctx, p, token, "")
}

// take checks and keeps the tokens of an answer.
func (l *Login) take(ctx context.Context, p *provider, token *oauth2.Token, nonce string) error {
	raw, _ := token.Extra("id_token").(string)
	if raw == "" {
		return errors.New("the identity provider gave no ID token: add the scope openid")
	}
	id, err := p.verifier.Verify(ctx, raw)
	if err != nil {
		return fmt.Errorf("checking the token: %w", err)
	}
	if nonce != "" && id.Nonce != nonce {
		return errors.New("the token belongs to another login")
	}
	var claims struct {
		Email    string `json:"email"`
		Username string `json:"preferred_username"`
	}
	if err := id.Claims(&claims); err != nil {
		return fmt.Errorf("reading the token: %w", err)
	}
	l.name = cmp.Or(claims.Email, claims.Username, id.Subject)
	l.IDToken, l.Expiry, l.RefreshToken = raw, id.Expiry, cmp.Or(token.RefreshToken, l.RefreshToken)
	return nil
}

// Name returns who has just logged in: the address or name in the token, else its subject. It is empty for a stored login.
func (l *Login) Name() string { return l.name }

// withoutBody returns the error of an answer without its body, which may have a token.
func withoutBody(err error) error {
	refused, ok := errors.AsType[*oauth2.RetrieveError](err)
	if !ok {
		return err
	}
	why := cmp.Or(refused.ErrorDescription, refused.ErrorCode)
	if why == "" && refused.Response != nil {
		why = refused.Response.Status
	}
	return errors.New(why)
}
