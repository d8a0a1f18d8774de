package login

import (
	"encoding/base64"
	"errors"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"k8s.io/apiserver/pkg/apis/apiserver"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/raygate/raygate/apiserver/internal/authn/issuers"
	"github.com/raygate/raygate/apiserver/internal/rpcstatus"
	"github.com/raygate/raygate/internal/testing/oidcprovider"
)

func write(t *testing.T, name, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

func trusted(t *testing.T, p *oidcprovider.Provider, others ...*oidcprovider.Provider) *apiserver.AuthenticationConfiguration {
	t.Helper()
	c, err := issuers.Load(write(t, "authentication.yaml", p.Config(others...)))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// start returns logins at the providers, and the clock that they use.
func start(t *testing.T, p *oidcprovider.Provider, others ...*oidcprovider.Provider) (*Login, *clocktesting.FakeClock) {
	t.Helper()
	text := "redirectURL: https://ray.example.com/oauth2/callback\nproviders:\n"
	for _, each := range append(others, p) {
		text += "- {issuerURL: '" + each.URL + "', clientID: raygate}\n"
	}
	c, err := Load(write(t, "login.yaml", text), trusted(t, p, others...))
	if err != nil {
		t.Fatal(err)
	}
	clock := clocktesting.NewFakeClock(time.Now())
	l, err := New(c, nil, clock)
	if err != nil {
		t.Fatal(err)
	}
	return l, clock
}

// visit begins a login and lets the provider confirm it.
func visit(t *testing.T, l *Login, p *oidcprovider.Provider) (sealed string, answer url.Values) {
	t.Helper()
	address, sealed, err := l.Begin(p.URL, "/ui/jobs")
	if err != nil {
		t.Fatal(err)
	}
	return sealed, p.Confirm(address)
}

func logIn(t *testing.T, l *Login, p *oidcprovider.Provider) *Finished {
	t.Helper()
	sealed, answer := visit(t, l, p)
	done, err := l.Finish(t.Context(), sealed, answer)
	if err != nil {
		t.Fatal(err)
	}
	return done
}

func wantReason(t *testing.T, err error, code codes.Code, reason string) {
	t.Helper()
	known, ok := errors.AsType[*rpcstatus.Error](err)
	if !ok || known.Code != code || known.Reason != reason {
		t.Errorf("error %v, want %s %s", err, code, reason)
	}
}

func TestLogin(t *testing.T) {
	p := oidcprovider.New(t)
	l, _ := start(t, p)
	done := logIn(t, l, p)
	if done.Next != "/ui/jobs" || done.Token == "" || strings.Contains(done.Session, done.Token) {
		t.Errorf("the login leads to %q", done.Next)
	}
	token, renewed, err := l.Resume(t.Context(), done.Session)
	if token != done.Token || renewed != "" || err != nil {
		t.Errorf("the session has another token, %q, or error %v", renewed, err)
	}
	for _, next := range []string{"", "https://evil.example", "//evil.example", "/ui//evil.example", `/ui/\evil.example`, "/apis/v2/clusters"} {
		_, sealed, err := l.Begin(p.URL, next)
		var r request
		if err != nil || l.box.Open(sealed, forRequest, &r) != nil || r.Next != "/ui/" {
			t.Errorf("%q leads to %q, error %v", next, r.Next, err)
		}
	}
	if _, _, err := l.Begin("https://evil.example", ""); err == nil {
		t.Error("a login begins at an unknown provider")
	}
}

// Every answer that is not the one to this request of this browser is refused, and so is every token that is not for this login.
func TestAttacksOnLogin(t *testing.T) {
	p, stranger := oidcprovider.New(t), oidcprovider.New(t)
	l, clock := start(t, p)
	t.Run("answers", func(t *testing.T) {
		sealed, answer := visit(t, l, p)
		other, _ := visit(t, l, p)
		with := func(name, value string) url.Values {
			changed := url.Values{}
			maps.Copy(changed, answer)
			changed.Set(name, value)
			return changed
		}
		for name, tc := range map[string]struct {
			sealed string
			answer url.Values
		}{
			"wrong state": {sealed, with("state", "guessed")}, "no state": {sealed, with("state", "")}, "of another login": {other, answer}, "no request": {"", answer},
			"a forged request": {strings.Repeat("A", len(sealed)), answer}, "a session as request": {logIn(t, l, p).Session, answer},
			"from another issuer": {sealed, with("iss", stranger.URL)}, "a refusal": {sealed, with("error", "access_denied")}, "a guessed code": {sealed, with("code", "guessed")},
		} {
			if done, err := l.Finish(t.Context(), tc.sealed, tc.answer); done != nil || err == nil {
				t.Errorf("%s: error %v", name, err)
			}
		}
		if _, err := l.Finish(t.Context(), sealed, answer); err != nil {
			t.Errorf("the right answer: %v", err)
		}
		_, err := l.Finish(t.Context(), sealed, answer)
		wantReason(t, err, codes.Unauthenticated, "LOGIN_REFUSED") // a replayed code
		clock.Step(RequestLife)
		if _, err := l.Finish(t.Context(), sealed, answer); err == nil {
			t.Error("an expired request is accepted")
		}
	})
	now := clock.Now()
	for name, claims := range map[string]map[string]any{
		"wrong nonce": {"nonce": "other"}, "no nonce": {"nonce": nil}, "wrong audience": {"aud": "other"}, "wrong issuer": {"iss": stranger.URL},
		"expired": {"exp": now.Add(-time.Minute).Unix()}, "of the future": {"nbf": now.Add(time.Hour).Unix()},
	} {
		t.Run(name, func(t *testing.T) {
			p.Override(claims)
			defer p.Override(nil)
			refused(t, l, p)
		})
	}
	for name, sign := range map[string]func(map[string]any) string{
		"alg none": func(claims map[string]any) string {
			b := base64.RawURLEncoding
			return b.EncodeToString([]byte(`{"alg":"none"}`)) + "." + b.EncodeToString(p.Claims(t, claims)) + "."
		},
		"signed by another": func(claims map[string]any) string {
			claims["iss"] = p.URL
			return stranger.Token(t, claims)
		},
	} {
		t.Run(name, func(t *testing.T) {
			p.SignBy(sign)
			defer p.SignBy(nil)
			refused(t, l, p)
		})
	}
}

// At the login the clock of a provider may be ahead by one minute, as for each request. A token that has expired is refused at once.
func TestClockSkewAtLogin(t *testing.T) {
	p := oidcprovider.New(t)
	l, clock := start(t, p)
	clock.SetTime(clock.Now().Truncate(time.Second)) // times in tokens are whole seconds
	in := func(d time.Duration) int64 { return clock.Now().Add(d).Unix() }
	for name, tc := range map[string]struct {
		inside, outside map[string]any
	}{
		"not before": {map[string]any{"nbf": in(time.Minute)}, map[string]any{"nbf": in(time.Minute + time.Second)}},
		"expired":    {map[string]any{"exp": in(0)}, map[string]any{"exp": in(-time.Second)}},
	} {
		t.Run(name, func(t *testing.T) {
			defer p.Override(nil)
			p.Override(tc.inside)
			logIn(t, l, p)
			p.Override(tc.outside)
			if why := refused(t, l, p); tc.outside["nbf"] != nil && !strings.Contains(why, "the clocks of the identity provider and of the gateway differ") {
				t.Errorf("refused with: %s", why)
			}
		})
	}
}

// refused requires that a login is refused, and returns the reason.
func refused(t *testing.T, l *Login, p *oidcprovider.Provider) string {
	t.Helper()
	sealed, answer := visit(t, l, p)
	done, err := l.Finish(t.Context(), sealed, answer)
	if done != nil {
		t.Fatal("the token is accepted")
	}
	wantReason(t, err, codes.Unauthenticated, "LOGIN_REFUSED")
	if strings.Contains(err.Error(), "eyJ") {
		t.Errorf("the error has a token: %v", err)
	}
	return err.Error()
}

func TestRenewal(t *testing.T) {
	p := oidcprovider.New(t)
	l, clock := start(t, p)
	done := logIn(t, l, p)
	clock.Step(defaultInterval - time.Second)
	if _, renewed, err := l.Resume(t.Context(), done.Session); renewed != "" || err != nil {
		t.Errorf("renewed before its time: error %v", err)
	}
	clock.Step(2 * time.Second)
	p.Rotate(t)
	_, renewed, err := l.Resume(t.Context(), done.Session)
	if renewed == "" || err != nil {
		t.Fatalf("not renewed: %v", err)
	}
	// A request that was sent with the old cookie shares the outcome: the refresh token is used up.
	if _, again, err := l.Resume(t.Context(), done.Session); again == "" || err != nil {
		t.Errorf("a late request: error %v", err)
	}
	clock.Step(defaultInterval)
	p.SetAway(true)
	if token, _, err := l.Resume(t.Context(), renewed); token == "" || err != nil {
		t.Errorf("while the provider is away and the token is valid: %v", err)
	}
	if lasts := l.Lasts(renewed); lasts != 0 {
		t.Errorf("an overdue session lasts %s", lasts)
	}
	clock.Step(time.Hour)
	_, _, err = l.Resume(t.Context(), renewed)
	wantReason(t, err, codes.Unavailable, "PROVIDER_AWAY")
	p.SetAway(false)
	clock.Step(retryAfter + time.Second)
	p.Override(map[string]any{"iat": clock.Now().Unix(), "exp": clock.Now().Add(time.Hour).Unix()})
	if _, again, err := l.Resume(t.Context(), renewed); again == "" || err != nil {
		t.Errorf("once the provider is back: %v", err)
	}
}

// A refusal of the provider ends the session, although its ID token has not expired.
func TestProviderEndsSession(t *testing.T) {
	p := oidcprovider.New(t)
	l, clock := start(t, p)
	first, second := logIn(t, l, p), logIn(t, l, p) // each renewal of this provider makes the refresh tokens before invalid
	clock.Step(defaultInterval + otherReplica)
	if _, renewed, err := l.Resume(t.Context(), first.Session); renewed == "" || err != nil {
		t.Fatalf("not renewed: %v", err)
	}
	l.renewals.Remove(l.renewals.Keys()[0])
	_, _, err := l.Resume(t.Context(), second.Session)
	if !HasEnded(err) {
		t.Errorf("after a refusal: %v", err)
	}
	if _, _, err := l.Resume(t.Context(), "A"); !HasEnded(err) {
		t.Errorf("a forged session: %v", err)
	}
}

func TestAnotherSubject(t *testing.T) {
	p := oidcprovider.New(t)
	l, clock := start(t, p)
	done := logIn(t, l, p)
	clock.Step(defaultInterval + otherReplica)
	p.Override(map[string]any{"sub": "2"})
	if _, _, err := l.Resume(t.Context(), done.Session); !HasEnded(err) {
		t.Errorf("a renewal for another subject: %v", err)
	}
}

func TestLoadNamesMistakes(t *testing.T) {
	p := oidcprovider.New(t)
	const redirect = "redirectURL: https://ray.example.com/oauth2/callback\n"
	provider := "issuerURL: '" + p.URL + "', clientID: raygate"
	for text, want := range map[string]string{
		"a: 1":   `unknown field "a"`,
		redirect: "providers: list at least one",
		"providers: [{" + provider + "}]\nredirectURL: https://ray.example.com/":                        "redirectURL",
		"providers: [{" + provider + "}]\nredirectURL: http://ray.example.com/oauth2/callback":          "must begin with https://",
		redirect + "providers: [{issuerURL: 'https://other', clientID: raygate}]":                       "providers[0].issuerURL: https://other is not an issuer",
		redirect + "providers: [{issuerURL: '" + p.URL + "', clientID: other}]":                         "providers[0].clientID: other is not an audience",
		redirect + "providers: [{" + provider + ", scopes: [email]}]":                                   "providers[0].scopes: add openid",
		redirect + "providers: [{" + provider + ", clientSecretFile: /missing}]":                        "providers[0].clientSecretFile",
		redirect + "providers: [{" + provider + "}, {" + provider + "}]":                                "providers[1].issuerURL: ",
		redirect + "providers: [{name: x}]":                                                             "issuerURL and clientID are required",
		redirect + "checkInterval: 1s\nproviders: [{" + provider + "}]":                                 "checkInterval: 1s",
		redirect + "providers: [{" + provider + ", clientSecretFile: " + write(t, "empty", "\n") + "}]": "empty",
	} {
		_, err := Load(write(t, "login.yaml", text), trusted(t, p))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}
