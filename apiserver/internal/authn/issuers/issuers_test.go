package issuers

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"gopkg.in/go-jose/go-jose.v2"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apiserver/pkg/authentication/user"

	"github.com/raygate/raygate/apiserver/internal/authn"
)

// provider is an identity provider that signs any claims.
type provider struct {
	*httptest.Server

	mu   sync.Mutex
	keys []*ecdsa.PrivateKey // the last one signs
	away bool
}

func newProvider(t *testing.T) *provider {
	t.Helper()
	p := &provider{}
	p.rotate(t)
	p.Server = httptest.NewTLSServer(p)
	t.Cleanup(p.Close)
	return p
}

func (p *provider) rotate(t *testing.T) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.keys = []*ecdsa.PrivateKey{key}
}

func (p *provider) setAway(away bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.away = away
}

// ServeHTTP implements http.Handler: the discovery document and the keys.
func (p *provider) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.away {
		w.WriteHeader(http.StatusBadGateway)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	if r.URL.Path == "/.well-known/openid-configuration" {
		_ = json.NewEncoder(w).Encode(map[string]any{"issuer": p.URL, "jwks_uri": p.URL + "/keys"})
		return
	}
	set := jose.JSONWebKeySet{}
	for _, key := range p.keys {
		set.Keys = append(set.Keys, jose.JSONWebKey{Key: key.Public(), KeyID: keyID(key), Algorithm: "ES256", Use: "sig"})
	}
	_ = json.NewEncoder(w).Encode(set)
}

func keyID(key *ecdsa.PrivateKey) string { return key.X.Text(16)[:16] }

// token signs the claims of ada with changes; a nil value removes a claim.
func (p *provider) token(t *testing.T, changes map[string]any) string {
	t.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	key := p.keys[len(p.keys)-1]
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.ES256, Key: jose.JSONWebKey{Key: key, KeyID: keyID(key)}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	signed, err := signer.Sign(p.claims(t, changes))
	if err != nil {
		t.Fatal(err)
	}
	text, err := signed.CompactSerialize()
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func (p *provider) claims(t *testing.T, changes map[string]any) []byte {
	t.Helper()
	claims := map[string]any{
		"iss": p.URL, "aud": "raygate", "sub": "1", "email": "ada@example.com", "email_verified": true, "groups": []string{"ml"},
		"iat": time.Now().Unix(), "exp": time.Now().Add(time.Hour).Unix(),
	}
	maps.Copy(claims, changes)
	maps.DeleteFunc(claims, func(_ string, value any) bool { return value == nil })
	text, err := json.Marshal(claims)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// config is the AuthenticationConfiguration for the provider.
func (p *provider) config() string {
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: p.Certificate().Raw})
	return fmt.Sprintf(`apiVersion: apiserver.config.k8s.io/v1
kind: AuthenticationConfiguration
jwt:
- issuer:
    url: %s
    audiences: [raygate]
    certificateAuthority: |
      %s
  claimMappings:
    username: {expression: claims.email}
    groups: {claim: groups, prefix: ""}
    extra: [{key: example.com/subject, valueExpression: claims.sub}]
  claimValidationRules:
  - {expression: "claims.?email_verified.orValue(true) == true", message: the address must be verified}
`, p.URL, strings.ReplaceAll(strings.TrimSpace(string(ca)), "\n", "\n      "))
}

func write(t *testing.T, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "authentication.yaml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// start returns an Identifier that trusts the providers.
func (p *provider) start(t *testing.T) (*Issuers, authn.Identifier) {
	t.Helper()
	c, err := Load(write(t, p.config()))
	if err != nil {
		t.Fatal(err)
	}
	i, err := New(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	return i, authn.NewEither(authn.NewTokens(authn.ReviewJWT(i, i.Ready), nil), authn.NewProven())
}

func (i *Issuers) await(t *testing.T) {
	t.Helper()
	err := wait.PollUntilContextTimeout(t.Context(), 20*time.Millisecond, 30*time.Second, true, func(context.Context) (bool, error) { return i.Ready() == nil, nil })
	if err != nil {
		t.Fatal(i.Ready())
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
	p, stranger := newProvider(t), newProvider(t)
	i, identify := p.start(t)
	i.await(t)

	c, err := ask(t, identify, p.token(t, nil))
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
		return b.EncodeToString([]byte(`{"alg":"none"}`)) + "." + b.EncodeToString(p.claims(t, nil)) + "."
	}
	valid := p.token(t, nil)
	for name, token := range map[string]string{
		"expired":                  p.token(t, map[string]any{"exp": time.Now().Add(-time.Minute).Unix()}),
		"of the future":            p.token(t, map[string]any{"nbf": time.Now().Add(time.Hour).Unix()}),
		"for another audience":     p.token(t, map[string]any{"aud": "other"}),
		"of an unverified address": p.token(t, map[string]any{"email_verified": false}),
		"without an address":       p.token(t, map[string]any{"email": nil}),
		"of another issuer":        stranger.token(t, nil),
		"with a foreign signature": stranger.token(t, map[string]any{"iss": p.URL}),
		"without a signature":      unsigned(),
		"with other claims":        strings.Join([]string{strings.Split(valid, ".")[0], base64.RawURLEncoding.EncodeToString(p.claims(t, map[string]any{"email": "eve@example.com"})), strings.Split(valid, ".")[2]}, "."),
		"of an administrator":      p.token(t, map[string]any{"groups": []string{"ml", user.SystemPrivilegedGroup}}),
		"of a node":                p.token(t, map[string]any{"email": "system:node:a"}),
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

func TestKeysRotate(t *testing.T) {
	p := newProvider(t)
	i, identify := p.start(t)
	i.await(t)
	old := p.token(t, nil)
	if _, err := ask(t, identify, old); err != nil {
		t.Fatal(err)
	}
	p.rotate(t)
	if _, err := ask(t, identify, p.token(t, nil)); err != nil {
		t.Errorf("a token by the new key: %v", err)
	}
	p.setAway(true)
	if _, err := ask(t, identify, p.token(t, map[string]any{"sub": "2"})); err != nil {
		t.Errorf("a token by a known key while the provider is away: %v", err)
	}
}

// A gateway that starts while the provider is away says so instead of refusing everybody, and accepts callers once the provider is there.
func TestProviderComesLate(t *testing.T) {
	p := newProvider(t)
	p.setAway(true)
	i, identify := p.start(t)
	token := p.token(t, nil)
	if _, err := ask(t, identify, token); !apierrors.IsServiceUnavailable(err) {
		t.Errorf("while the provider is away: %v", err)
	}
	p.setAway(false)
	i.await(t)
	if _, err := ask(t, identify, token); err != nil {
		t.Error(err)
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
