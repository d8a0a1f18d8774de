// Package oidcprovider is an identity provider for tests of the gateway.
package oidcprovider

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"gopkg.in/go-jose/go-jose.v2"
)

// Provider is an identity provider that signs any claims.
type Provider struct {
	*httptest.Server
	// Mappings are the fields of the issuer in Config but the first one, each indented by two spaces.
	Mappings string

	mu   sync.Mutex
	keys []*ecdsa.PrivateKey // the last one signs
	away bool

	flows flows
}

// mappings are those of a new Provider.
const mappings = `  claimMappings:
    username: {expression: claims.email}
    groups: {claim: groups, prefix: ""}
    extra: [{key: example.com/subject, valueExpression: claims.sub}]
  claimValidationRules:
  - {expression: "claims.?email_verified.orValue(true) == true", message: the address must be verified}
`

// New starts a provider, which ends with the test.
func New(t *testing.T) *Provider {
	t.Helper()
	p := &Provider{Mappings: mappings, flows: flows{t: t}}
	p.Rotate(t)
	p.Server = httptest.NewTLSServer(p)
	t.Cleanup(p.Close)
	return p
}

// Rotate replaces the key: tokens that were signed before are no longer valid for who has not seen the old key.
func (p *Provider) Rotate(t *testing.T) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.keys = []*ecdsa.PrivateKey{key}
}

// SetAway sets whether requests fail.
func (p *Provider) SetAway(away bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.away = away
}

// ServeHTTP implements http.Handler: the discovery document, the keys, and the flows of a public client.
func (p *Provider) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	away := p.away
	p.mu.Unlock()
	if away {
		w.WriteHeader(http.StatusBadGateway)
		return
	}
	switch r.URL.Path {
	case "/.well-known/openid-configuration":
		p.answer(w, map[string]any{
			"issuer": p.URL, "jwks_uri": p.URL + "/keys", "authorization_endpoint": p.URL + "/authorize", "token_endpoint": p.URL + "/token",
			"device_authorization_endpoint": p.URL + "/device", "id_token_signing_alg_values_supported": []string{"ES256"},
		})
	case "/keys":
		p.answer(w, p.keySet())
	default:
		p.flows.serve(p, w, r)
	}
}

func (p *Provider) answer(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(v)
}

func (p *Provider) keySet() jose.JSONWebKeySet {
	p.mu.Lock()
	defer p.mu.Unlock()
	set := jose.JSONWebKeySet{}
	for _, key := range p.keys {
		set.Keys = append(set.Keys, jose.JSONWebKey{Key: key.Public(), KeyID: keyID(key), Algorithm: "ES256", Use: "sig"})
	}
	return set
}

func keyID(key *ecdsa.PrivateKey) string { return key.X.Text(16)[:16] }

// Token signs the claims of ada@example.com, a member of the group ml, with changes; a nil value removes a claim.
func (p *Provider) Token(t *testing.T, changes map[string]any) string {
	t.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	key := p.keys[len(p.keys)-1]
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.ES256, Key: jose.JSONWebKey{Key: key, KeyID: keyID(key)}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	signed, err := signer.Sign(p.Claims(t, changes))
	if err != nil {
		t.Fatal(err)
	}
	text, err := signed.CompactSerialize()
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// Claims are those of Token as JSON.
func (p *Provider) Claims(t *testing.T, changes map[string]any) []byte {
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

// Config is the AuthenticationConfiguration for the provider, and for others after it.
func (p *Provider) Config(others ...*Provider) string {
	var text strings.Builder
	text.WriteString("apiVersion: apiserver.config.k8s.io/v1\nkind: AuthenticationConfiguration\njwt:\n")
	for _, each := range append([]*Provider{p}, others...) {
		ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: each.Certificate().Raw})
		fmt.Fprintf(&text, `- issuer:
    url: %s
    audiences: [raygate]
    certificateAuthority: |
      %s
%s`, each.URL, strings.ReplaceAll(strings.TrimSpace(string(ca)), "\n", "\n      "), each.Mappings)
	}
	return text.String()
}
