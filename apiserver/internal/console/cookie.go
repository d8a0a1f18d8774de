package console

import (
	"net/http"
	"net/url"
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

// isSecure reports whether the browser uses TLS, to the gateway or to a proxy in front of it. A forged header of a proxy only changes the name of the
// forger's own cookie.
func isSecure(r *http.Request) bool {
	return r.TLS != nil || r.Header.Get("X-Forwarded-Proto") == "https"
}

// cookieOf returns the name of the n-th cookie. The prefix makes browsers require Secure, the path / and exactly this host, so that no
// other host of the domain can set it.
func cookieOf(r *http.Request, n int) string {
	name := cookieName + "-" + strconv.Itoa(n)
	if isSecure(r) {
		name = "__Host-" + name
	}
	return name
}

// takeCookies removes the cookies of a session from a request, and returns its token; empty if there is none.
func takeCookies(r *http.Request) string {
	if !strings.Contains(strings.Join(r.Header["Cookie"], ";"), cookieName) {
		return ""
	}
	cookies := r.Cookies()
	values := map[string]string{}
	r.Header.Del("Cookie")
	for _, c := range cookies {
		if strings.HasPrefix(strings.TrimPrefix(c.Name, "__Host-"), cookieName+"-") {
			values[c.Name] = c.Value
		} else {
			r.AddCookie(c)
		}
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
