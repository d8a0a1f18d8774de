package console

import (
	"crypto/tls"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/raygate/raygate/apiserver/internal/authn"
)

// longToken is longer than a cookie.
var longToken = strings.Repeat("abcdefgh+/=,;\"x.", 700)

const sameOrigin = "same-origin"

func logIn(t *testing.T, c *Console, shown string, secure bool) *http.Response {
	t.Helper()
	r := httptest.NewRequest(http.MethodPost, "/ui/session", strings.NewReader(`{"token":`+quoted(shown)+`}`))
	r.Header.Set("Sec-Fetch-Site", sameOrigin)
	if secure {
		r.TLS = &tls.ConnectionState{}
	}
	w := httptest.NewRecorder()
	c.WithSession(c).ServeHTTP(w, r)
	return w.Result()
}

func quoted(text string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(text) + `"`
}

// kept are the cookies that a browser keeps of an answer.
func kept(resp *http.Response) (all []*http.Cookie) {
	for _, c := range resp.Cookies() {
		if c.MaxAge >= 0 {
			all = append(all, c)
		}
	}
	return all
}

func header(cookies []*http.Cookie) string {
	r := &http.Request{Header: http.Header{}}
	for _, c := range cookies {
		r.AddCookie(c)
	}
	return r.Header.Get("Cookie")
}

func TestCookieAttributes(t *testing.T) {
	c := newConsole(t, authn.Passthrough, nil)
	for name, secure := range map[string]bool{"plain": false, "TLS": true} {
		t.Run(name, func(t *testing.T) {
			for _, shown := range []string{token, longToken} {
				resp := logIn(t, c, shown, secure)
				if resp.StatusCode != http.StatusOK {
					t.Fatalf("HTTP %d", resp.StatusCode)
				}
				cookies := kept(resp)
				if len(cookies) == 0 || shown == token && len(cookies) != 1 {
					t.Fatalf("%d cookies", len(cookies))
				}
				for _, k := range cookies {
					if !k.HttpOnly || k.SameSite != http.SameSiteStrictMode || k.Path != "/" || k.Domain != "" || k.Secure != secure || strings.HasPrefix(k.Name, "__Host-") != secure {
						t.Errorf("cookie %s: HttpOnly %v SameSite %v Path %q Domain %q Secure %v", k.Name, k.HttpOnly, k.SameSite, k.Path, k.Domain, k.Secure)
					}
					if !k.Expires.IsZero() || k.MaxAge != 0 {
						t.Errorf("cookie %s outlives the browser", k.Name)
					}
					if len(k.Raw) > 4096 {
						t.Errorf("cookie %s has %d bytes, more than browsers keep", k.Name, len(k.Raw))
					}
				}
			}
		})
	}
}

