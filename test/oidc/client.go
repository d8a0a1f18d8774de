package main

import (
	"time"

	"github.com/zitadel/oidc/v3/pkg/oidc"
	"github.com/zitadel/oidc/v3/pkg/op"
)

// The ids of the clients: that of the gateway's console, and that of programs on people's machines.
const (
	consoleClient = "raygate-console"
	publicClient  = "raygate"
)

// client implements op.Client.
type client struct {
	id        string
	secret    string // empty for a public client
	native    bool   // takes any port of a loopback redirect
	redirects []string
	after     []string // where a logout may lead
	logout    string   // where a logout token is sent; empty for nowhere
	life      time.Duration
}

func (c *client) GetID() string                    { return c.id }
func (c *client) RedirectURIs() []string           { return c.redirects }
func (c *client) PostLogoutRedirectURIs() []string { return c.after }
func (c *client) LoginURL(id string) string        { return "/login?id=" + id }
func (c *client) IDTokenLifetime() time.Duration   { return c.life }
func (c *client) ClockSkew() time.Duration         { return 0 }
func (c *client) DevMode() bool                    { return false }
func (c *client) IsScopeAllowed(scope string) bool { return scope == "groups" }

// IDTokenUserinfoClaimsAssertion has the groups in the ID token.
func (c *client) IDTokenUserinfoClaimsAssertion() bool { return true }

func (c *client) AccessTokenType() op.AccessTokenType { return op.AccessTokenTypeBearer }

func (c *client) ApplicationType() op.ApplicationType {
	if c.native {
		return op.ApplicationTypeNative
	}
	return op.ApplicationTypeWeb
}

func (c *client) AuthMethod() oidc.AuthMethod {
	if c.secret == "" {
		return oidc.AuthMethodNone // which requires a proof key (PKCE)
	}
	return oidc.AuthMethodBasic
}

func (c *client) ResponseTypes() []oidc.ResponseType {
	return []oidc.ResponseType{oidc.ResponseTypeCode}
}

func (c *client) GrantTypes() []oidc.GrantType {
	return []oidc.GrantType{oidc.GrantTypeCode, oidc.GrantTypeRefreshToken, oidc.GrantTypeDeviceCode}
}

func allScopes(scopes []string) []string { return scopes }

func (c *client) RestrictAdditionalIdTokenScopes() func([]string) []string     { return allScopes }
func (c *client) RestrictAdditionalAccessTokenScopes() func([]string) []string { return allScopes }
