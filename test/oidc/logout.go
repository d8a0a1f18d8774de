package main

import (
	"context"
	"crypto/rand"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"
)

// notify sends a client the logout token of a session (OpenID Connect Back-Channel Logout).
func (s *storage) notify(ctx context.Context, c *client, of *session) error {
	k := s.current()
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.ES256, Key: jose.JSONWebKey{Key: k.private, KeyID: k.id}}, (&jose.SignerOptions{}).WithType("logout+jwt"))
	if err != nil {
		return err
	}
	now := time.Now()
	token, err := jwt.Signed(signer).Claims(map[string]any{
		"iss": s.issuer, "aud": c.id, "iat": now.Unix(), "exp": now.Add(time.Minute).Unix(), "jti": rand.Text(), "sub": of.user, "sid": of.id,
		"events": map[string]any{"http://schemas.openid.net/event/backchannel-logout": map[string]any{}},
	}).Serialize()
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.logout, strings.NewReader(url.Values{"logout_token": {token}}.Encode()))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	_ = resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("%s answers a logout token with %s", c.logout, resp.Status)
	}
	return nil
}
