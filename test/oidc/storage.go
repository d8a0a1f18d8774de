package main

import (
	"context"
	"crypto/rand"
	"errors"
	"maps"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/zitadel/oidc/v3/pkg/oidc"
	"github.com/zitadel/oidc/v3/pkg/op"
)

// groups are the users with their groups. A user's password is the user's name.
var groups = map[string][]string{"ada": {"ml-engineers"}, "ben": {"ml-guests"}}

var (
	errUnknown     = errors.New("not known")
	errUnsupported = errors.New("not supported")
)

// storage has everything that the provider knows. It implements op.Storage and op.DeviceAuthorizationStorage.
type storage struct {
	issuer  string
	clients map[string]*client
	life    time.Duration

	mu       sync.Mutex
	key      *key
	sessions map[string]*session // by id, which is also the value of the browser's cookie
	requests map[string]*request // by id
	codes    map[string]string   // code -> id of its request
	grants   map[string]*grant   // by refresh token
	devices  map[string]*device  // by device code
}

func newStorage(o options, issuer string) (*storage, error) {
	console := &client{
		id: consoleClient, life: o.life, redirects: []string{o.console + "/oauth2/callback"}, after: []string{o.console + "/ui/"}, logout: o.console + "/oauth2/logout",
	}
	if o.secret != "" {
		text, err := os.ReadFile(o.secret)
		if err != nil {
			return nil, err
		}
		console.secret = strings.TrimSpace(string(text))
	} else {
		console.native = true // takes no secret, and http for this machine
	}
	s := &storage{
		issuer: issuer, life: o.life, sessions: map[string]*session{}, requests: map[string]*request{}, codes: map[string]string{}, grants: map[string]*grant{}, devices: map[string]*device{},
		clients: map[string]*client{
			consoleClient: console,
			publicClient:  {id: publicClient, life: o.life, native: true, redirects: []string{"http://127.0.0.1/callback"}},
		},
	}
	return s, s.rotate()
}

// logIn begins a session, or returns nil for a wrong password.
func (s *storage) logIn(user, password string) *session {
	if _, ok := groups[user]; !ok || password != user {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	begun := &session{id: rand.Text(), user: user, at: time.Now()}
	s.sessions[begun.id] = begun
	return begun
}

// find returns the session of an id, nil for none.
func (s *storage) find(id string) *session {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.sessions[id]
}

// settle makes a request for a code one of a session, and reports whether there is such a request.
func (s *storage) settle(id string, of *session) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.requests[id]
	if r != nil {
		r.session = of
	}
	return r != nil
}

// CreateAuthRequest implements op.Storage.
func (s *storage) CreateAuthRequest(_ context.Context, r *oidc.AuthRequest, _ string) (op.AuthRequest, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	made := &request{AuthRequest: r, id: rand.Text()}
	s.requests[made.id] = made
	return made, nil
}

// AuthRequestByID implements op.Storage.
func (s *storage) AuthRequestByID(_ context.Context, id string) (op.AuthRequest, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r, ok := s.requests[id]; ok {
		return r, nil
	}
	return nil, errUnknown
}

// AuthRequestByCode implements op.Storage. A code is good for one answer.
func (s *storage) AuthRequestByCode(ctx context.Context, code string) (op.AuthRequest, error) {
	s.mu.Lock()
	id, ok := s.codes[code]
	delete(s.codes, code)
	s.mu.Unlock()
	if !ok {
		return nil, errUnknown
	}
	return s.AuthRequestByID(ctx, id)
}

// SaveAuthCode implements op.Storage.
func (s *storage) SaveAuthCode(_ context.Context, id, code string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.codes[code] = id
	return nil
}

// DeleteAuthRequest implements op.Storage.
func (s *storage) DeleteAuthRequest(_ context.Context, id string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.requests, id)
	return nil
}

// CreateAccessToken implements op.Storage. Nothing takes access tokens.
func (s *storage) CreateAccessToken(context.Context, op.TokenRequest) (string, time.Time, error) {
	return rand.Text(), time.Now().Add(s.life), nil
}

// CreateAccessAndRefreshTokens implements op.Storage. A refresh token is good for one answer.
func (s *storage) CreateAccessAndRefreshTokens(_ context.Context, r op.TokenRequest, old string) (string, string, time.Time, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	made := &grant{session: s.sessionOf(r), scopes: r.GetScopes(), clientID: r.GetAudience()[0]}
	if old != "" && s.grants[old] == nil || made.session == nil {
		return "", "", time.Time{}, oidc.ErrInvalidGrant()
	}
	delete(s.grants, old)
	token := rand.Text()
	s.grants[token] = made
	return rand.Text(), token, time.Now().Add(s.life), nil
}

