package authn

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	authenticationv1 "k8s.io/api/authentication/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apiserver/pkg/authentication/authenticator"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/client-go/rest"
	clocktesting "k8s.io/utils/clock/testing"
)

func withToken(header string) *http.Request {
	r := &http.Request{Header: http.Header{}}
	if header != "" {
		r.Header.Set("Authorization", header)
	}
	return r
}

func TestParseBearer(t *testing.T) {
	for header, want := range map[string]error{
		"":                       ErrNoCredentials,
		"Bearer abc":             nil,
		"bearer  abc ":           nil,
		"Basic dXNlcjpwYXNz":     ErrBadCredentials,
		"Bearer":                 ErrBadCredentials,
		"Bearer ":                ErrBadCredentials,
		"Bearer a b":             ErrBadCredentials,
		"Bearer a\r\nX-Other: b": ErrBadCredentials,
		"Bearer é":               ErrBadCredentials,
		"Bearer " + strings.Repeat("x", maxTokenLength+1): ErrBadCredentials,
	} {
		c, err := parseBearer(header)
		if !errors.Is(err, want) {
			t.Errorf("parseBearer(%.40q) = %v, want %v", header, err, want)
		}
		if c != nil {
			if text := fmt.Sprintf("%v %+v %#v %s", c, c, c, c); strings.Contains(text, "abc") {
				t.Errorf("printing shows the token: %s", text)
			}
		}
	}
}

// kubernetes knows the users a and b by tokens that begin with their names.
type kubernetes struct {
	asked atomic.Int32
	away  atomic.Bool
}

func (k *kubernetes) review(ctx context.Context) (*authenticationv1.SelfSubjectReview, error) {
	k.asked.Add(1)
	token := CallerFrom(ctx).token
	switch {
	case k.away.Load():
		return nil, errors.New("away")
	case !strings.HasPrefix(token, "a") && !strings.HasPrefix(token, "b"):
		return nil, apierrors.NewUnauthorized("unknown")
	}
	return &authenticationv1.SelfSubjectReview{Status: authenticationv1.SelfSubjectReviewStatus{UserInfo: authenticationv1.UserInfo{Username: token[:1], Groups: []string{"g"}}}}, nil
}

func TestTokens(t *testing.T) {
	now := clocktesting.NewFakePassiveClock(time.Now())
	k := &kubernetes{}
	tokens := NewTokens(k.review, now)
	step := func(what, token, wantName string, wantAsked int32) {
		t.Helper()
		c, err := identified(t.Context(), tokens, withToken("Bearer "+token))
		if wantName == "" && !apierrors.IsUnauthorized(err) || wantName != "" && (err != nil || c.Name() != wantName || c.token != token) {
			t.Errorf("%s: %v, %v; want %q", what, c, err, wantName)
		}
		if got := k.asked.Load(); got != wantAsked {
			t.Errorf("%s: asked %d times so far, want %d", what, got, wantAsked)
		}
	}
	if c, err := known(tokens, withToken("Bearer a1")); c != nil || err != nil {
		t.Errorf("a token never seen is %v, %v without asking", c, err)
	}
	step("first", "a1", "a", 1)
	if c, err := known(tokens, withToken("Bearer a1")); err != nil || c.Name() != "a" {
		t.Errorf("a token seen is %v, %v without asking", c, err)
	}
	step("again", "a1", "a", 1)
	step("another token", "a2", "a", 2)
	step("no token", "x", "", 3)
	step("no token again", "x", "", 3)
	if _, err := known(tokens, withToken("Bearer x")); !apierrors.IsUnauthorized(err) {
		t.Errorf("a refused token is %v without asking", err)
	}
	now.SetTime(now.Now().Add(identityFresh + time.Second))
	k.away.Store(true)
	step("away", "a1", "a", 4)
	now.SetTime(now.Now().Add(identityStale))
	if _, err := identified(t.Context(), tokens, withToken("Bearer a1")); err == nil {
		t.Error("an identity stands for ever while the API server is away")
	}
}

// An identity ends with the token that proved it, also while the API server is away.
func TestIdentityEndsWithItsToken(t *testing.T) {
	now := clocktesting.NewFakePassiveClock(time.Now())
	k := &kubernetes{}
	tokens := NewTokens(k.review, now)
	claims := base64.RawURLEncoding.EncodeToString(fmt.Appendf(nil, `{"exp":%d}`, now.Now().Add(10*time.Second).Unix()))
	jwt := withToken("Bearer a." + claims + ".sig")
	if _, err := identified(t.Context(), tokens, jwt); err != nil {
		t.Fatal(err)
	}
	k.away.Store(true)
	now.SetTime(now.Now().Add(11 * time.Second))
	if c, err := identified(t.Context(), tokens, jwt); err == nil {
		t.Errorf("the token has expired and is still %v", c)
	}
}

func TestVerdictsAreAskedForOnceAndBounded(t *testing.T) {
	release, asked := make(chan struct{}), atomic.Int32{}
	v := NewVerdicts[int](nil)
	var wg sync.WaitGroup
	for range 50 {
		wg.Go(func() {
			if _, err := v.Get(t.Context(), "k", func(context.Context) (Answer[int], error) {
				asked.Add(1)
				<-release
				return Answer[int]{Value: 1, Fresh: time.Minute}, nil
			}); err != nil {
				t.Error(err)
			}
		})
	}
	time.Sleep(20 * time.Millisecond)
	close(release)
	wg.Wait()
	if got := asked.Load(); got > 2 {
		t.Errorf("asked %d times for one verdict", got)
	}
	// Made-up tokens do not push out a real one.
	for i := range maxVerdicts + 100 {
		v.keep(fmt.Sprint(i), Answer[int]{Refusal: errors.New("no"), Fresh: time.Minute})
	}
	if _, _, ok := v.Known("k"); !ok {
		t.Error("refusals pushed out a caller")
	}
	if n := len(v.no.Keys()); n > maxVerdicts {
		t.Errorf("%d refusals kept, want at most %d", n, maxVerdicts)
	}
}