// TestCookieIsACredential says when a cookie is one: for the console's own pages, and nothing else.
func TestCookieIsACredential(t *testing.T) {
	cookie := header(kept(logIn(t, newConsole(t, authn.Passthrough, nil), token, false)))
	for name, tc := range map[string]struct {
		mode         authn.Mode
		path         string
		header       map[string]string
		wantHeader   string
		wantNoCookie bool
	}{
		"a page of the console":                 {path: "/apis/v2/clusters", header: map[string]string{"Sec-Fetch-Site": sameOrigin}, wantHeader: "Bearer " + token},
		"what the console serves itself":        {path: "/ui/api/rights", header: map[string]string{"Sec-Fetch-Site": sameOrigin}, wantHeader: "Bearer " + token},
		"no browser, or one over plain HTTP":    {path: "/apis/v2/clusters"},
		"another site":                          {path: "/apis/v2/clusters", header: map[string]string{"Sec-Fetch-Site": "cross-site"}},
		"another host of the domain":            {path: "/apis/v2/clusters", header: map[string]string{"Sec-Fetch-Site": "same-site"}},
		"an address that was typed in":          {path: "/apis/v2/clusters", header: map[string]string{"Sec-Fetch-Site": "none"}},
		"a page of a dashboard, in its sandbox": {path: "/apis/v2/namespaces/a/clusters/b/dashboard/x", header: map[string]string{"Sec-Fetch-Site": "cross-site", "Origin": "null"}},
		"a call with a token of its own":        {path: "/apis/v2/clusters", header: map[string]string{"Sec-Fetch-Site": sameOrigin, "Authorization": "Bearer other"}, wantHeader: "Bearer other"},
		"version 1":                             {path: "/apis/v1/namespaces/a/clusters", header: map[string]string{"Sec-Fetch-Site": sameOrigin}},
		"a path of Kubernetes":                  {path: "/api/v1/namespaces/a/services/b/proxy/", header: map[string]string{"Sec-Fetch-Site": sameOrigin}},
		"a way round":                           {path: "/apis/v2/../v1/namespaces/a/clusters", header: map[string]string{"Sec-Fetch-Site": sameOrigin}},
		"impersonate":                           {mode: authn.Impersonate, path: "/apis/v2/clusters", header: map[string]string{"Sec-Fetch-Site": sameOrigin}},
		"none":                                  {mode: authn.None, path: "/apis/v2/clusters", header: map[string]string{"Sec-Fetch-Site": sameOrigin}},
	} {
		t.Run(name, func(t *testing.T) {
			mode := tc.mode
			if mode == "" {
				mode = authn.Passthrough
			}
			r := httptest.NewRequest(http.MethodGet, "/", nil)
			r.URL.Path = tc.path
			r.Header.Set("Cookie", "theirs=1; "+cookie)
			for k, v := range tc.header {
				r.Header.Set(k, v)
			}
			newConsole(t, mode, nil).WithSession(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
				if got := r.Header.Get("Authorization"); got != tc.wantHeader {
					t.Errorf("Authorization %q, want %q", got, tc.wantHeader)
				}
				if got := r.Header.Get("Cookie"); got != "theirs=1" {
					t.Errorf("the cookies that go on are %q", got)
				}
			})).ServeHTTP(httptest.NewRecorder(), r)
		})
	}
}

// A cookie without the prefix, which any host of the domain can set, is nothing over TLS.
func TestCookieOfAnotherHost(t *testing.T) {
	c := newConsole(t, authn.Passthrough, nil)
	cookie := header(kept(logIn(t, c, token, false)))
	r := httptest.NewRequest(http.MethodGet, "https://gateway/apis/v2/clusters", nil)
	r.Header.Set("Cookie", cookie)
	r.Header.Set("Sec-Fetch-Site", sameOrigin)
	c.WithSession(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "" || r.Header.Get("Cookie") != "" {
			t.Errorf("Authorization %q, Cookie %q", r.Header.Get("Authorization"), r.Header.Get("Cookie"))
		}
	})).ServeHTTP(httptest.NewRecorder(), r)
}

func TestCrossSiteIsRefused(t *testing.T) {
	c := newConsole(t, authn.Passthrough, nil)
	cookie := header(kept(logIn(t, c, token, false)))
	certificates := newConsole(t, authn.Impersonate, nil)
	for name, tc := range map[string]struct {
		console      *Console
		method, path string
		header       map[string]string
	}{
		"a login":                       {c, "POST", "/ui/session", map[string]string{"Sec-Fetch-Site": "cross-site"}},
		"a login by an older browser":   {c, "POST", "/ui/session", map[string]string{"Origin": "https://evil.example"}},
		"a logout":                      {c, "DELETE", "/ui/session", map[string]string{"Sec-Fetch-Site": "same-site", "Cookie": cookie}},
		"a write":                       {c, "POST", "/apis/v2/namespaces/a/clusters", map[string]string{"Sec-Fetch-Site": "cross-site", "Cookie": cookie}},
		"a write with a certificate":    {certificates, "DELETE", "/apis/v2/namespaces/a/clusters/b", map[string]string{"Sec-Fetch-Site": "cross-site"}},
		"a read of the rights":          {certificates, "GET", "/ui/api/rights", map[string]string{"Sec-Fetch-Site": "cross-site"}},
		"a read with a certificate":     {certificates, "GET", "/apis/v2/clusters", map[string]string{"Sec-Fetch-Site": "same-site"}},
		"a write of a page in a sandox": {c, "POST", "/apis/v2/namespaces/a/clusters", map[string]string{"Origin": "null", "Cookie": cookie}},
	} {
		t.Run(name, func(t *testing.T) {
			w := call(tc.console, tc.method, tc.path, `{"token":"`+token+`"}`, tc.header)
			if w.Code != http.StatusForbidden || len(w.Result().Cookies()) > 0 {
				t.Errorf("HTTP %d with %d cookies", w.Code, len(w.Result().Cookies()))
			}
		})
	}
}

