package authn

import (
	"cmp"
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"net/http"
	"path"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/sync/singleflight"
	authenticationv1 "k8s.io/api/authentication/v1"
	"k8s.io/apiserver/pkg/authentication/serviceaccount"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/utils/clock"
)

// ByPath identifies the callers of paths with one of the prefixes by those, and all other callers by others.
func ByPath(prefixes []string, those, others Identifier) Identifier {
	return func(r *http.Request) Identity {
		if r.URL != nil {
			requested := path.Clean(r.URL.Path)
			if slices.ContainsFunc(prefixes, func(prefix string) bool { return strings.HasPrefix(requested, prefix) }) {
				return those(r)
			}
		}
		return others(r)
	}
}

// NewSecret returns the Identifier of callers who share a secret, which they send as the bare value of the Authorization header or as a bearer token.
// They are identified by as.
func NewSecret(secret string, as Identifier) Identifier {
	want := sha256.Sum256([]byte(secret))
	return func(r *http.Request) Identity {
		header := strings.TrimSpace(r.Header.Get("Authorization"))
		if header == "" {
			return Identity{Err: ErrNoCredentials}
		}
		if scheme, token, ok := strings.Cut(header, " "); ok && strings.EqualFold(scheme, "Bearer") {
			header = strings.TrimSpace(token)
		}
		if sum := sha256.Sum256([]byte(header)); subtle.ConstantTimeCompare(sum[:], want[:]) != 1 {
			return Identity{Err: ErrBadSecret}
		}
		return as(r)
	}
}

const (
	// accountTokenLife is the lifetime of requested tokens in seconds, and accountTokenSpare how long before its end one is replaced.
	accountTokenLife  = 3600
	accountTokenSpare = 10 * time.Minute
	// accountTokenEnd is the time before its expiry at which a token is no longer used, so that it is valid until the end of a call.
	accountTokenEnd = 30 * time.Second
)

// TokenRequest requests a token of the ServiceAccount from Kubernetes, with the gateway's own credentials.
type TokenRequest func(ctx context.Context, request *authenticationv1.TokenRequest) (*authenticationv1.TokenRequest, error)

// account identifies every caller as one ServiceAccount, and acts with its permissions.
type account struct {
	info    user.DefaultInfo
	request TokenRequest
	clock   clock.PassiveClock
	held    atomic.Pointer[accountToken]
	flight  singleflight.Group
}

// accountToken is a token of the ServiceAccount. It is renewed from renew on, and used until end.
type accountToken struct {
	caller     *Caller
	renew, end time.Time
}

// NewAccount returns the Identifier of callers who act as a ServiceAccount. A nil request is for the mode impersonate, which needs no token. A nil
// clock means the real one.
func NewAccount(namespace, name string, request TokenRequest, c clock.PassiveClock) Identifier {
	c = cmp.Or[clock.PassiveClock](c, clock.RealClock{})
	a := &account{request: request, clock: c, info: user.DefaultInfo{
		Name: serviceaccount.MakeUsername(namespace, name), Groups: append(serviceaccount.MakeGroupNames(namespace), user.AllAuthenticated),
	}}
	if request == nil {
		caller := NewCaller(a.info, "")
		return func(*http.Request) Identity { return Identity{Caller: caller} }
	}
	return a.identify
}

// identify uses a token that is near its end while another one is requested.
func (a *account) identify(*http.Request) Identity {
	t, now := a.held.Load(), a.clock.Now()
	switch {
	case t == nil || !now.Before(t.end):
		return Identity{Lookup: a.wait}
	case !now.Before(t.renew):
		_ = a.ask(context.Background())
	}
	return Identity{Caller: t.caller}
}

// wait requests a token once for all callers that wait for it.
func (a *account) wait(ctx context.Context) (*Caller, error) {
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

// ask requests a token, unless a request is in progress. While the current token is valid, an error delays the next request.
func (a *account) ask(ctx context.Context) <-chan singleflight.Result {
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
