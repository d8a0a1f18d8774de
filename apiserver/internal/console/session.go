package console

import (
	"context"
	"encoding/json"
	"io"
	"mime"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strings"
	"time"

	"google.golang.org/grpc/codes"

	"github.com/raygate/raygate/apiserver/internal/authn"
	"github.com/raygate/raygate/apiserver/internal/login"
	gateway "github.com/raygate/raygate/apiserver/internal/rest"
	"github.com/raygate/raygate/apiserver/internal/rpcstatus"
)

// maxLogin is the longest body of a login in bytes: a token in JSON or a form.
const maxLogin = 64 << 10

var errNoLogin = &rpcstatus.Error{Code: codes.FailedPrecondition, Reason: "NO_LOGIN", Message: "this gateway takes no tokens (--authentication), so that there is nothing to log in with"}

// session describes the session of a browser. It never has the token.
type session struct {
	// Authenticated means that calls have a caller.
	Authenticated bool `json:"authenticated"`
	// Login means that a session needs a token.
	Login  bool     `json:"login"`
	User   string   `json:"user,omitempty"`
	Groups []string `json:"groups,omitempty"`
	// Message is the reason why credentials do not identify a caller.
	Message string `json:"message,omitempty"`
	Version string `json:"version,omitempty"`
	// History means that pages about ended objects have something to show.
	History bool `json:"history,omitempty"`
	// PastDashboards means that past sessions open in Ray's pages.
	PastDashboards bool `json:"pastDashboards,omitempty"`
	// Providers are the identity providers to log in with.
	Providers []login.Choice `json:"providers,omitempty"`
	// LogoutURL is where the browser ends its session at the provider, after a logout here.
	LogoutURL string `json:"logoutURL,omitempty"`
}

const sessionPath = Prefix + "session"

var (
	// longestCall is how long a request may go on after the time at which its session has to be renewed. Watches end then, and pages open them again.
	longestCall = time.Minute
	// endedInterval is how often it is checked whether the session of an open request has ended.
	endedInterval = 10 * time.Second
)

// sharesSession are the paths whose calls may use a session.
var sharesSession = []string{"/apis/v2/", Prefix + "api/", sessionPath + "/"}

// WithSession lets the pages of the console use the REST API by their session: it turns the cookie into an Authorization header. It does so
// only if the browser reports that the request comes from a page of this server, which no page can forge. Pages of other sites, and those
// of dashboards, whose sandbox gives them another origin, get no session. The cookie is removed in any case.
func (c *Console) WithSession(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		token, sealed := takeCookies(r)
		switch {
		case !c.Login || r.Header.Get("Sec-Fetch-Site") != "same-origin" || r.Header.Get("Authorization") != "" || !hasPrefix(r.URL.Path, sharesSession):
		case sealed != "" && c.Providers != nil:
			if path.Clean(r.URL.Path) == sessionPath { // which reads, replaces and ends sessions itself
				r = r.WithContext(context.WithValue(r.Context(), sealedKey{}, sealed))
				break
			}
			current, err := c.resume(w, r, sealed)
			if err != nil {
				c.WriteError(w, err)
				return
			}
			ctx, cancel := context.WithCancel(c.Providers.WithMark(r.Context(), current))
			defer cancel()
			defer time.AfterFunc(c.Providers.Lasts(current)+longestCall, cancel).Stop()
			defer gateway.EndWhen(ctx, cancel, endedInterval, func() bool { return c.Providers.Check(login.MarkFrom(ctx)) != nil }).Stop()
			r = r.WithContext(ctx)
		case token != "":
			r.Header.Set("Authorization", "Bearer "+token)
		}
		next.ServeHTTP(w, r)
	})
}

type sealedKey struct{}

// sealedOf returns the sealed session of a request for sessionPath; empty for none.
func sealedOf(r *http.Request) string {
	sealed, _ := r.Context().Value(sealedKey{}).(string)
	return sealed
}

// resume makes a request one of a sealed session, and gives the browser the session that replaces it if it was renewed. It returns the current one.
func (c *Console) resume(w http.ResponseWriter, r *http.Request, sealed string) (current string, err error) {
	token, renewed, err := c.Providers.Resume(r.Context(), sealed)
	if err != nil {
		return "", err
	}
	if renewed != "" {
		setCookies(w, r, loginCookie, renewed)
		sealed = renewed
	}
	r.Header.Set("Authorization", "Bearer "+token)
	return sealed, nil
}

func hasPrefix(requested string, prefixes []string) bool {
	clean := path.Clean(requested) + "/"
	return slices.ContainsFunc(prefixes, func(prefix string) bool { return strings.HasPrefix(clean, prefix) })
}