// Sites that --cors-allowed-origins lists are no strangers to the API, and have no session all the same.
func TestAllowedOrigins(t *testing.T) {
	c := newConsole(t, authn.Impersonate, nil)
	h := served(c, "https://*.example.org")
	for origin, want := range map[string]int{"https://a.example.org": http.StatusTeapot, "https://example.com": http.StatusForbidden} {
		r := httptest.NewRequest(http.MethodPost, "/apis/v2/namespaces/a/clusters", nil)
		r.Header.Set("Origin", origin)
		r.Header.Set("Sec-Fetch-Site", "cross-site")
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if w.Code != want {
			t.Errorf("%s: HTTP %d, want %d", origin, w.Code, want)
		}
	}
	for _, target := range []string{"POST /ui/session", "GET /ui/session", "GET /ui/api/rights"} {
		method, path, _ := strings.Cut(target, " ")
		r := httptest.NewRequest(method, path, strings.NewReader("{}"))
		r.Header.Set("Origin", "https://a.example.org")
		r.Header.Set("Sec-Fetch-Site", "cross-site")
		w := httptest.NewRecorder()
		if h.ServeHTTP(w, r); w.Code != http.StatusForbidden {
			t.Errorf("%s of another site: HTTP %d", target, w.Code)
		}
	}
}

func TestSession(t *testing.T) {
	c := newConsole(t, authn.Passthrough, nil)
	if got := decode[session](t, call(c, "GET", "/ui/session", "", nil)); got.Authenticated || !got.Login {
		t.Errorf("nobody: %+v", got)
	}
	cookies := kept(logIn(t, c, token, false))
	with := map[string]string{"Cookie": header(cookies), "Sec-Fetch-Site": sameOrigin}
	if got := decode[session](t, call(c, "GET", "/ui/session", "", with)); !got.Authenticated || got.User != "ada" || len(got.Groups) != 1 || got.Version != "v1.2.3" {
		t.Errorf("ada: %+v", got)
	}

	w := call(c, "DELETE", "/ui/session", "", with)
	if decode[session](t, w).Authenticated || len(kept(w.Result())) != 0 || len(w.Result().Cookies()) == 0 {
		t.Errorf("after the logout there are cookies: %v", w.Result().Cookies())
	}

	with["Cookie"] = tokenCookie + "-0=expired"
	w = call(c, "GET", "/ui/session", "", with)
	if got := decode[session](t, w); got.Authenticated || got.Message == "" || len(w.Result().Cookies()) == 0 {
		t.Errorf("an expired token: %+v, and %d cookies", got, len(w.Result().Cookies()))
	}
}

