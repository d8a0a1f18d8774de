package connect

import (
	"crypto/tls"
	"path/filepath"
	"testing"
	"time"

	raygate "github.com/raygate/raygate/clients/go"
	"github.com/raygate/raygate/cmd/raygate/internal/login"
)

// A login is used for its gateway alone, and after what flags and environment name.
func TestLoginIsUsedForItsGateway(t *testing.T) {
	file := filepath.Join(t.TempDir(), "login.json")
	t.Setenv("KUBECONFIG", filepath.Join(t.TempDir(), "none"))
	getenv := func(name string) string {
		if name == login.EnvFile {
			return file
		}
		return ""
	}
	store, err := login.NewStore(getenv)
	if err != nil {
		t.Fatal(err)
	}
	if err := store.Save("ray.example.com", &login.Login{Issuer: "https://login.example.com", ClientID: "raygate", IDToken: "of-the-login", Expiry: time.Now().Add(time.Hour)}); err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		server, token, want string
	}{
		"its gateway":          {"ray.example.com", "", "of-the-login"},
		"another gateway":      {"ray.example.org", "", ""},
		"a token by flag":      {"ray.example.com", "by-flag", "by-flag"},
		"another port of that": {"ray.example.com:1", "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			f := &Flags{Getenv: getenv, Token: tc.token}
			c := raygate.Config{Address: tc.server, TLS: &tls.Config{MinVersion: tls.VersionTLS12}}
			if err := f.credentials(&c); err != nil {
				t.Fatal(err)
			}
			got := ""
			if c.Token != nil {
				if got, err = c.Token(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			if got != tc.want {
				t.Errorf("the token is %q, want %q", got, tc.want)
			}
		})
	}
}
