package oidcprovider

import (
	"context"
	"net/http"
	"net/url"
	"testing"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"
)

// The provider of the process issues tokens by code, and renews them until the session ends.
func TestProcess(t *testing.T) {
	if testing.Short() {
		t.Skip("builds the provider")
	}
	p := Start(t, "http://127.0.0.1:1")
	browser := p.Client(t)
	ctx := oidc.ClientContext(context.Background(), p.Client(t))
	provider, err := oidc.NewProvider(ctx, p.URL)
	if err != nil {
		t.Fatal(err)
	}
	c := oauth2.Config{ClientID: "raygate", Endpoint: provider.Endpoint(), RedirectURL: "http://127.0.0.1:2/callback", Scopes: []string{oidc.ScopeOpenID, oidc.ScopeOfflineAccess}}
	c.Endpoint.AuthStyle = oauth2.AuthStyleInParams
	proof := oauth2.GenerateVerifier()
	back := p.LogIn(t, browser, c.AuthCodeURL("state", oauth2.S256ChallengeOption(proof), oidc.Nonce("nonce")), "ada")
	token, err := c.Exchange(ctx, back.Query().Get("code"), oauth2.VerifierOption(proof))
	if err != nil {
		t.Fatal(err)
	}
	text, _ := token.Extra("id_token").(string)
	id, err := provider.Verifier(&oidc.Config{ClientID: "raygate"}).Verify(ctx, text)
	if err != nil {
		t.Fatal(err)
	}
	var claims struct {
		Email, Sid string
		Groups     []string
	}
	if err := id.Claims(&claims); err != nil || claims.Email != "ada@example.com" || len(claims.Groups) != 1 || claims.Sid == "" || id.Nonce != "nonce" {
		t.Errorf("claims %+v, nonce %q, error %v", claims, id.Nonce, err)
	}
	if _, err := c.Exchange(ctx, back.Query().Get("code"), oauth2.VerifierOption(proof)); err == nil {
		t.Error("a code was good for two answers")
	}
	renewed, err := c.TokenSource(ctx, &oauth2.Token{RefreshToken: token.RefreshToken}).Token()
	if err != nil {
		t.Fatal(err)
	}
	p.Control(t, "end", url.Values{"user": {"ada"}})
	if _, err := c.TokenSource(ctx, &oauth2.Token{RefreshToken: renewed.RefreshToken}).Token(); err == nil {
		t.Error("a refresh token was accepted after the end of its session")
	}
	p.Control(t, "away", url.Values{"on": {"true"}})
	if resp, err := p.Client(t).Get(p.URL + "/keys"); err != nil || resp.StatusCode != http.StatusBadGateway {
		t.Errorf("while the provider is away: %v, %v", resp, err)
	}
}