func TestLogin(t *testing.T) {
	c := newConsole(t, authn.Passthrough, nil)
	form := map[string]string{"Content-Type": "application/x-www-form-urlencoded"}
	for name, tc := range map[string]struct {
		body     string
		header   map[string]string
		wantCode int
	}{
		"JSON":               {`{"token":"` + token + `"}`, nil, 200},
		"with Bearer":        {`{"token":" Bearer ` + token + `\n"}`, nil, 200},
		"a form":             {url.Values{"token": {token}}.Encode(), form, 303},
		"a wrong token":      {`{"token":"wrong"}`, nil, 401},
		"no token":           {`{"token":" "}`, nil, 400},
		"no JSON":            {`token`, nil, 400},
		"a form without one": {`token=`, form, 400},
		"a bad form":         {`token=%`, form, 400},
		"no token at all":    {`{"token":"a b"}`, nil, 401},
		"a line break":       {`{"token":"a\nAuthorization: b"}`, nil, 401},
		"too long":           {`{"token":"` + strings.Repeat("x", maxLogin) + `"}`, nil, 400},
	} {
		t.Run(name, func(t *testing.T) {
			w := call(c, "POST", "/ui/session", tc.body, tc.header)
			if w.Code != tc.wantCode {
				t.Errorf("HTTP %d, want %d: %s", w.Code, tc.wantCode, w.Body)
			}
			if got := len(kept(w.Result())) > 0; got != (tc.wantCode < 400) {
				t.Errorf("a session: %v", got)
			}
		})
	}
	for _, mode := range []authn.Mode{authn.None, authn.Impersonate} {
		if w := call(newConsole(t, mode, nil), "POST", "/ui/session", `{"token":"x"}`, nil); w.Code != http.StatusBadRequest {
			t.Errorf("%s: HTTP %d", mode, w.Code)
		}
	}
	if got := decode[session](t, call(newConsole(t, authn.None, nil), "GET", "/ui/session", "", nil)); !got.Authenticated || got.Login {
		t.Errorf("none: %+v", got)
	}
}

// TestTokenStaysSecret sends a token in every way there is and looks for it in answers and in the log.
func TestTokenStaysSecret(t *testing.T) {
	const wrong = "a-token-that-kubernetes-does-not-know"
	log := logOf(t, func() {
		c := newConsole(t, authn.Passthrough, nil)
		for _, shown := range []string{token, wrong} {
			for _, header := range []map[string]string{
				nil, {"Content-Type": "application/x-www-form-urlencoded"}, {"Sec-Fetch-Site": "cross-site"}, {"Cookie": tokenCookie + "-0=" + shown, "Sec-Fetch-Site": sameOrigin},
			} {
				for _, body := range []string{`{"token":"` + shown + `"}`, "token=" + shown, shown} {
					for _, target := range []string{"GET /ui/session", "POST /ui/session", "DELETE /ui/session", "GET /ui/api/rights", "GET /ui/", "GET /apis/v2/clusters"} {
						method, path, _ := strings.Cut(target, " ")
						w := call(c, method, path, body, header)
						resp := w.Result()
						resp.Header.Del("Set-Cookie")
						if strings.Contains(w.Body.String(), shown) {
							t.Errorf("%s answers with the token: %s", target, w.Body)
						}
						for name, values := range resp.Header {
							if strings.Contains(strings.Join(values, " "), shown) {
								t.Errorf("%s answers with the token in %s", target, name)
							}
						}
					}
				}
			}
		}
	})
	if strings.Contains(log, token) || strings.Contains(log, wrong) {
		t.Errorf("the log has a token: %s", log)
	}
}

func FuzzCookies(f *testing.F) {
	f.Add(token, "theirs=1")
	f.Add(longToken, "")
	f.Add("%", tokenCookie+"-0=%zz; __Host-"+tokenCookie+"-=")
	f.Fuzz(func(t *testing.T, shown, others string) {
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		r.Header.Set("Cookie", others)
		_, _ = takeCookies(r)
		if rest := r.Header.Get("Cookie"); strings.Contains(rest, tokenCookie+"-") || strings.Contains(rest, loginCookie+"-") {
			return // a value may have the name of the cookie
		}
		w := httptest.NewRecorder()
		setCookies(w, r, tokenCookie, shown)
		setCookies(w, r, loginCookie, others)
		if max(len(url.QueryEscape(shown)), len(url.QueryEscape(others))) > cookiePart*maxCookies {
			return
		}
		r.Header.Set("Cookie", header(kept(w.Result())))
		if token, sealed := takeCookies(r); token != shown || sealed != others {
			t.Errorf("got %q and %q, want %q and %q", token, sealed, shown, others)
		}
	})
}
