package issuers

import (
	"encoding/base64"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apiserver/pkg/authentication/user"

	"github.com/raygate/raygate/apiserver/internal/authn"
	"github.com/raygate/raygate/internal/testing/await"
	"github.com/raygate/raygate/internal/testing/oidcprovider"
)

func write(t *testing.T, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "authentication.yaml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// start returns an Identifier that trusts the providers.
func start(t *testing.T, p *oidcprovider.Provider, others ...*oidcprovider.Provider) (Issuers, authn.Identifier) {
	t.Helper()
	c, err := Load(write(t, p.Config(others...)))
	if err != nil {
		t.Fatal(err)
	}
	i, err := New(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	return i, authn.NewEither(authn.NewTokens(authn.ReviewJWT(i, nil), nil), authn.NewProven())
}

// await waits for the keys of the issuers.
func (all Issuers) await(t *testing.T) {
	t.Helper()
	for _, one := range all {
		await.NoError(t, "the keys of an issuer", one.HealthCheck)
	}
}

// ask identifies the sender of a token.
func ask(t *testing.T, identify authn.Identifier, token string) (*authn.Caller, error) {
	t.Helper()
	r := &http.Request{Header: http.Header{}}
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	id := identify(r)
	if id.Lookup == nil {
		return id.Caller, id.Err
	}
	return id.Lookup(t.Context())
}

func TestTokensOfAProvider(t *testing.T) {
	p, stranger := oidcprovider.New(t), oidcprovider.New(t)
	i, identify := start(t, p)
	i.await(t)

	c, err := ask(t, identify, p.Token(t, nil))
	if err != nil {
		t.Fatal(err)
	}
	if c.Name() != "ada@example.com" || !cmp.Equal(c.Groups(), []string{"ml", user.AllAuthenticated}) && !cmp.Equal(c.Groups(), []string{"ml"}) {
		t.Errorf("the caller is %s of %v", c.Name(), c.Groups())
	}
	if _, err := ask(t, identify, ""); err == nil || !strings.Contains(err.Error(), "identity provider") {
		t.Errorf("without a token: %v", err)
	}
	unsigned := func() string {
		b := base64.RawURLEncoding
		return b.EncodeToString([]byte(`{"alg":"none"}`)) + "." + b.EncodeToString(p.Claims(t, nil)) + "."
	}
	valid := p.Token(t, nil)
	for name, token := range map[string]string{
		"expired":                  p.Token(t, map[string]any{"exp": time.Now().Add(-time.Minute).Unix()}),
		"of the future":            p.Token(t, map[string]any{"nbf": time.Now().Add(time.Hour).Unix()}),
		"for another audience":     p.Token(t, map[string]any{"aud": "other"}),
		"of an unverified address": p.Token(t, map[string]any{"email_verified": false}),
		"without an address":       p.Token(t, map[string]any{"email": nil}),
		"of another issuer":        stranger.Token(t, nil),
		"with a foreign signature": stranger.Token(t, map[string]any{"iss": p.URL}),
		"without a signature":      unsigned(),
		"with other claims":        strings.Join([]string{strings.Split(valid, ".")[0], base64.RawURLEncoding.EncodeToString(p.Claims(t, map[string]any{"email": "eve@example.com"})), strings.Split(valid, ".")[2]}, "."),
		"of an administrator":      p.Token(t, map[string]any{"groups": []string{"ml", user.SystemPrivilegedGroup}}),
		"of a node":                p.Token(t, map[string]any{"email": "system:node:a"}),
		"not a token":              "abc",
	} {
		t.Run(name, func(t *testing.T) {
			c, err := ask(t, identify, token)
			if c != nil || !apierrors.IsUnauthorized(err) {
				t.Fatalf("caller %v, error %v", c, err)
			}
			if strings.Contains(err.Error(), token) {
				t.Errorf("the error has the token: %v", err)
			}
		})
	}
}

// The clock of a provider may be ahead by one minute. A token that has expired is refused at once. The verifier has no clock for tests, so there are some
// seconds on both sides.
func TestClockSkew(t *testing.T) {
	p := oidcprovider.New(t)
	i, identify := start(t, p)
	i.await(t)
	in := func(claim string, d time.Duration) string {
		return p.Token(t, map[string]any{claim: time.Now().Add(d).Unix()})
	}
	for name, token := range map[string]string{"not before": in("nbf", 50*time.Second), "expires": in("exp", 10*time.Second)} {
		if _, err := ask(t, identify, token); err != nil {
			t.Errorf("%s, just inside: %v", name, err)
		}
	}
	for name, token := range map[string]string{"not before": in("nbf", 70*time.Second), "expired": in("exp", -2*time.Second)} {
		if _, err := ask(t, identify, token); !apierrors.IsUnauthorized(err) {
			t.Errorf("%s, just outside: %v", name, err)
		}
	}
}

func TestKeysRotate(t *testing.T) {
	p := oidcprovider.New(t)
	i, identify := start(t, p)
	i.await(t)
	old := p.Token(t, nil)
	if _, err := ask(t, identify, old); err != nil {
		t.Fatal(err)
	}
	p.Rotate(t)
	// go-oidc answers with the old keys until the goroutine that fetched them has ended, which can be after the first answer.
	await.NoError(t, "a token by the new key to be accepted", func() error {
		_, err := ask(t, identify, p.Token(t, nil))
		return err
	})
	p.SetAway(true)
	if _, err := ask(t, identify, p.Token(t, map[string]any{"sub": "2"})); err != nil {
		t.Errorf("a token by a known key while the provider is away: %v", err)
	}
}

// A gateway that starts while the provider is away says so instead of refusing everybody, and accepts callers once the provider is there.
func TestProviderComesLate(t *testing.T) {
	p := oidcprovider.New(t)
	p.SetAway(true)
	i, identify := start(t, p)
	token := p.Token(t, nil)
	if _, err := ask(t, identify, token); !apierrors.IsServiceUnavailable(err) {
		t.Errorf("while the provider is away: %v", err)
	}
	p.SetAway(false)
	i.await(t)
	if _, err := ask(t, identify, token); err != nil {
		t.Error(err)
	}
}

// Each token is for the issuer that it names: another one that is away neither accepts it nor makes a refusal look like an outage.
func TestTwoIssuers(t *testing.T) {
	here, late := oidcprovider.New(t), oidcprovider.New(t)
	late.SetAway(true)
	i, identify := start(t, late, here)
	i[1:].await(t)
	ofHere, ofLate := here.Token(t, nil), late.Token(t, map[string]any{"email": "ben@example.com"})
	if c, err := ask(t, identify, ofHere); err != nil || c.Name() != "ada@example.com" {
		t.Errorf("while the other issuer is away: caller %v, error %v", c, err)
	}
	if _, err := ask(t, identify, ofLate); !apierrors.IsServiceUnavailable(err) {
		t.Errorf("of the issuer that is away: %v", err)
	}
	for name, token := range map[string]string{
		"expired": here.Token(t, map[string]any{"exp": time.Now().Add(-time.Minute).Unix()}), "of no issuer": oidcprovider.New(t).Token(t, nil), "no token": "abc",
	} {
		if _, err := ask(t, identify, token); !apierrors.IsUnauthorized(err) {
			t.Errorf("%s: %v", name, err)
		}
	}
	late.SetAway(false)
	i.await(t)
	here.SetAway(true)
	if c, err := ask(t, identify, ofLate); err != nil || c.Name() != "ben@example.com" {
		t.Errorf("once the issuer is there: caller %v, error %v", c, err)
	}
	if _, err := ask(t, identify, here.Token(t, map[string]any{"iss": late.URL})); !apierrors.IsUnauthorized(err) {
		t.Errorf("a token that one issuer has signed in the name of the other: %v", err)
	}
}

func TestLoadNamesMistakes(t *testing.T) {
	const head = "apiVersion: apiserver.config.k8s.io/v1\nkind: AuthenticationConfiguration\n"
	for text, want := range map[string]string{
		"":     "reading",
		"a: [": "reading",
		head:   "it must list issuers under jwt",
		head + "jwt: [{issuer: {url: 'http://x', audiences: [a]}, claimMappings: {username: {claim: sub}}}]\n":             "prefix",
		head + "jwt: [{issuer: {url: 'https://x', audiences: []}, claimMappings: {username: {expression: 'claims.('}}}]\n": "audiences",
		head + "jwt: [{isuer: {}}]\n": `unknown field "jwt[0].isuer"`,
		"apiVersion: apiserver.config.k8s.io/v1\nkind: AuthorizationConfiguration\nauthorizers: []\n": "not an AuthenticationConfiguration",
	} {
		_, err := Load(write(t, text))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

// The entries for issuers in the documentation are valid.
func TestDocumentedIssuers(t *testing.T) {
	entry := regexp.MustCompile("(?ms)^(- issuer:.*?)^```")
	var found [][]string
	for page, want := range map[string]int{"howto-login-providers.md": 5, "howto-login.md": 1} {
		text, err := os.ReadFile(filepath.Join("..", "..", "..", "..", "docs", page))
		if err != nil {
			t.Fatal(err)
		}
		of := entry.FindAllStringSubmatch(string(text), -1)
		if len(of) != want {
			t.Errorf("%s has %d entries", page, len(of))
		}
		found = append(found, of...)
	}
	for _, each := range found {
		if _, err := Load(write(t, "apiVersion: apiserver.config.k8s.io/v1\nkind: AuthenticationConfiguration\njwt:\n"+each[1])); err != nil {
			t.Errorf("%v in\n%s", err, each[1])
		}
	}
}
