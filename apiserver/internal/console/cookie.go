package console

import (
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

const (
	// cookieName is the name of a session's cookie, without prefix and number.
	cookieName = "raygate-session"
	// cookiePart is how much of a token one cookie has, in bytes: browsers keep up to 4096 with name and attributes, and tokens may be longer.
	cookiePart = 3600
	// maxCookies bounds the cookies of a session: as much as the longest token needs.
	maxCookies = 14
)

// isSecure tells whether the browser speaks TLS, to us or to the proxy before us. Who forges the header of a proxy gets another name for their own cookie.
func isSecure(r *http.Request) bool {
	return r.TLS != nil || r.Header.Get("X-Forwarded-Proto") == "https"
}

// cookieOf returns the name of the n-th cookie. The prefix makes browsers insist on Secure, the path / and this very host, so that no other host of the
// domain can set it.
func cookieOf(r *http.Request, n int) string {
	name := cookieName + "-" + strconv.Itoa(n)
	if isSecure(r) {
		name = "__Host-" + name
	}
	return name
}

// takeCookies removes the cookies of a session from a request, and returns its token; empty when there is none.
func takeCookies(r *http.Request) string {
	cookies := r.Cookies()
	values := map[string]string{}
	others := slices.DeleteFunc(slices.Clone(cookies), func(c *http.Cookie) bool {
		ours := strings.HasPrefix(strings.TrimPrefix(c.Name, "__Host-"), cookieName+"-")
		if ours {
			values[c.Name] = c.Value
		}
		return ours
	})
	if len(values) == 0 {
		return ""
	}
	r.Header.Del("Cookie")
	for _, c := range others {
		r.AddCookie(c)
	}
	var text strings.Builder
	for n := range maxCookies {
		part, ok := values[cookieOf(r, n)]
		if !ok {
			break
		}
		text.WriteString(part)
	}
	token, err := url.QueryUnescape(text.String())
	if err != nil {
		return ""
	}
	return token
}

// setCookies makes the session one of the token; an empty one ends it. Cookies of a longer token before go, too.
func setCookies(w http.ResponseWriter, r *http.Request, token string) {
	text := url.QueryEscape(token) // of the usual tokens nothing changes
	for n := range maxCookies {
		part := text[:min(len(text), cookiePart)]
		text = text[len(part):]
		c := &http.Cookie{Name: cookieOf(r, n), Value: part, Path: "/", HttpOnly: true, SameSite: http.SameSiteStrictMode, Secure: isSecure(r)}
		if part == "" {
			c.MaxAge = -1
		}
		http.SetCookie(w, c)
	}
}
