package authn

import (
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apiserver/pkg/authentication/authenticator"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/utils/clock"
)

// How long an identity is used. Permissions are checked more often (package authz), and the API server authenticates each write itself.
const (
	identityFresh = 30 * time.Second
	identityStale = 5 * time.Minute
	refusedFresh  = 5 * time.Second
	// maxTokenLength is the longest bearer token that is accepted, in bytes.
	maxTokenLength = 16 << 10
)

// Identifier identifies the sender of a request by its headers and its connection alone. Of r only Header, TLS, RemoteAddr and the path of URL are
// set; for gRPC the path is the full method name.
type Identifier func(r *http.Request) Identity

// Identity is the result of an Identifier, which does not wait for anybody.
type Identity struct {
	// Caller is nil if it has to be looked up first.
	Caller *Caller
	// Err rejects the request: ErrNoCredentials, ErrBadCredentials, ErrBadSecret, ErrNoIdentity, or an error of the API server.
	Err error
	// Stale is the caller by an outdated answer of the API server, for use while the API server is unreachable. Nil if there is none.
	Stale *Caller
	// Lookup waits for the caller. It is nil if Caller or Err is set.
	Lookup func(ctx context.Context) (*Caller, error)
	// Remote reports that Lookup sends the credentials to the API server.
	Remote bool
}

// NewAnyone returns the Identifier of the mode none: every caller is the process itself.
func NewAnyone() Identifier {
	caller := NewCaller(user.DefaultInfo{Name: "raygate-apiserver"}, "")
	return func(*http.Request) Identity { return Identity{Caller: caller} }
}

// SelfReview returns the API server's answer about the context's caller: a SelfSubjectReview.
type SelfReview func(ctx context.Context) (*authenticationv1.SelfSubjectReview, error)

// tokens identifies callers by their bearer tokens.
type tokens struct {
	review   SelfReview
	verdicts *Verdicts[*Caller]
	clock    clock.PassiveClock
}

// NewTokens returns the Identifier of the mode passthrough, which calls review. A nil clock means the real one.
func NewTokens(review SelfReview, c clock.PassiveClock) Identifier {
	c = cmp.Or[clock.PassiveClock](c, clock.RealClock{})
	return (&tokens{review: review, verdicts: NewVerdicts[*Caller](c), clock: c}).identify
}

func (t *tokens) identify(r *http.Request) Identity {
	shown, err := parseBearer(r.Header.Get("Authorization"))
	if err != nil {
		return Identity{Err: err}
	}
	known, refusal, ok := t.verdicts.Known(shown.key)
	switch {
	case refusal != nil:
		return Identity{Err: refusal}
	case ok:
		return Identity{Caller: known.bearing(shown)}
	}
	id := Identity{Remote: true, Lookup: func(ctx context.Context) (*Caller, error) {
		known, err := t.verdicts.Get(WithCaller(ctx, shown), shown.key, func(ctx context.Context) (Answer[*Caller], error) { return t.ask(ctx, shown) })
		if err != nil {
			return nil, err
		}
		return known.bearing(shown), nil
	}}
	if old, ok := t.verdicts.Old(shown.key); ok {
		id.Stale = old.bearing(shown)
	}
	return id
}

// ask requests the caller of a token, and returns it without the token.
func (t *tokens) ask(ctx context.Context, shown *Caller) (Answer[*Caller], error) {
	answer, err := t.review(ctx)
	switch {
	case apierrors.IsUnauthorized(err), apierrors.IsForbidden(err):
		return Answer[*Caller]{Refusal: err, Fresh: refusedFresh}, nil
	case err != nil:
		return Answer[*Caller]{}, err
	}
	u := answer.Status.UserInfo
	info := user.DefaultInfo{Name: u.Username, UID: u.UID, Groups: u.Groups, Extra: map[string][]string{}}
	for key, values := range u.Extra {
		info.Extra[key] = values
	}
	fresh, stale := t.lives(shown.token)
	return Answer[*Caller]{Value: &Caller{user: info, key: shown.key}, Fresh: fresh, Stale: stale}, nil
}

// UnverifiedClaims reads claims of a JSON Web Token, which anybody may have written. It reports whether the token has claims of that form.
func UnverifiedClaims(token string, into any) bool {
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		return false
	}
	payload, err := base64.RawURLEncoding.DecodeString(parts[1])
	return err == nil && json.Unmarshal(payload, into) == nil
}

// lives returns how long the answer about a token may be used. The expiry in the token can only shorten that time, so it need not be verified.
func (t *tokens) lives(token string) (fresh, stale time.Duration) {
	fresh, stale = identityFresh, identityStale
	var claims struct {
		Expires float64 `json:"exp"`
	}
	if !UnverifiedClaims(token, &claims) || claims.Expires == 0 {
		return fresh, stale
	}
	left := max(0, time.Unix(int64(claims.Expires), 0).Sub(t.clock.Now()))
	fresh = min(fresh, left)
	return fresh, min(stale, left-fresh)
}

// parseBearer reads the value of an Authorization header.
func parseBearer(header string) (*Caller, error) {
	if header == "" {
		return nil, ErrNoCredentials
	}
	scheme, token, ok := strings.Cut(header, " ")
	token = strings.TrimSpace(token)
	if !ok || !strings.EqualFold(scheme, "Bearer") || token == "" || len(token) > maxTokenLength || !isTokenText(token) {
		return nil, ErrBadCredentials
	}
	return bearer(token), nil
}

// isTokenText reports whether text has only visible ASCII: other characters would break the header.
func isTokenText(text string) bool {
	return !strings.ContainsFunc(text, func(c rune) bool { return c <= ' ' || c > '~' })
}

// NewProven returns the Identifier of the mode impersonate: the first authenticator that recognizes the caller decides. They read client
// certificates (request/x509 of k8s.io/apiserver), or the headers of a proxy that has a certificate itself (request/headerrequest).
func NewProven(authenticators ...authenticator.Request) Identifier {
	return func(r *http.Request) Identity {
		if !HasCertificate(r) {
			return Identity{Err: ErrNoIdentity}
		}
		// Verifying a certificate takes longer than an Identifier may.
		return Identity{Lookup: func(ctx context.Context) (*Caller, error) { return authenticate(r.WithContext(ctx), authenticators) }}
	}
}

// HasCertificate reports whether the connection of r has a client certificate, verified or not.
func HasCertificate(r *http.Request) bool { return r.TLS != nil && len(r.TLS.PeerCertificates) > 0 }

func authenticate(r *http.Request, authenticators []authenticator.Request) (*Caller, error) {
	for _, a := range authenticators {
		// A proxy's certificate is not a user's and the other way round, so an error only rules out this authenticator.
		answer, ok, err := a.AuthenticateRequest(r)
		if err != nil || !ok {
			continue
		}
		u := answer.User
		info := user.DefaultInfo{Name: u.GetName(), UID: u.GetUID(), Groups: u.GetGroups(), Extra: u.GetExtra()}
		if slices.Contains(info.Groups, user.SystemPrivilegedGroup) {
			return nil, ErrPrivileged
		}
		return NewCaller(info, ""), nil
	}
	return nil, ErrNoIdentity
}
