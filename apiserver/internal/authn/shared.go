package authn

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"net/http"
	"path"
	"strings"
	"sync"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	"k8s.io/apiserver/pkg/authentication/serviceaccount"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/utils/clock"
)

// ByPath identifies the callers of paths with one of the prefixes in one way, and all others in another.
type ByPath struct {
	Prefixes []string
	// Those are the callers of these paths, Others all others.
	Those, Others Identifier
}

func (b ByPath) of(r *http.Request) Identifier {
	for _, prefix := range b.Prefixes {
		if r.URL != nil && strings.HasPrefix(path.Clean(r.URL.Path), prefix) {
			return b.Those
		}
	}
	return b.Others
}

// Known implements Identifier.
func (b ByPath) Known(r *http.Request) (*Caller, error) { return b.of(r).Known(r) }

// Identify implements Identifier.
func (b ByPath) Identify(ctx context.Context, r *http.Request) (*Caller, error) {
	return b.of(r).Identify(ctx, r)
}

// Secret lets those through to another Identifier who show a secret that they all share: as the bare value of the Authorization header, or as a bearer
// token.
type Secret struct {
	sum [sha256.Size]byte
	as  Identifier
}

// NewSecret returns the Identifier of callers who show the secret.
func NewSecret(secret string, as Identifier) Secret { return Secret{sha256.Sum256([]byte(secret)), as} }

func (s Secret) check(r *http.Request) error {
	header := strings.TrimSpace(r.Header.Get("Authorization"))
	if header == "" {
		return ErrNoCredentials
	}
	if scheme, token, ok := strings.Cut(header, " "); ok && strings.EqualFold(scheme, "Bearer") {
		header = strings.TrimSpace(token)
	}
	if sum := sha256.Sum256([]byte(header)); subtle.ConstantTimeCompare(sum[:], s.sum[:]) != 1 {
		return ErrBadSecret
	}
	return nil
}

// Known implements Identifier.
func (s Secret) Known(r *http.Request) (*Caller, error) {
	if err := s.check(r); err != nil {
		return nil, err
	}
	return s.as.Known(r)
}

// Identify implements Identifier.
func (s Secret) Identify(ctx context.Context, r *http.Request) (*Caller, error) {
	if err := s.check(r); err != nil {
		return nil, err
	}
	return s.as.Identify(ctx, r)
}

const (
	// accountTokenLife is how long the tokens of an Account are asked for, in seconds, and accountTokenSpare how long before its end one is replaced.
	accountTokenLife  = 3600
	accountTokenSpare = 10 * time.Minute
)

// TokenRequest asks Kubernetes for a token of the ServiceAccount, with the gateway's own credentials.
type TokenRequest func(ctx context.Context, request *authenticationv1.TokenRequest) (*authenticationv1.TokenRequest, error)

// Account identifies everybody as one ServiceAccount, whose rights are theirs.
type Account struct {
	info    user.DefaultInfo
	request TokenRequest
	clock   clock.PassiveClock

	mu      sync.Mutex
	caller  *Caller
	renewAt time.Time
}

// NewAccount returns the Identifier. A nil request is for the mode impersonate, in which no token is needed; a nil clock means the real one.
func NewAccount(namespace, name string, request TokenRequest, c clock.PassiveClock) *Account {
	if c == nil {
		c = clock.RealClock{}
	}
	a := &Account{request: request, clock: c, info: user.DefaultInfo{
		Name: serviceaccount.MakeUsername(namespace, name), Groups: append(serviceaccount.MakeGroupNames(namespace), user.AllAuthenticated),
	}}
	if request == nil {
		a.caller = NewCaller(a.info, "")
	}
	return a
}

// Known implements Identifier.
func (a *Account) Known(*http.Request) (*Caller, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.fresh(), nil
}

// fresh returns nil when there is no token that is good for a while.
func (a *Account) fresh() *Caller {
	if a.request != nil && !a.clock.Now().Before(a.renewAt) {
		return nil
	}
	return a.caller
}

// Identify implements Identifier. It asks for a token once for all who wait.
func (a *Account) Identify(ctx context.Context, _ *http.Request) (*Caller, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if c := a.fresh(); c != nil {
		return c, nil
	}
	answer, err := a.request(ctx, &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: new(int64(accountTokenLife))}})
	if err != nil {
		return nil, err
	}
	a.caller = NewCaller(a.info, answer.Status.Token)
	left := answer.Status.ExpirationTimestamp.Sub(a.clock.Now())
	a.renewAt = a.clock.Now().Add(max(left-accountTokenSpare, left/2))
	return a.caller, nil
}
