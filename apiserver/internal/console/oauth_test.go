package console

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/raygate/raygate/apiserver/internal/authn"
	"github.com/raygate/raygate/apiserver/internal/authn/issuers"
	"github.com/raygate/raygate/apiserver/internal/login"
	"github.com/raygate/raygate/internal/testing/oidcprovider"
)

// withProvider returns a console whose users log in at a provider, and the cookies of one who has.
func withProvider(t *testing.T) (*Console, []*http.Cookie) {
	t.Helper()
	p := oidcprovider.New(t)
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
	providers, err := login.New(config, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	c := newConsole(t, authn.Passthrough, nil)
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
	return c, kept(w.Result())
}

// A watch of a session ends when the session has to be renewed, so that none outlives its session.
func TestWatchEndsWithSession(t *testing.T) {
	defer func(before time.Duration) { longestCall = before }(longestCall)
	longestCall = -5 * time.Minute // the default of checkInterval, after which the session is renewed
	c, cookies := withProvider(t)
	r := httptest.NewRequest(http.MethodGet, "/apis/v2/clusters:watch", nil)
	r.Header.Set("Cookie", header(cookies))
	r.Header.Set("Sec-Fetch-Site", sameOrigin)
	watched := false
	c.WithSession(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		watched = strings.HasPrefix(r.Header.Get("Authorization"), "Bearer ey")
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