func TestCallerConfig(t *testing.T) {
	var got http.Header
	answer, status := "{}", http.StatusOK
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got = r.Header
		w.WriteHeader(status)
		_, _ = io.WriteString(w, answer)
	}))
	defer server.Close()
	base := &rest.Config{Host: server.URL, BearerToken: "own", QPS: -1}
	send := func(config *rest.Config, caller *Caller) (string, error) {
		client, err := rest.HTTPClientFor(config)
		if err != nil {
			t.Fatal(err)
		}
		ctx := t.Context()
		if caller != nil {
			ctx = WithCaller(ctx, caller)
		}
		r, _ := http.NewRequestWithContext(ctx, "GET", server.URL, nil)
		resp, err := client.Do(r)
		if err != nil {
			return "", err
		}
		defer resp.Body.Close()
		body, _ := io.ReadAll(resp.Body)
		return string(body), nil
	}
	ada := NewCaller(user.DefaultInfo{Name: "ada", UID: "u1", Groups: []string{"g1", "g2"}, Extra: map[string][]string{"example.org/team": {"x"}}}, "")

	if _, err := send(CallerConfig(base, Passthrough), NewCaller(user.DefaultInfo{Name: "ada"}, "hers")); err != nil || got.Get("Authorization") != "Bearer hers" {
		t.Errorf("passthrough sends %q, %v", got.Get("Authorization"), err)
	}
	for _, mode := range []Mode{Passthrough, Impersonate} {
		if _, err := send(CallerConfig(base, mode), nil); err == nil {
			t.Errorf("%s sends a request of nobody", mode)
		}
	}
	if _, err := send(CallerConfig(base, Impersonate), ada); err != nil {
		t.Fatal(err)
	}
	want := http.Header{
		"Authorization": {"Bearer own"}, "Impersonate-User": {"ada"}, "Impersonate-Uid": {"u1"}, "Impersonate-Group": {"g1", "g2"},
		"Impersonate-Extra-Example.org%2fteam": {"x"},
	}
	for _, other := range []string{"Accept-Encoding", "User-Agent"} {
		got.Del(other)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("impersonate sends (-want +got):\n%s", diff)
	}

	// What Kubernetes refuses the gateway is not what it refuses the caller.
	for name, tc := range map[string]struct {
		config  *rest.Config
		status  int
		answer  string
		wantOwn bool
	}{
		"own, 403":                {OwnConfig(base, Passthrough), 403, `forbidden`, true},
		"own, 401":                {OwnConfig(base, Passthrough), 401, `who?`, true},
		"own, 404":                {OwnConfig(base, Passthrough), 404, `no such thing`, false},
		"everybody is the owner":  {OwnConfig(base, None), 403, `forbidden`, false},
		"impersonated, 403":       {CallerConfig(base, Impersonate), 403, `User "ada" cannot get resource "rayclusters"`, false},
		"impersonating, 403":      {CallerConfig(base, Impersonate), 403, `User "gateway" cannot impersonate resource "users"`, true},
		"impersonating, 401":      {CallerConfig(base, Impersonate), 401, `who?`, true},
		"passthrough, caller 403": {CallerConfig(base, Passthrough), 403, `forbidden`, false},
	} {
		t.Run(name, func(t *testing.T) {
			status, answer = tc.status, tc.answer
			body, err := send(tc.config, NewCaller(user.DefaultInfo{Name: "ada"}, "hers"))
			if errors.Is(err, ErrOwnCredentials) != tc.wantOwn || !tc.wantOwn && body != tc.answer {
				t.Errorf("got %q, %v", body, err)
			}
		})
	}
}

func TestProven(t *testing.T) {
	certified := &http.Request{Header: http.Header{}, TLS: &tls.ConnectionState{PeerCertificates: []*x509.Certificate{{}}}}
	by := func(groups ...string) Identifier {
		no := authenticator.RequestFunc(func(*http.Request) (*authenticator.Response, bool, error) {
			return nil, false, errors.New("another CA")
		})
		yes := authenticator.RequestFunc(func(*http.Request) (*authenticator.Response, bool, error) {
			return &authenticator.Response{User: &user.DefaultInfo{Name: "ada", Groups: groups}}, true, nil
		})
		return NewProven(no, yes)
	}
	if c, err := identified(t.Context(), by("g"), certified); err != nil || c.Name() != "ada" {
		t.Errorf("a certificate gives %v, %v", c, err)
	}
	if _, err := identified(t.Context(), by("g"), withToken("Bearer a")); !errors.Is(err, ErrNoIdentity) {
		t.Errorf("no certificate gives %v", err)
	}
	if _, err := identified(t.Context(), by("g", "system:masters"), certified); !errors.Is(err, ErrPrivileged) {
		t.Errorf("a member of system:masters gives %v", err)
	}
	if _, err := identified(t.Context(), NewProven(), certified); !errors.Is(err, ErrNoIdentity) {
		t.Errorf("a certificate that nobody knows gives %v", err)
	}
}
