package authn

import (
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

// How long an identity stands. A right is looked at more often (package authz), and a write is authenticated by the API server itself.
const (
	identityFresh = 30 * time.Second
	identityStale = 5 * time.Minute
	refusedFresh  = 5 * time.Second
	// maxTokenLength refuses what is certainly no token before it is hashed and sent on.
	maxTokenLength = 16 << 10
)

// Identifier finds out who sends a request, by its header and its connection alone; of r only Header, TLS, RemoteAddr and the path of URL, which by gRPC is
// the method, are set.
type Identifier interface {
	// Known answers without waiting for anybody. Both results are nil when that is not possible.
	Known(r *http.Request) (*Caller, error)
	// Old is the caller by a verdict that is no longer fresh, but stands while nobody can be asked; nil when there is none. asks tells whether Identify
	// asks the API server.
	Old(r *http.Request) (old *Caller, asks bool)
	// Identify may ask the API server. The error is ErrNoCredentials, ErrBadCredentials, ErrNoIdentity, or one of Kubernetes.
	Identify(ctx context.Context, r *http.Request) (*Caller, error)
}

// Anyone identifies everybody as the process itself: the mode none.
type Anyone struct{ caller *Caller }

// NewAnyone returns the Identifier of the mode none.
func NewAnyone() Anyone {
	return Anyone{NewCaller(user.DefaultInfo{Name: "raygate-apiserver"}, "")}
}

// Known implements Identifier.
func (a Anyone) Known(*http.Request) (*Caller, error) { return a.caller, nil }

// Old implements Identifier.
func (a Anyone) Old(*http.Request) (*Caller, bool) { return a.caller, false }

// Identify implements Identifier.
func (a Anyone) Identify(context.Context, *http.Request) (*Caller, error) { return a.caller, nil }

// SelfReview asks the API server who the context's caller is: a SelfSubjectReview.
type SelfReview func(ctx context.Context) (*authenticationv1.SelfSubjectReview, error)

// Tokens identifies callers by their bearer tokens: the mode passthrough.
type Tokens struct {
	review   SelfReview
	verdicts *Verdicts[*Caller]
	clock    clock.PassiveClock
}

// NewTokens returns an Identifier that asks review. A nil clock means the real one.
func NewTokens(review SelfReview, c clock.PassiveClock) *Tokens {
	if c == nil {
		c = clock.RealClock{}
	}
	return &Tokens{review: review, verdicts: NewVerdicts[*Caller](c), clock: c}
}

// Known implements Identifier.
func (t *Tokens) Known(r *http.Request) (*Caller, error) {
	shown, err := parseBearer(r.Header.Get("Authorization"))
	if err != nil {
		return nil, err
	}
	known, refusal, ok := t.verdicts.Known(shown.key)
	if !ok || refusal != nil {
		return nil, refusal
	}
	return known.bearing(shown), nil
}

// Old implements Identifier.
func (t *Tokens) Old(r *http.Request) (*Caller, bool) {
	shown, err := parseBearer(r.Header.Get("Authorization"))
	if err != nil {
		return nil, true
	}
	old, ok := t.verdicts.Old(shown.key)
	if !ok {
		return nil, true
	}
	return old.bearing(shown), true
}

// Identify implements Identifier.
func (t *Tokens) Identify(ctx context.Context, r *http.Request) (*Caller, error) {
	shown, err := parseBearer(r.Header.Get("Authorization"))
	if err != nil {
		return nil, err
	}
	known, err := t.verdicts.Get(WithCaller(ctx, shown), shown.key, func(ctx context.Context) (Answer[*Caller], error) {
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
		return Answer[*Caller]{Value: &Caller{user: info, key: shown.key}, Fresh: fresh, Stale: stale}, nil // without the token
	})
	if err != nil {
		return nil, err
	}
	return known.bearing(shown), nil
}

// lives keeps a verdict no longer than the token says of itself that it lives. That it may lie is no matter: it can only shorten the time.
func (t *Tokens) lives(token string) (fresh, stale time.Duration) {
	fresh, stale = identityFresh, identityStale
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		return fresh, stale
	}
	var claims struct {
		Expires float64 `json:"exp"`
	}
	payload, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err != nil || json.Unmarshal(payload, &claims) != nil || claims.Expires == 0 {
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

// isTokenText reports whether text has only visible ASCII: anything else would break the header it is put in.
func isTokenText(text string) bool {
	return !strings.ContainsFunc(text, func(c rune) bool { return c <= ' ' || c > '~' })
}

// Proven identifies callers by what others have proven: the mode impersonate.
type Proven struct {
	// By are asked in this order; those of k8s.io/apiserver read client certificates (request/x509) and the headers of a proxy that shows a
	// certificate itself (request/headerrequest).
	By []authenticator.Request
}

// Known implements Identifier. Certificates are verified in Identify: it takes longer than the caller of Known may wait.
func (p Proven) Known(r *http.Request) (*Caller, error) {
	if r.TLS == nil || len(r.TLS.PeerCertificates) == 0 {
		return nil, ErrNoIdentity
	}
	return nil, nil
}

// Old implements Identifier.
func (Proven) Old(*http.Request) (*Caller, bool) { return nil, false }

// Identify implements Identifier.
func (p Proven) Identify(ctx context.Context, r *http.Request) (*Caller, error) {
	if _, err := p.Known(r); err != nil {
		return nil, err
	}
	for _, a := range p.By {
		// A certificate of a proxy is none of a user and the other way round, so an error only means: not this one.
		answer, ok, err := a.AuthenticateRequest(r.WithContext(ctx))
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
