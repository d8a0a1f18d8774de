package rest_test

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/raygate/raygate/apiserver/internal/rest"
)

// TestPagesOfOtherSites: what a page of another site may ask for, wherever a browser proves its user by itself.
func TestPagesOfOtherSites(t *testing.T) {
	write := func(w http.ResponseWriter, _ error) { w.WriteHeader(http.StatusForbidden) }
	answer := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTeapot) })
	api := func(prefix string) rest.API { return rest.API{Prefix: prefix, Handler: answer, WriteError: write} }
	public, own, pages, v1none := api("/swagger"), api("/ui/"), api("/dashboards/"), api("/apis/v1/")
	public.Public, own.Public, own.OwnPages, pages.AnyOrigin, v1none.Ambient = true, true, true, true, true
	apis := []rest.API{api("/apis/v2/"), v1none, api("/apis/ray.io/v1/"), api("/api/v1/namespaces/"), public, own, pages}
	server := func(ambient, local bool, origins ...string) *rest.Server {
		return rest.New(rest.Options{APIs: apis, Ambient: ambient, Local: local, Origins: origins})
	}
	token, certificate, laptop := server(false, false), server(true, false), server(true, true)
	listed, anySite := server(true, false, "https://*.example.org"), server(false, false, "*")
	anyWithCertificate, anyOnLaptop := server(true, false, "*"), server(true, true, "*")
	const evil, friend, site = "https://evil.example", "https://ui.example.org", "Sec-Fetch-Site"
	cross := map[string]string{site: "cross-site", "Origin": evil}
	for name, tc := range map[string]struct {
		server       *rest.Server
		method, path string
		header       map[string]string
		want         int
	}{
		"curl":                                    {certificate, "POST", "/apis/v1/x", nil, 418},
		"its own page":                            {certificate, "POST", "/apis/v2/x", map[string]string{site: "same-origin", "Origin": "http://localhost"}, 418},
		"an address that was typed in":            {certificate, "GET", "/apis/v2/x", map[string]string{site: "none"}, 418},
		"a write to v2":                           {certificate, "POST", "/apis/v2/x", cross, 403},
		"a write to v1":                           {certificate, "POST", "/apis/v1/x", cross, 403},
		"a write to a Kubernetes path":            {certificate, "DELETE", "/apis/ray.io/v1/x", cross, 403},
		"a write to a dashboard":                  {certificate, "POST", "/api/v1/namespaces/x/services/y/proxy/", cross, 403},
		"a read that may change something":        {certificate, "GET", "/api/v1/namespaces/x/services/y/proxy/api/actors/kill", map[string]string{site: "cross-site"}, 403},
		"an older browser":                        {certificate, "POST", "/apis/v1/x", map[string]string{"Origin": evil}, 403},
		"a page in a sandbox":                     {certificate, "POST", "/apis/v1/x", map[string]string{"Origin": "null"}, 403},
		"another port of this machine":            {certificate, "POST", "/apis/v1/x", map[string]string{site: "same-site", "Origin": "http://localhost:3000"}, 403},
		"a proxy that adds the token":             {token, "POST", "/apis/v2/x", map[string]string{site: "cross-site", "Authorization": "Bearer x"}, 403},
		"a laptop":                                {laptop, "POST", "/apis/v2/x", cross, 403},
		"an allowed site":                         {listed, "POST", "/apis/v2/x", map[string]string{site: "cross-site", "Origin": friend}, 418},
		"a site that is not allowed":              {listed, "POST", "/apis/v2/x", cross, 403},
		"any site, for callers with a token":      {anySite, "POST", "/apis/v2/x", cross, 418},
		"any site, on a path without credentials": {anySite, "POST", "/apis/v1/x", cross, 403},
		"any site, with certificates":             {anyWithCertificate, "POST", "/apis/v2/x", cross, 403},
		"any site, read with certificates":        {anyWithCertificate, "GET", "/apis/v2/x", cross, 403},
		"any site, on a laptop":                   {anyOnLaptop, "POST", "/apis/v1/x", cross, 403},
		"any site, with a header, on a laptop":    {anyOnLaptop, "POST", "/apis/v1/x", map[string]string{site: "cross-site", "Origin": evil, "Authorization": "x"}, 403},
		"any site is this machine, on a laptop":   {anyOnLaptop, "POST", "/apis/v1/x", map[string]string{site: "same-site", "Origin": "http://localhost:3000"}, 418},
		"a link to a page":                        {certificate, "GET", "/ui/clusters", map[string]string{site: "cross-site"}, 418},
		"a link to a document":                    {certificate, "GET", "/swagger-ui/", map[string]string{site: "cross-site"}, 418},
		"a link to the documentation":             {certificate, "GET", "/docs", map[string]string{site: "cross-site"}, 200},
		"a write to a page":                       {certificate, "POST", "/ui/clusters", cross, 403},
		"a write to a page, from an allowed site": {listed, "POST", "/ui/x", map[string]string{site: "cross-site", "Origin": friend}, 403},
		"a page of a dashboard":                   {certificate, "GET", "/dashboards/x/", map[string]string{site: "cross-site", "Origin": "null"}, 418},
		"a path that is nobody's":                 {certificate, "POST", "/nowhere", cross, 403},
		"a way round":                             {certificate, "POST", "/docs/../apis/v2/x", cross, 403},
	} {
		t.Run(name, func(t *testing.T) {
			r := httptest.NewRequest(tc.method, "http://localhost", nil)
			r.URL.Path = tc.path
			for k, v := range tc.header {
				r.Header.Set(k, v)
			}
			w := httptest.NewRecorder()
			if tc.server.ServeHTTP(w, r); w.Code != tc.want {
				t.Errorf("HTTP %d, want %d", w.Code, tc.want)
			}
		})
	}
}

// A form of another site may send text/plain without asking first, so that it is no JSON here.
func TestTextIsNoObject(t *testing.T) {
	h := newGateway(t, false)
	for contentType, want := range map[string]int{"text/plain": 415, "text/plain; charset=utf-8": 415, "application/json": 201, "": 201, "application/x-www-form-urlencoded": 201} {
		if w := call(h, "POST", clusters, good, "Content-Type", contentType); w.Code != want {
			t.Errorf("%q: HTTP %d, want %d", contentType, w.Code, want)
		}
	}
	for _, contentType := range []string{"", "application/x-www-form-urlencoded"} { // as curl sends it
		if w := call(h, "POST", clusters, good, "Content-Type", contentType, "Sec-Fetch-Site", "cross-site"); w.Code != 403 {
			t.Errorf("%q of another site: HTTP %d", contentType, w.Code)
		}
	}
}
