package reverseproxy

import (
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"
)

// front passes everything on to a server that answers with h.
func front(t *testing.T, untrusted bool, h http.HandlerFunc) *httptest.Server {
	t.Helper()
	behind := httptest.NewServer(h)
	t.Cleanup(behind.Close)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Content-Type-Options", "nosniff")
		w.Header().Set("Cache-Control", "no-store")
		u, err := url.Parse(behind.URL + r.URL.EscapedPath())
		if err != nil {
			t.Error(err)
			return
		}
		if err := Pass(w, r, Target{URL: u, Transport: http.DefaultTransport, Untrusted: untrusted}); err != nil {
			http.Error(w, "nothing", http.StatusBadGateway)
		}
	}))
	t.Cleanup(s.Close)
	return s
}

func get(t *testing.T, url string) *http.Response {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	_, _ = io.Copy(io.Discard, resp.Body)
	_ = resp.Body.Close()
	return resp
}

// Headers that a tenant's program answers affect neither the gateway nor later requests of the browser.
func TestUntrustedHeaders(t *testing.T) {
	s := front(t, true, func(w http.ResponseWriter, _ *http.Request) {
		for name, value := range map[string]string{
			"Set-Cookie": "a=b", "Access-Control-Allow-Origin": "*", "Access-Control-Allow-Credentials": "true", "Clear-Site-Data": `"*"`, "Strict-Transport-Security": "max-age=1",
			"Report-To": `{"group":"g"}`, "Reporting-Endpoints": `g="https://evil.example"`, "Nel": `{"report_to":"g"}`, "Alt-Svc": `h2="evil.example:443"`, "Service-Worker-Allowed": "/",
			"Refresh": "0; url=https://evil.example", "Link": "<https://evil.example>; rel=preload", "Content-Security-Policy-Report-Only": "default-src x; report-uri https://evil.example",
			"Www-Authenticate": "Basic", "Public-Key-Pins": "x", "Permissions-Policy": "x", "Cache-Control": "public", "X-Content-Type-Options": "x", "X-Request-Id": "x",
			"Content-Security-Policy": "default-src *", "Etag": `"1"`, "Content-Type": "text/plain", "Content-Disposition": "attachment",
		} {
			w.Header().Set(name, value)
		}
		w.WriteHeader(http.StatusFound)
	})
	h := get(t, s.URL).Header
	want := map[string]string{
		"Content-Security-Policy": "sandbox", "Etag": `"1"`, "Content-Type": "text/plain", "Content-Disposition": "attachment", "Cache-Control": "no-store", "X-Content-Type-Options": "nosniff",
	}
	for name, values := range h {
		switch {
		case name == "Date" || name == "Content-Length":
		case len(values) != 1 || values[0] != want[name]:
			t.Errorf("%s: %q passes, want %q", name, values, want[name])
		}
	}
	for name, value := range want {
		if h.Get(name) != value {
			t.Errorf("%s: %q, want %q", name, h.Get(name), value)
		}
	}
}

func TestRedirectsStayHere(t *testing.T) {
	for to, want := range map[string]bool{
		"/": true, "jobs": true, "../x?y=z#a": true,
		"https://evil.example": false, "//evil.example": false, `/\evil.example`: false, `\\evil.example`: false, "javascript:alert(1)": false, "/\t/evil.example": false, ":": false,
	} {
		if leadsAway(to) == want {
			t.Errorf("%q passes: %t, want %t", to, !want, want)
		}
	}
}

// An informational answer neither passes nor takes the gateway's own headers from the answer behind it.
func TestInformationalAnswers(t *testing.T) {
	for name, untrusted := range map[string]bool{"dashboard": true, "Kubernetes": false} {
		s := front(t, untrusted, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Link", "<https://evil.example>; rel=preload")
			w.Header().Set("Set-Cookie", "early=1")
			w.WriteHeader(http.StatusEarlyHints)
			if r.URL.Path == "/broken" {
				panic(http.ErrAbortHandler)
			}
			w.Header().Del("Link")
			w.Header().Del("Set-Cookie")
			_, _ = io.WriteString(w, "x")
		})
		for path, code := range map[string]int{"/": http.StatusOK, "/broken": http.StatusBadGateway} {
			resp := get(t, s.URL+path)
			if h := resp.Header; resp.StatusCode != code || h.Get("X-Content-Type-Options") != "nosniff" || path == "/" && h.Get("Cache-Control") != "no-store" || h.Get("Set-Cookie") != "" || h.Get("Link") != "" {
				t.Errorf("%s%s: %d %v", name, path, resp.StatusCode, h)
			}
		}
	}
}
