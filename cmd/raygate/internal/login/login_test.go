package login

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"

	"github.com/raygate/raygate/internal/testing/oidcprovider"
	"github.com/raygate/raygate/internal/testing/programs"
)

// trusting makes the flows trust the provider's certificate.
func trusting(t *testing.T, p *oidcprovider.Provider) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(oidc.ClientContext(t.Context(), p.Client()), time.Minute)
	t.Cleanup(cancel)
	return ctx
}

func newLogin(p *oidcprovider.Provider) *Login {
	return &Login{Issuer: p.URL, ClientID: "raygate", Scopes: DefaultScopes}
}

// open opens a page as a browser does, after changing its address.
func open(t *testing.T, p *oidcprovider.Provider, change func(string) string) func(string) {
	return func(url string) {
		go func() {
			resp, err := p.Client().Get(change(url))
			if err != nil {
				t.Log(err)
				return
			}
			_ = resp.Body.Close()
		}()
	}
}

func same(url string) string { return url }

func TestBrowser(t *testing.T) {
	t.Parallel()
	p := oidcprovider.New(t)
	l := newLogin(p)
	if err := l.Browser(trusting(t, p), 0, open(t, p, same)); err != nil {
		t.Fatal(err)
	}
	if l.Name() != "ada@example.com" || l.RefreshToken == "" || time.Until(l.Expiry) < time.Minute {
		t.Errorf("logged in as %s until %s", l.Name(), l.Expiry)
	}
	for name, tc := range map[string]struct {
		change func(string) string
		claims map[string]any
		want   string
	}{
		"another proof key": {func(url string) string { return strings.Replace(url, "code_challenge=", "code_challenge=x", 1) }, nil, "invalid_grant"},
		"another nonce":     {same, map[string]any{"nonce": "other"}, "another login"},
		"another client":    {same, map[string]any{"aud": "other"}, "checking the token"},
		"an expired token":  {same, map[string]any{"exp": time.Now().Add(-time.Hour).Unix()}, "checking the token"},
	} {
		t.Run(name, func(t *testing.T) {
			p.Override(tc.claims)
			defer p.Override(nil)
			l := newLogin(p)
			err := l.Browser(trusting(t, p), 0, open(t, p, tc.change))
			if err == nil || !strings.Contains(err.Error(), tc.want) || l.IDToken != "" {
				t.Errorf("error %v, want %q", err, tc.want)
			}
		})
	}
	t.Run("another state", func(t *testing.T) {
		ctx, cancel := context.WithTimeout(trusting(t, p), time.Second)
		defer cancel()
		err := newLogin(p).Browser(ctx, 0, open(t, p, func(url string) string { return strings.Replace(url, "state=", "state=x", 1) }))
		if err == nil {
			t.Error("the answer to another login was taken")
		}
	})
}

func TestClientSecretAndPort(t *testing.T) {
	p := oidcprovider.New(t)
	p.DemandSecret("of-the-client")
	if err := newLogin(p).Browser(trusting(t, p), 0, open(t, p, same)); err == nil || !strings.Contains(err.Error(), "invalid_client") {
		t.Errorf("without the secret: %v", err)
	}
	ports, err := programs.FreePorts(1)
	if err != nil {
		t.Fatal(err)
	}
	l, page := newLogin(p), ""
	l.ClientSecret = "of-the-client"
	err = l.Browser(trusting(t, p), ports[0], func(url string) {
		page = url
		open(t, p, same)(url)
	})
	if err != nil || !strings.Contains(page, fmt.Sprintf("127.0.0.1%%3A%d%%2Fcallback", ports[0])) || strings.Contains(page, l.ClientSecret) {
		t.Errorf("the page is %s, error %v", page, err)
	}
	l.Expiry = time.Now()
	if _, err := l.Renew(trusting(t, p)); err != nil {
		t.Errorf("renewing: %v", err)
	}
}

func TestDevice(t *testing.T) {
	t.Parallel()
	p := oidcprovider.New(t)
	l, shown := newLogin(p), ""
	err := l.Device(trusting(t, p), func(url, code string) {
		shown = url + " " + code
		p.Approve()
	})
	if err != nil || shown != p.URL+"/enter ABCD" || l.Name() != "ada@example.com" {
		t.Errorf("shown %q, logged in as %s, error %v", shown, l.Name(), err)
	}
}

func TestStore(t *testing.T) {
	p := oidcprovider.New(t)
	file := filepath.Join(t.TempDir(), "folder", "login.json")
	store, err := NewStore(func(string) string { return file })
	if err != nil {
		t.Fatal(err)
	}
	if l, err := store.Current(t.Context(), "a"); l != nil || err != nil {
		t.Fatalf("an empty store has %v, %v", l, err)
	}
	l := newLogin(p)
	if err := l.Browser(trusting(t, p), 0, open(t, p, same)); err != nil {
		t.Fatal(err)
	}
	if err := store.Save("a", l); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the file has %v, %v", info.Mode(), err)
	}
	if other, err := store.Current(t.Context(), "b"); other != nil || err != nil {
		t.Errorf("another gateway has the login %v, %v", other, err)
	}
	first := l.IDToken
	if kept, err := store.Current(t.Context(), "a"); err != nil || kept.IDToken != first {
		t.Errorf("a valid token was renewed: %v", err)
	}
	for range 2 { // each renewal brings the token for the next
		l, err := store.Load("a")
		if err != nil {
			t.Fatal(err)
		}
		l.Expiry = time.Now()
		if err := store.Save("a", l); err != nil {
			t.Fatal(err)
		}
		if l, err = store.Current(trusting(t, p), "a"); err != nil || time.Until(l.Expiry) < time.Minute {
			t.Fatalf("after the renewal: %v", err)
		}
	}
	if err := store.Save("a", nil); err != nil {
		t.Fatal(err)
	}
	if l, err := store.Load("a"); l != nil || err != nil {
		t.Errorf("after logging out: %v, %v", l, err)
	}
	if err := os.WriteFile(file, []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := store.Load("a"); err == nil || !strings.Contains(err.Error(), file) {
		t.Errorf("a broken file: %v", err)
	}
}

// Neither printed logins nor errors contain tokens.
func TestTokensAreNotShown(t *testing.T) {
	p := oidcprovider.New(t)
	l := newLogin(p)
	if err := l.Browser(trusting(t, p), 0, open(t, p, same)); err != nil {
		t.Fatal(err)
	}
	if text := l.String() + l.GoString(); strings.Contains(text, l.IDToken) || strings.Contains(text, l.RefreshToken) {
		t.Errorf("printed as %s", text)
	}
	secret := l.RefreshToken + "-stolen"
	l.RefreshToken, l.Expiry = secret, time.Now()
	if _, err := l.Renew(trusting(t, p)); err == nil || strings.Contains(err.Error(), secret) || !strings.Contains(err.Error(), "raygate login") {
		t.Errorf("error %v", err)
	}
	p.SetAway(true)
	if _, err := l.Renew(trusting(t, p)); err == nil || !strings.Contains(err.Error(), "identity provider") {
		t.Errorf("while the provider is away: %v", err)
	}
}