// getSession returns the identity of the caller. A missing caller is an answer and no error, because the login page calls this as well.
func (c *Console) getSession(w http.ResponseWriter, r *http.Request) {
	if sealed := sealedOf(r); sealed != "" {
		switch _, err := c.resume(w, r, sealed); {
		case login.HasEnded(err):
			setCookies(w, r, loginCookie, "")
			writeJSON(w, c.nobody(err.Error()))
			return
		case err != nil:
			c.WriteError(w, err)
			return
		}
	}
	if c.Login && r.Header.Get("Authorization") == "" && !authn.HasCertificate(r) {
		writeJSON(w, c.nobody(""))
		return
	}
	s, err := c.identify(r)
	if err == nil {
		writeJSON(w, s)
		return
	}
	st, _ := c.FlowControl.Table.Status(err, r.Header.Get("X-Request-Id"))
	if st.Code() != codes.Unauthenticated && st.Code() != codes.PermissionDenied {
		c.WriteError(w, gateway.Refused(c.FlowControl, w.Header(), err))
		return
	}
	if c.Login {
		endSession(w, r) // of a token that has ended
	}
	writeJSON(w, c.nobody(st.Message()))
}

func (c *Console) nobody(why string) session {
	s := session{Login: c.Login, Message: why, Version: c.Version}
	if c.Providers != nil {
		s.Providers = c.Providers.Choices()
	}
	return s
}

// identify admits the request like any call, and returns its identity.
func (c *Console) identify(r *http.Request) (session, error) {
	ctx, visit, err := c.FlowControl.Enter(r.Context(), r, false)
	if err != nil {
		return session{}, err
	}
	visit.Leave()
	caller := authn.CallerFrom(ctx)
	return session{Authenticated: true, Login: c.Login, User: caller.Name(), Groups: caller.Groups(), Version: c.Version, History: c.History, PastDashboards: c.PastDashboards}, nil
}

// enter makes a session of a token that Kubernetes accepts.
func (c *Console) enter(w http.ResponseWriter, r *http.Request) {
	if !c.Login {
		c.WriteError(w, errNoLogin)
		return
	}
	token, err := readToken(w, r)
	if err != nil {
		w.Header().Set("Connection", "close") // the rest of the body is not read
		c.WriteError(w, err)
		return
	}
	gateway.LiftReadLimit(w)
	r.Header.Set("Authorization", "Bearer "+token)
	s, err := c.identify(r)
	if err != nil {
		c.WriteError(w, gateway.Refused(c.FlowControl, w.Header(), err))
		return
	}
	setCookies(w, r, tokenCookie, token)
	setCookies(w, r, loginCookie, "")
	if isForm(r) {
		http.Redirect(w, r, Prefix, http.StatusSeeOther)
		return
	}
	writeJSON(w, s)
}

// logout ends the session in the browser. A token that a person entered stays valid: only Kubernetes can revoke it.
func (c *Console) logout(w http.ResponseWriter, r *http.Request) {
	s := c.nobody("")
	if sealed := sealedOf(r); sealed != "" {
		s.LogoutURL = c.Providers.End(r.Context(), sealed)
	}
	endSession(w, r)
	writeJSON(w, s)
}

func endSession(w http.ResponseWriter, r *http.Request) {
	for _, name := range []string{tokenCookie, loginCookie} {
		setCookies(w, r, name, "")
	}
}

func isForm(r *http.Request) bool {
	mediaType, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type"))
	return mediaType == "application/x-www-form-urlencoded"
}

// readToken reads the body of a login. No error repeats any of it.
func readToken(w http.ResponseWriter, r *http.Request) (string, error) {
	data, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxLogin))
	if err != nil {
		return "", &rpcstatus.Error{Code: codes.InvalidArgument, Reason: "BODY_INCOMPLETE", Message: "the login cannot be read, or is longer than any token"}
	}
	var token string
	if isForm(r) {
		values, err := url.ParseQuery(string(data))
		if err != nil {
			return "", rpcstatus.BadField("token", "the form cannot be read")
		}
		token = values.Get("token")
	} else {
		var body struct {
			Token string `json:"token"`
		}
		if json.Unmarshal(data, &body) != nil {
			return "", rpcstatus.BadField("token", `send {"token": "..."} or a form with a field token`)
		}
		token = body.Token
	}
	if token = strings.TrimSpace(token); token == "" {
		return "", rpcstatus.BadField("token", "required: a Kubernetes token, such as kubectl create token prints")
	}
	return strings.TrimSpace(strings.TrimPrefix(token, "Bearer ")), nil
}
