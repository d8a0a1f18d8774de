package main

import (
	"html/template"
	"net/http"
	"net/url"
)

// cookie is the name of the cookie with the id of a session.
const cookie = "oidc-session"

var page = template.Must(template.New("").Parse(`<!doctype html><html lang="en"><title>Identity provider</title><h1>Identity provider for tests</h1>
{{with .Problem}}<p role="alert">{{.}}</p>{{end}}{{with .Text}}<p>{{.}}</p>{{end}}
{{if .Form}}<form method="post">{{if .Device}}<p><label>Code <input name="user_code" value="{{.Code}}"></label></p>{{end}}
<p><label>User <input name="user" autofocus></label></p><p><label>Password <input name="password" type="password"></label></p>
<button>Sign in</button></form>{{end}}`))

// view is the content of page.
type view struct {
	Problem, Text, Code string
	Form, Device        bool
}

// pages are what people see.
type pages struct {
	store    *storage
	callback string // where a request for a code continues after the login
}

func show(w http.ResponseWriter, code int, v view) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(code)
	_ = page.Execute(w, v)
}

// ofBrowser returns the session of a browser, nil for none.
func (p *pages) ofBrowser(r *http.Request) *session {
	c, err := r.Cookie(cookie)
	if err != nil {
		return nil
	}
	return p.store.find(c.Value)
}

// logIn begins a session of the browser with what its form has, or shows the form again.
func (p *pages) logIn(w http.ResponseWriter, r *http.Request, again view) *session {
	begun := p.store.logIn(r.PostFormValue("user"), r.PostFormValue("password"))
	if begun == nil {
		again.Form, again.Problem = true, "The user or the password is wrong."
		show(w, http.StatusUnauthorized, again)
		return nil
	}
	http.SetCookie(w, &http.Cookie{Name: cookie, Value: begun.id, Path: "/", HttpOnly: true, Secure: true, SameSite: http.SameSiteLaxMode})
	return begun
}

// login serves the login of a request for a code. A browser with a session is not asked again.
func (p *pages) login(w http.ResponseWriter, r *http.Request) {
	of := p.ofBrowser(r)
	switch {
	case r.Method == http.MethodPost:
		if of = p.logIn(w, r, view{}); of == nil {
			return
		}
	case of == nil:
		show(w, http.StatusOK, view{Form: true})
		return
	}
	id := r.URL.Query().Get("id")
	if !p.store.settle(id, of) {
		show(w, http.StatusBadRequest, view{Problem: "This login is not known, or has been used."})
		return
	}
	http.Redirect(w, r, p.callback+"?"+url.Values{"id": {id}}.Encode(), http.StatusFound)
}

// device serves the page where people enter the code of a device.
func (p *pages) device(w http.ResponseWriter, r *http.Request) {
	form := view{Form: true, Device: true, Code: r.FormValue("user_code")}
	if r.Method != http.MethodPost {
		show(w, http.StatusOK, form)
		return
	}
	of := p.logIn(w, r, form)
	switch {
	case of == nil:
	case p.store.approve(r.PostFormValue("user_code"), of):
		show(w, http.StatusOK, view{Text: "The device is logged in. You can close this page."})
	default:
		form.Problem = "This code is not known, or has expired."
		show(w, http.StatusBadRequest, form)
	}
}

func (p *pages) loggedOut(w http.ResponseWriter, _ *http.Request) {
	show(w, http.StatusOK, view{Text: "You are logged out."})
}

// endSession ends the session of the browser, and lets next decide where it leads.
func (p *pages) endSession(next http.Handler) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if of := p.ofBrowser(r); of != nil {
			_ = p.store.end(r.Context(), func(u *session) bool { return u == of }, true) // a client that is away learns it later
			http.SetCookie(w, &http.Cookie{Name: cookie, Path: "/", MaxAge: -1})
		}
		next.ServeHTTP(w, r)
	}
}
