package console

import (
	"errors"
	"html/template"
	"net/http"
	"time"

	"google.golang.org/grpc/codes"

	"github.com/raygate/raygate/apiserver/internal/login"
	gateway "github.com/raygate/raygate/apiserver/internal/rest"
	"github.com/raygate/raygate/apiserver/internal/rpcstatus"
)

// The paths of logins with an identity provider. A login begins at beginPath and ends at login.CallbackPath; providers send logout tokens to logoutPath, and
// browsers there.
const (
	loginPrefix = "/oauth2/"
	beginPath   = loginPrefix + "login"
	logoutPath  = loginPrefix + "logout"
)

// askedRate is the number of requests per second to these paths that are answered on average, and askedBurst the number at once.
const askedRate, askedBurst = 20, 200

var errTooMany = &rpcstatus.Error{Code: codes.ResourceExhausted, Reason: "OVERLOADED", Message: "too many logins at once", RetryAfter: time.Second}

// limited limits requests to one of these paths. refuse answers one that is too many.
func (c *Console) limited(serve http.HandlerFunc, refuse func(w http.ResponseWriter, err error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if !c.asked.Allow() {
			refuse(w, errTooMany)
			return
		}
		serve(w, r)
	}
}

// begin leads a browser to the login of a provider.
func (c *Console) begin(w http.ResponseWriter, r *http.Request) {
	address, sealed, err := c.Providers.Begin(r.URL.Query().Get("issuer"), r.URL.Query().Get("next"))
	if err != nil {
		c.showFailure(w, err)
		return
	}
	setRequest(w, r, sealed)
	http.Redirect(w, r, address, http.StatusSeeOther)
}

// setRequest keeps a login that has begun in the browser; an empty one removes it. The cookie is sent with the redirect from the provider, which is
// another site.
func setRequest(w http.ResponseWriter, r *http.Request, sealed string) {
	c := &http.Cookie{
		Name: cookieOf(r, requestCookie), Value: sealed, Path: "/", HttpOnly: true, SameSite: http.SameSiteLaxMode, Secure: isSecure(r), MaxAge: int(login.RequestLife.Seconds()),
	}
	if sealed == "" {
		c.MaxAge = -1
	}
	http.SetCookie(w, c)
}

// finish makes a session of the answer of a provider, if the gateway knows its user.
func (c *Console) finish(w http.ResponseWriter, r *http.Request) {
	sealed := ""
	if kept, err := r.Cookie(cookieOf(r, requestCookie)); err == nil {
		sealed = kept.Value
	}
	done, err := c.Providers.Finish(r.Context(), sealed, r.URL.Query())
	if err == nil {
		r.Header.Set("Authorization", "Bearer "+done.Token)
		_, err = c.identify(r)
	}
	setRequest(w, r, "")
	if err != nil {
		c.showFailure(w, err)
		return
	}
	setCookies(w, r, loginCookie, done.Session)
	setCookies(w, r, tokenCookie, "")
	http.Redirect(w, r, done.Next, http.StatusSeeOther)
}

var failurePage = template.Must(template.New("").Parse(`<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Not logged in</title>
<link rel="stylesheet" href="/ui/app.css"></head><body><main class="login" id="main"><div class="card"><h1>Not logged in</h1>
<div class="error-box" role="alert">{{.}}</div><p><a href="/ui/login">Log in again</a></p></div></main></body></html>
`))

// showFailure shows a person why there is no session.
func (c *Console) showFailure(w http.ResponseWriter, err error) {
	st, code := gateway.Failure(c.FlowControl.Table, w.Header(), err)
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(code)
	_ = failurePage.Execute(w, st.Message())
}

// notify takes a logout token of a provider.
func (c *Console) notify(w http.ResponseWriter, r *http.Request) {
	r.Body = http.MaxBytesReader(w, r.Body, maxLogin)
	if err := r.ParseForm(); err != nil {
		if _, long := errors.AsType[*http.MaxBytesError](err); long {
			w.Header().Set("Connection", "close") // the rest of the body is not read
		}
		c.WriteError(w, rpcstatus.BadField("logout_token", "the form cannot be read"))
		return
	}
	if err := c.Providers.Notify(r.Context(), r.PostForm.Get("logout_token")); err != nil {
		c.WriteError(w, err)
	}
}

// leave takes the request of a browser whose user has logged out at a provider. The answer is the same for every session.
func (c *Console) leave(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Cache-Control", "no-store")
	c.Providers.Leave(r.URL.Query().Get("iss"), r.URL.Query().Get("sid"))
}
