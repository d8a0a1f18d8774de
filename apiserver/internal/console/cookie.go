package console

import (
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

const (
	// tokenCookie is the name of the cookies with a token that a person entered, loginCookie that of the cookies with a sealed session of an identity
	// provider, both without prefix and number. requestCookie is that of a login that has begun.
	tokenCookie, loginCookie, requestCookie = "raygate-session", "raygate-login", "raygate-request"
	// cookiePart is the maximum size of the part of a token in one cookie, in bytes: browsers keep up to 4096 with name and attributes.
	cookiePart = 3600
	// maxCookies bounds the cookies of a session: as much as the longest token needs.
	maxCookies = 14
)

// isSecure reports whether the browser uses TLS, to the gateway or to a proxy in front of it. A forged header of a proxy only changes the name of the
// forger's own cookie.
func isSecure(r *http.Request) bool {
	return r.TLS != nil || r.Header.Get("X-Forwarded-Proto") == "https"
}

// cookieOf returns the name of a cookie. The prefix makes browsers require Secure, the path / and exactly this host, so that no other host of the
// domain can set it.
func cookieOf(r *http.Request, name string) string {
	if isSecure(r) {
		return "__Host-" + name
	}
	return name
}

// partOf returns the name of the n-th cookie of a session.
func partOf(r *http.Request, name string, n int) string {
	return cookieOf(r, name+"-"+strconv.Itoa(n))
}

// takeCookies removes the cookies of sessions from a request, and returns the token that a person entered and the sealed session; both are empty if there
// is none.
func takeCookies(r *http.Request) (token, sealed string) {
	cookies := r.Cookies()
	if !slices.ContainsFunc(cookies, isOfSession) {
		return "", ""
	}
	values := map[string]string{}
	r.Header.Del("Cookie")
	for _, c := range cookies {
		if isOfSession(c) {
			values[c.Name] = c.Value
		} else {
			r.AddCookie(c)
		}
	}
	join := func(name string) string {
		var text strings.Builder
		for n := range maxCookies {
			part, ok := values[partOf(r, name, n)]
			if !ok {
				break
			}
			text.WriteString(part)
		}
		whole, err := url.QueryUnescape(text.String())
		if err != nil {
			return ""
		}
		return whole
	}
	return join(tokenCookie), join(loginCookie)
}

func isOfSession(c *http.Cookie) bool {
	name := strings.TrimPrefix(c.Name, "__Host-")
	return strings.HasPrefix(name, tokenCookie+"-") || strings.HasPrefix(name, loginCookie+"-")
}

// setCookies makes the session of the browser one of a text: a token for tokenCookie, a sealed session for loginCookie. An empty text ends it. Cookies of
// a longer text before go, too.
func setCookies(w http.ResponseWriter, r *http.Request, name, text string) {
	text = url.QueryEscape(text) // of the usual tokens nothing changes
	for n := range maxCookies {
		part := text[:min(len(text), cookiePart)]
		text = text[len(part):]
		c := &http.Cookie{Name: partOf(r, name, n), Value: part, Path: "/", HttpOnly: true, SameSite: http.SameSiteStrictMode, Secure: isSecure(r)}
		if part == "" {
			c.MaxAge = -1
		}
		http.SetCookie(w, c)
	}
}
