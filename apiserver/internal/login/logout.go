package login

import (
	"context"
	"net/http"
	"net/url"
	"strings"

	"github.com/coreos/go-oidc/v3/oidc"

	"github.com/raygate/raygate/apiserver/internal/authn"
	"github.com/raygate/raygate/apiserver/internal/rpcstatus"
)

// End ends a session: this process refuses it at once, and others when they learn it (see Share) or at its next renewal, because the refresh token is
// revoked. It returns the address where the browser ends its session at the provider; empty if the provider has none. The address has no token, because
// browsers and servers keep addresses.
func (l *Login) End(ctx context.Context, sealed string) string {
	s, p, err := l.open(sealed)
	if err != nil {
		return ""
	}
	l.end(endedKey(s.Issuer, byID, s.ID), l.clock.Now().Unix())
	e, err := p.discover()
	if err != nil {
		return ""
	}
	if s.Refresh != "" && e.Revocation != "" {
		p.revoke(ctx, e, s.Refresh)
	}
	if e.EndSession == "" {
		return ""
	}
	after := strings.TrimSuffix(l.config.RedirectURL, CallbackPath) + "/ui/"
	separator := "?"
	if strings.Contains(e.EndSession, "?") {
		separator = "&"
	}
	return e.EndSession + separator + url.Values{"client_id": {p.ClientID}, "post_logout_redirect_uri": {after}}.Encode()
}

// revoke asks the provider to forget a refresh token. A failure is ignored: the browser forgets the token in any case.
func (p *provider) revoke(ctx context.Context, e *endpoints, token string) {
	ctx, cancel := p.context(ctx)
	defer cancel()
	form := url.Values{"token": {token}, "token_type_hint": {"refresh_token"}}
	if p.secret == "" {
		form.Set("client_id", p.ClientID)
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, e.Revocation, strings.NewReader(form.Encode()))
	if err != nil {
		return
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	if p.secret != "" {
		r.SetBasicAuth(url.QueryEscape(p.ClientID), url.QueryEscape(p.secret))
	}
	if resp, err := p.http.Do(r); err == nil {
		_ = resp.Body.Close()
	}
}

// Notify ends the sessions that a logout token of a provider names (OpenID Connect Back-Channel Logout): those of its sid, or else all that the subject
// has begun. It holds for this process; others learn it as in End.
func (l *Login) Notify(ctx context.Context, text string) error {
	bad := rpcstatus.BadField("logout_token", "not a logout token of a provider of this gateway")
	p := l.provider(issuerOf(text))
	if p == nil {
		return bad
	}
	e, err := p.discover()
	if err != nil {
		return err
	}
	token, err := e.verifier.VerifyLogout(oidc.ClientContext(ctx, p.http), text)
	if err != nil {
		return bad
	}
	key := endedKey(p.IssuerURL, bySID, token.SessionID)
	if token.SessionID == "" {
		key = endedKey(p.IssuerURL, bySubject, token.Subject)
	}
	l.end(key, l.clock.Now().Unix())
	return nil
}

// Leave ends the session with a sid of a provider, which makes the browser of its user ask for that without credentials (OpenID Connect Front-Channel
// Logout). The sid is the proof. Only a session that this process has opened ends, so that nobody can fill the list of ends.
func (l *Login) Leave(issuer, sid string) {
	key := endedKey(issuer, bySID, sid)
	if _, ok := l.seen.Get(key); ok {
		l.end(key, l.clock.Now().Unix())
	}
}

// maxLogoutToken is the longest logout token in bytes.
const maxLogoutToken = 16 << 10

// issuerOf returns the issuer that a logout token names, without a verification; empty for none.
func issuerOf(token string) string {
	var claims struct {
		Issuer string `json:"iss"`
	}
	if len(token) > maxLogoutToken || !authn.UnverifiedClaims(token, &claims) {
		return ""
	}
	return claims.Issuer
}
