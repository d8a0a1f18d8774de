package raysim

import (
	"crypto/subtle"
	"net/http"
	"slices"
	"strings"
)

const tokenCookie = "ray-authentication-token"

var publicPaths = []string{
	"/", "/favicon.ico", "/api/authentication_mode", "/api/authenticate",
	"/api/healthz", "/api/gcs_healthz", "/api/local_raylet_healthz", "/-/healthz",
}

// SetToken changes the token; empty turns authentication off.
func (c *Cluster) SetToken(token string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.token = token
}

func (c *Cluster) currentToken() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.token
}

// authorized answers the request itself when it is not.
func (c *Cluster) authorized(w http.ResponseWriter, r *http.Request) bool {
	want := c.currentToken()
	if want == "" || slices.Contains(publicPaths, r.URL.Path) || strings.HasPrefix(r.URL.Path, "/static/") {
		return true
	}
	switch got := tokenOf(r); {
	case got == "":
		plain(w, http.StatusUnauthorized, "Unauthorized: Missing authentication token")
		return false
	case subtle.ConstantTimeCompare([]byte(got), []byte(want)) != 1:
		plain(w, http.StatusForbidden, "Forbidden: Invalid authentication token")
		return false
	}
	return true
}

// tokenOf is the first token that is not empty: Authorization, X-Ray-Authorization, cookie.
func tokenOf(r *http.Request) string {
	for _, header := range []string{"Authorization", "X-Ray-Authorization"} {
		if token, ok := strings.CutPrefix(r.Header.Get(header), "Bearer "); ok && token != "" {
			return token
		}
	}
	if cookie, err := r.Cookie(tokenCookie); err == nil {
		return cookie.Value
	}
	return ""
}

func (c *Cluster) authenticationMode(w http.ResponseWriter, _ *http.Request) {
	mode := "disabled"
	if c.currentToken() != "" {
		mode = "token"
	}
	writeJSON(w, map[string]string{"authentication_mode": mode})
}

func (c *Cluster) authenticate(w http.ResponseWriter, r *http.Request) {
	want := c.currentToken()
	got, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	switch {
	case want == "":
		plain(w, http.StatusUnauthorized, "Unauthorized: Authentication is not enabled")
	case got == "":
		plain(w, http.StatusUnauthorized, "Unauthorized: Missing authentication token")
	case subtle.ConstantTimeCompare([]byte(got), []byte(want)) != 1:
		plain(w, http.StatusForbidden, "Forbidden: Invalid authentication token")
	default:
		http.SetCookie(w, &http.Cookie{Name: tokenCookie, Value: got, Path: "/", HttpOnly: true, MaxAge: 30 * 24 * 3600, SameSite: http.SameSiteStrictMode})
		writeJSON(w, map[string]string{"status": "authenticated", "message": "Token is valid"})
	}
}

// fromBrowser reports whether a page of a browser seems to have sent a request that changes something.
func fromBrowser(r *http.Request) bool {
	if r.Method != http.MethodPost && r.Method != http.MethodPut || r.URL.Path == "/api/authenticate" {
		return false
	}
	if strings.HasPrefix(r.UserAgent(), "Mozilla") {
		return true
	}
	for _, header := range []string{"Origin", "Referer", "Sec-Fetch-Mode", "Sec-Fetch-Site", "Sec-Fetch-Dest"} {
		if r.Header.Get(header) != "" {
			return true
		}
	}
	return false
}
