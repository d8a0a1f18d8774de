package oidcprovider

import (
	"crypto/sha256"
	"encoding/base64"
	"maps"
	"net/http"
	"net/url"
	"strconv"
	"sync"
	"testing"
)

// flows are the logins of a public client: by code with a proof key, by device, and by renewal.
type flows struct {
	t *testing.T

	mu        sync.Mutex
	secret    string                // of the client; empty for none
	codes     map[string]url.Values // requests by their code, each good for one answer
	renewals  int
	approved  bool
	overrides map[string]any
	signs     func(claims map[string]any) string // nil for Token
}

// Confirm lets the person confirm a login in a browser at its address, and returns the parameters of the redirect back.
func (p *Provider) Confirm(address string) url.Values {
	p.flows.t.Helper()
	browser := *p.Client()
	browser.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	resp, err := browser.Get(address)
	if err != nil {
		p.flows.t.Fatal(err)
	}
	_ = resp.Body.Close()
	back, err := resp.Location()
	if err != nil {
		p.flows.t.Fatal(err)
	}
	return back.Query()
}

// Approve lets the person who was shown a device code log in.
func (p *Provider) Approve() {
	p.flows.mu.Lock()
	defer p.flows.mu.Unlock()
	p.flows.approved = true
}

// Override changes claims of the tokens that flows give.
func (p *Provider) Override(claims map[string]any) {
	p.flows.mu.Lock()
	defer p.flows.mu.Unlock()
	p.flows.overrides = claims
}

// DemandSecret makes the provider demand a secret of the client.
func (p *Provider) DemandSecret(secret string) {
	p.flows.mu.Lock()
	defer p.flows.mu.Unlock()
	p.flows.secret = secret
}

// SignBy replaces the signature of the tokens that flows give: by returns the token of claims. Nil restores it.
func (p *Provider) SignBy(by func(claims map[string]any) string) {
	p.flows.mu.Lock()
	defer p.flows.mu.Unlock()
	p.flows.signs = by
}

func (f *flows) serve(p *Provider, w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch r.URL.Path {
	case "/authorize": // everybody is logged in at once
		if f.codes == nil {
			f.codes = map[string]url.Values{}
		}
		code := "code-" + strconv.Itoa(len(f.codes))
		f.codes[code] = r.URL.Query()
		http.Redirect(w, r, r.FormValue("redirect_uri")+"?"+url.Values{"code": {code}, "state": {r.FormValue("state")}}.Encode(), http.StatusFound)
	case "/device":
		p.answer(w, map[string]any{"device_code": "device", "user_code": "ABCD", "verification_uri": p.URL + "/enter", "expires_in": 60, "interval": 1})
	case "/enter": // opening the page enters the code
		f.approved = true
	case "/token":
		f.token(p, w, r)
	default:
		http.NotFound(w, r)
	}
}

func (f *flows) token(p *Provider, w http.ResponseWriter, r *http.Request) {
	claims, why := map[string]any{"aud": r.FormValue("client_id")}, ""
	switch r.FormValue("grant_type") {
	case "authorization_code":
		asked := f.codes[r.FormValue("code")]
		delete(f.codes, r.FormValue("code"))
		proof := sha256.Sum256([]byte(r.FormValue("code_verifier")))
		if asked.Get("code_challenge") != base64.RawURLEncoding.EncodeToString(proof[:]) || asked.Get("redirect_uri") != r.FormValue("redirect_uri") {
			why = "invalid_grant"
		}
		claims["nonce"] = asked.Get("nonce")
	case "urn:ietf:params:oauth:grant-type:device_code":
		if !f.approved {
			why = "authorization_pending"
		}
	case "refresh_token":
		if r.FormValue("refresh_token") != "renew-"+strconv.Itoa(f.renewals) { // each is good for one answer
			why = "invalid_grant"
		}
		f.renewals++
	}
	if r.FormValue("client_secret") != f.secret {
		why = "invalid_client"
	}
	if why != "" {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusBadRequest)
		p.answer(w, map[string]any{"error": why})
		return
	}
	maps.Copy(claims, f.overrides)
	sign := f.signs
	if sign == nil {
		sign = func(claims map[string]any) string { return p.Token(f.t, claims) }
	}
	p.answer(w, map[string]any{"access_token": "opaque", "token_type": "Bearer", "expires_in": 3600, "id_token": sign(claims), "refresh_token": "renew-" + strconv.Itoa(f.renewals)})
}