// sessionOf returns the session of a request for tokens, nil if it has ended. The caller holds mu.
func (s *storage) sessionOf(r op.TokenRequest) *session {
	switch r := r.(type) {
	case *request:
		return s.sessions[r.session.id]
	case *grant:
		return s.sessions[r.session.id]
	}
	for _, d := range s.devices { // tokens for a device
		if d.session != nil && d.session.user == r.GetSubject() {
			return s.sessions[d.session.id]
		}
	}
	return nil
}

// TokenRequestByRefreshToken implements op.Storage.
func (s *storage) TokenRequestByRefreshToken(_ context.Context, token string) (op.RefreshTokenRequest, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if g, ok := s.grants[token]; ok {
		return g, nil
	}
	return nil, op.ErrInvalidRefreshToken
}

// TerminateSession implements op.Storage.
func (s *storage) TerminateSession(ctx context.Context, user, _ string) error {
	return s.end(ctx, func(u *session) bool { return u.user == user }, false)
}

// RevokeToken implements op.Storage.
func (s *storage) RevokeToken(_ context.Context, token, _, _ string) *oidc.Error {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.grants, token)
	return nil
}

// GetRefreshTokenInfo implements op.Storage.
func (s *storage) GetRefreshTokenInfo(_ context.Context, _, token string) (user, id string, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if g, ok := s.grants[token]; ok {
		return g.session.user, token, nil
	}
	return "", "", op.ErrInvalidRefreshToken
}

// GetClientByClientID implements op.Storage.
func (s *storage) GetClientByClientID(_ context.Context, id string) (op.Client, error) {
	if c, ok := s.clients[id]; ok {
		return c, nil
	}
	return nil, errUnknown
}

// AuthorizeClientIDSecret implements op.Storage.
func (s *storage) AuthorizeClientIDSecret(_ context.Context, id, secret string) error {
	if c, ok := s.clients[id]; !ok || c.secret == "" || c.secret != secret {
		return errUnknown
	}
	return nil
}

// SetUserinfoFromScopes implements op.Storage.
func (s *storage) SetUserinfoFromScopes(_ context.Context, to *oidc.UserInfo, user, _ string, _ []string) error {
	describe(to, user)
	return nil
}

// SetUserinfoFromRequest implements op.CanSetUserinfoFromRequest: it adds the id of the session, which back-channel logout names, and an id of the token,
// which Kubernetes turns into extra information about the user.
func (s *storage) SetUserinfoFromRequest(_ context.Context, to *oidc.UserInfo, r op.IDTokenRequest, _ []string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	to.AppendClaims("jti", rand.Text())
	if of := s.sessionOf(r); of != nil {
		to.AppendClaims("sid", of.id)
	}
	return nil
}

// SetUserinfoFromToken implements op.Storage.
func (s *storage) SetUserinfoFromToken(_ context.Context, to *oidc.UserInfo, _, user, _ string) error {
	describe(to, user)
	return nil
}

func describe(to *oidc.UserInfo, user string) {
	to.Subject, to.Name, to.PreferredUsername = user, user, user
	to.Email, to.EmailVerified = user+"@example.com", true
	to.AppendClaims("groups", groups[user])
}

// SetIntrospectionFromToken implements op.Storage.
func (s *storage) SetIntrospectionFromToken(context.Context, *oidc.IntrospectionResponse, string, string, string) error {
	return errUnsupported
}

// GetPrivateClaimsFromScopes implements op.Storage.
func (s *storage) GetPrivateClaimsFromScopes(context.Context, string, string, []string) (map[string]any, error) {
	return nil, nil
}

// GetKeyByIDAndClientID implements op.Storage.
func (s *storage) GetKeyByIDAndClientID(context.Context, string, string) (*jose.JSONWebKey, error) {
	return nil, errUnsupported
}

// ValidateJWTProfileScopes implements op.Storage.
func (s *storage) ValidateJWTProfileScopes(context.Context, string, []string) ([]string, error) {
	return nil, errUnsupported
}

// Health implements op.Storage.
func (s *storage) Health(context.Context) error { return nil }

// end ends sessions with their refresh tokens, and notifies the clients that have such tokens if it is asked to.
func (s *storage) end(ctx context.Context, which func(*session) bool, notify bool) error {
	s.mu.Lock()
	ended := map[*session]map[string]bool{} // with the ids of their clients
	for id, u := range s.sessions {
		if which(u) {
			ended[u] = map[string]bool{}
			delete(s.sessions, id)
		}
	}
	maps.DeleteFunc(s.grants, func(_ string, g *grant) bool {
		if clients, ok := ended[g.session]; ok {
			clients[g.clientID] = true
			return true
		}
		return false
	})
	s.mu.Unlock()
	var errs []error
	for u, clients := range ended {
		for id := range clients {
			if c := s.clients[id]; notify && c.logout != "" {
				errs = append(errs, s.notify(ctx, c, u))
			}
		}
	}
	return errors.Join(errs...)
}
