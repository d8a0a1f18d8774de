package console

import (
	"encoding/json"
	"io"
	"mime"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strings"

	"google.golang.org/grpc/codes"

	"github.com/raygate/raygate/apiserver/internal/authn"
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
}

// sharesSession are the paths whose calls may use a session.
var sharesSession = []string{"/apis/v2/", Prefix}

// WithSession lets the pages of the console use the REST API by their session: it turns the cookie into an Authorization header. It does so
// only if the browser reports that the request comes from a page of this server, which no page can forge. Pages of other sites, and those
// of dashboards, whose sandbox gives them another origin, get no session. The cookie is removed in any case.
func (c *Console) WithSession(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		token := takeCookies(r)
		if c.Login && token != "" && r.Header.Get("Sec-Fetch-Site") == "same-origin" && r.Header.Get("Authorization") == "" && hasPrefix(r.URL.Path, sharesSession) {
			r.Header.Set("Authorization", "Bearer "+token)
		}
		next.ServeHTTP(w, r)
	})
}

func hasPrefix(requested string, prefixes []string) bool {
	clean := path.Clean(requested) + "/"
	return slices.ContainsFunc(prefixes, func(prefix string) bool { return strings.HasPrefix(clean, prefix) })
}

// getSession returns the identity of the caller. A missing caller is an answer and no error, because the login page calls this as well.
func (c *Console) getSession(w http.ResponseWriter, r *http.Request) {
	if c.Login && r.Header.Get("Authorization") == "" && !authn.HasCertificate(r) {
		writeJSON(w, c.nobody(""))
		return
	}
	s, err := c.identify(r)
	if err == nil {
		writeJSON(w, s)
		return
	}
	st, _ := c.Table.Status(err, r.Header.Get("X-Request-Id"))
	if st.Code() != codes.Unauthenticated && st.Code() != codes.PermissionDenied {
		c.WriteError(w, gateway.Refused(c.FlowControl, c.Table, w.Header(), err))
		return
	}
	if c.Login {
		setCookies(w, r, "") // of a token that has ended
	}
	writeJSON(w, c.nobody(st.Message()))
}

func (c *Console) nobody(why string) session {
	return session{Login: c.Login, Message: why, Version: c.Version}
}

// identify admits the request like any call, and returns its identity.
func (c *Console) identify(r *http.Request) (session, error) {
	ctx, visit, err := c.FlowControl.Enter(r.Context(), r, false)
	if err != nil {
		return session{}, err
	}
	visit.Leave()
	caller := authn.CallerFrom(ctx)
	return session{Authenticated: true, Login: c.Login, User: caller.Name(), Groups: caller.Groups(), Version: c.Version}, nil
}

// login makes a session of a token that Kubernetes accepts.
func (c *Console) login(w http.ResponseWriter, r *http.Request) {
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
		c.WriteError(w, gateway.Refused(c.FlowControl, c.Table, w.Header(), err))
		return
	}
	setCookies(w, r, token)
	if isForm(r) {
		http.Redirect(w, r, Prefix, http.StatusSeeOther)
		return
	}
	writeJSON(w, s)
}

// logout ends the session in the browser. The token itself stays valid: only Kubernetes can revoke it.
func (c *Console) logout(w http.ResponseWriter, r *http.Request) {
	setCookies(w, r, "")
	writeJSON(w, c.nobody(""))
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
