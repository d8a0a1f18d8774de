package authn

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"net/http"
	"path"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/sync/singleflight"
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

// Old implements Identifier.
func (b ByPath) Old(r *http.Request) (*Caller, bool) { return b.of(r).Old(r) }

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

// Old implements Identifier.
func (s Secret) Old(r *http.Request) (*Caller, bool) {
	if s.check(r) != nil {
		return nil, true
	}
	return s.as.Old(r)
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
	// accountTokenEnd is how long before its end a token is not used any more, so that a call which begins with it also ends with it.
	accountTokenEnd = 30 * time.Second
)

// TokenRequest asks Kubernetes for a token of the ServiceAccount, with the gateway's own credentials.
type TokenRequest func(ctx context.Context, request *authenticationv1.TokenRequest) (*authenticationv1.TokenRequest, error)

// Account identifies everybody as one ServiceAccount, whose rights are theirs.
type Account struct {
	info    user.DefaultInfo
	request TokenRequest
	clock   clock.PassiveClock
	held    atomic.Pointer[accountToken]
	flight  singleflight.Group
}

// accountToken is what an Account acts with. It is replaced from renew on, and used until end.
type accountToken struct {
	caller     *Caller
	renew, end time.Time
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
		a.held.Store(&accountToken{caller: NewCaller(a.info, "")})
	}
	return a
}

// Known implements Identifier. A token that is near its end is good while another one is asked for.
func (a *Account) Known(*http.Request) (*Caller, error) {
	t, now := a.held.Load(), a.clock.Now()
	switch {
	case a.request == nil:
		return t.caller, nil
	case t == nil || !now.Before(t.end):
		return nil, nil
	case !now.Before(t.renew):
		_ = a.ask(context.Background())
	}
	return t.caller, nil
}

// Old implements Identifier.
func (*Account) Old(*http.Request) (*Caller, bool) { return nil, false }

// Identify implements Identifier. It asks for a token once for all who wait.
func (a *Account) Identify(ctx context.Context, r *http.Request) (*Caller, error) {
	if c, err := a.Known(r); c != nil || err != nil {
		return c, err
	}
	select {
	case <-ctx.Done():
		return nil, ctx.Err()
	case answer := <-a.ask(ctx):
		if answer.Err != nil {
			return nil, answer.Err
		}
		return answer.Val.(*accountToken).caller, nil
	}
}

// ask asks for a token, unless somebody does so already. While there is one that is good, an error puts the next attempt off.
func (a *Account) ask(ctx context.Context) <-chan singleflight.Result {
	return a.flight.DoChan("", func() (any, error) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), askTime)
		defer cancel()
		answer, err := a.request(ctx, &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: new(int64(accountTokenLife))}})
		now := a.clock.Now()
		if err != nil {
			if old := a.held.Load(); old != nil {
				a.held.Store(&accountToken{old.caller, now.Add(awayPause), old.end})
			}
			if ctx.Err() != nil { // the time of the question, and of no caller
				err = errNoAnswer
			}
			return nil, err
		}
		left := answer.Status.ExpirationTimestamp.Sub(now)
		t := &accountToken{NewCaller(a.info, answer.Status.Token), now.Add(max(left-accountTokenSpare, left/2)), now.Add(max(left-accountTokenEnd, left/2))}
		a.held.Store(t)
		return t, nil
	})
}
