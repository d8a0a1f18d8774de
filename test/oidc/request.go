package main

import (
	"time"

	"github.com/zitadel/oidc/v3/pkg/oidc"
)

// session is one login of a user in a browser at this provider, or on a device.
type session struct {
	id, user string
	at       time.Time
}

// request is a request for a code. It implements op.AuthRequest.
type request struct {
	*oidc.AuthRequest
	id      string
	session *session // nil until the user has logged in
}

func (r *request) GetID() string                      { return r.id }
func (r *request) GetACR() string                     { return "" }
func (r *request) GetAMR() []string                   { return []string{"pwd"} }
func (r *request) GetAudience() []string              { return []string{r.ClientID} }
func (r *request) GetAuthTime() time.Time             { return r.session.at }
func (r *request) GetClientID() string                { return r.ClientID }
func (r *request) GetNonce() string                   { return r.Nonce }
func (r *request) GetRedirectURI() string             { return r.RedirectURI }
func (r *request) GetResponseType() oidc.ResponseType { return r.ResponseType }
func (r *request) GetResponseMode() oidc.ResponseMode { return r.ResponseMode }
func (r *request) GetScopes() []string                { return r.Scopes }
func (r *request) GetState() string                   { return r.State }
func (r *request) GetSubject() string                 { return r.session.user }
func (r *request) Done() bool                         { return r.session != nil }

func (r *request) GetCodeChallenge() *oidc.CodeChallenge {
	if r.CodeChallenge == "" {
		return nil
	}
	return &oidc.CodeChallenge{Challenge: r.CodeChallenge, Method: r.CodeChallengeMethod}
}

// grant has the rights of a refresh token. It implements op.RefreshTokenRequest.
type grant struct {
	session  *session
	clientID string
	scopes   []string
}

func (g *grant) GetAMR() []string                { return []string{"pwd"} }
func (g *grant) GetAudience() []string           { return []string{g.clientID} }
func (g *grant) GetAuthTime() time.Time          { return g.session.at }
func (g *grant) GetClientID() string             { return g.clientID }
func (g *grant) GetScopes() []string             { return g.scopes }
func (g *grant) GetSubject() string              { return g.session.user }
func (g *grant) SetCurrentScopes(allow []string) { g.scopes = allow }
