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
	"time"

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
	// callers has the account with its token, under the key "".
	callers *Verdicts[*Caller]
}

// NewAccount returns the Identifier of callers who act as a ServiceAccount. A nil request is for the mode impersonate, which needs no token. A nil
// clock means the real one.
func NewAccount(namespace, name string, request TokenRequest, c clock.PassiveClock) Identifier {
	c = cmp.Or[clock.PassiveClock](c, clock.RealClock{})
	a := &account{request: request, clock: c, callers: NewVerdicts[*Caller](c), info: user.DefaultInfo{
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
	if caller, _, ok := a.callers.Known(""); ok {
		return Identity{Caller: caller}
	}
	if old, ok := a.callers.Old(""); ok {
		go func() { _, _ = a.wait(context.Background()) }()
		return Identity{Caller: old}
	}
	return Identity{Lookup: a.wait}
}

// wait requests a token once for all callers that wait for it.
func (a *account) wait(ctx context.Context) (*Caller, error) { return a.callers.Get(ctx, "", a.ask) }

// ask requests a token, which is fresh until the time to replace it.
func (a *account) ask(ctx context.Context) (Answer[*Caller], error) {
	answer, err := a.request(ctx, &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: new(int64(accountTokenLife))}})
	if err != nil {
		return Answer[*Caller]{}, err
	}
	left := answer.Status.ExpirationTimestamp.Sub(a.clock.Now())
	fresh := max(left-accountTokenSpare, left/2)
	return Answer[*Caller]{Value: NewCaller(a.info, answer.Status.Token), Fresh: fresh, Stale: max(left-accountTokenEnd, left/2) - fresh}, nil
}
