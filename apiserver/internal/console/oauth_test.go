package console

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/time/rate"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/raygate/raygate/apiserver/internal/authn"
	"github.com/raygate/raygate/apiserver/internal/authn/issuers"
	"github.com/raygate/raygate/apiserver/internal/flowcontrol"
	"github.com/raygate/raygate/apiserver/internal/login"
	"github.com/raygate/raygate/internal/testing/oidcprovider"
)

// withProvider returns a console whose users log in at a provider, the clock of their sessions, and the cookies of one who has logged in.
func withProvider(t *testing.T, p *oidcprovider.Provider) (*Console, *clocktesting.FakeClock, []*http.Cookie) {
	t.Helper()
	write := func(name, text string) string {
		file := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return file
	}
	trusted, err := issuers.Load(write("authentication.yaml", p.Config()))
	if err != nil {
		t.Fatal(err)
	}
	config, err := login.Load(write("login.yaml", "redirectURL: https://ray.example.com/oauth2/callback\nproviders: [{issuerURL: '"+p.URL+"', clientID: raygate}]\n"), trusted)
	if err != nil {
		t.Fatal(err)
	}
	clock := clocktesting.NewFakeClock(time.Now())
	providers, err := login.New(config, nil, clock)
	if err != nil {
		t.Fatal(err)
	}
	known, err := issuers.New(t.Context(), trusted)
	if err != nil {
		t.Fatal(err)
	}
	c := newConsole(t, authn.Passthrough, nil)
	c.FlowControl = flowcontrol.New(flowcontrol.Options{Identifier: authn.NewTokens(authn.ReviewJWT(known, nil), nil), Table: c.FlowControl.Table})
	c.Providers = providers
	address, request, err := providers.Begin(p.URL, "")
	if err != nil {
		t.Fatal(err)
	}
	done, err := providers.Finish(t.Context(), request, p.Confirm(address))
	if err != nil {
		t.Fatal(err)
	}
	w := httptest.NewRecorder()
	setCookies(w, httptest.NewRequest(http.MethodGet, "/", nil), loginCookie, done.Session)
	return c, clock, kept(w.Result())
}

// A watch of a session ends when the session has to be renewed or has ended, so that none outlives its session.
func TestWatchEndsWithSession(t *testing.T) {
	defer func(call, interval time.Duration) { longestCall, endedInterval = call, interval }(longestCall, endedInterval)
	longestCall = -5 * time.Minute // the default of checkInterval, after which the session is renewed
	t.Run("renewal", func(t *testing.T) { watches(t, func(*Console, string) {}) })
	longestCall, endedInterval = time.Minute, time.Millisecond
	t.Run("logout", func(t *testing.T) {
		watches(t, func(c *Console, session string) { c.Providers.End(t.Context(), session) })
	})
	t.Run("front-channel logout", func(t *testing.T) {
		watches(t, func(c *Console, _ string) {
			query := url.Values{"iss": {c.Providers.Choices()[0].Issuer}, "sid": {sid}}
			c.leave(httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, logoutPath+"?"+query.Encode(), nil))
		})
	})
}

// sid is the provider's id of the session in watches.
const sid = "the-session"

// watches sends a watch, during which something happens to its session, and waits for its end.
func watches(t *testing.T, during func(c *Console, session string)) {
	t.Helper()
	p := oidcprovider.New(t)
	p.Override(map[string]any{"sid": sid})
	c, _, cookies := withProvider(t, p)
	r := httptest.NewRequest(http.MethodGet, "/apis/v2/clusters:watch", nil)
	r.Header.Set("Cookie", header(cookies))
	r.Header.Set("Sec-Fetch-Site", sameOrigin)
	watched := false
	_, sealed := takeCookies(r.Clone(t.Context()))
	c.WithSession(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		watched = strings.HasPrefix(r.Header.Get("Authorization"), "Bearer ey")
		during(c, sealed)
		select {
		case <-r.Context().Done():
		case <-time.After(30 * time.Second):
			t.Error("the watch goes on")
		}
	})).ServeHTTP(httptest.NewRecorder(), r)
	if !watched {
		t.Error("the watch has no token")
	}
}

// A renewal whose claims give no user any more ends the session with the reason.
func TestClaimsGiveNoUserAnyMore(t *testing.T) {
	p := oidcprovider.New(t)
	c, clock, cookies := withProvider(t, p)
	ask := func() (*http.Response, string) {
		r := httptest.NewRequest(http.MethodGet, sessionPath, nil)
		r.Header.Set("Cookie", header(cookies))
		r.Header.Set("Sec-Fetch-Site", sameOrigin)
		w := httptest.NewRecorder()
		c.WithSession(c).ServeHTTP(w, r)
		return w.Result(), w.Body.String()
	}
	for end := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) { // until the keys of the provider are known
		if _, body := ask(); strings.Contains(body, "ada@example.com") {
			break
		} else if time.Now().After(end) {
			t.Fatalf("the session: %s", body)
		}
	}
	p.Override(map[string]any{"email_verified": false})
	clock.Step(5 * time.Minute)
	resp, body := ask()
	if !strings.Contains(body, "the address must be verified") || strings.Contains(body, "ada@example.com") || strings.Contains(body, "eyJ") {
		t.Errorf("after the renewal: %s", body)
	}
	last := map[string]string{} // what a browser keeps of several cookies of one name
	for _, cookie := range resp.Cookies() {
		last[cookie.Name] = cookie.Value
	}
	if last[loginCookie+"-0"] != "" {
		t.Error("the browser keeps the session")
	}
}

// Anybody may send these requests, and the gateway asks a provider for each.
func TestLoginsAreLimited(t *testing.T) {
	o := newConsole(t, authn.Passthrough, nil).Options
	o.Providers = &login.Login{}
	c, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	c.asked = rate.NewLimiter(0, 0)
	for _, request := range [][2]string{{http.MethodGet, beginPath}, {http.MethodGet, login.CallbackPath}, {http.MethodPost, logoutPath}, {http.MethodGet, logoutPath}} {
		w := httptest.NewRecorder()
		if c.ServeHTTP(w, httptest.NewRequest(request[0], request[1], nil)); w.Code != http.StatusTooManyRequests {
			t.Errorf("%s: %d %s", request, w.Code, w.Body)
		}
	}
}
