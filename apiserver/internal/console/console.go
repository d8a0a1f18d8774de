package console

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"

	"github.com/klauspost/compress/gzhttp"
	"golang.org/x/time/rate"
	"k8s.io/client-go/rest"

	"github.com/raygate/raygate/apiserver/internal/authz"
	"github.com/raygate/raygate/apiserver/internal/flowcontrol"
	"github.com/raygate/raygate/apiserver/internal/login"
	gateway "github.com/raygate/raygate/apiserver/internal/rest"
	"github.com/raygate/raygate/apiserver/internal/rpcstatus"
)

// Prefix of the paths of the console.
const Prefix = "/ui/"

// Options of New. All are required but Providers, Rules and the last three.
type Options struct {
	// Login is whether tokens identify callers. If not, there is nothing to log in with.
	Login bool
	// Providers are the identity providers to log in with, beside tokens. Nil means none.
	Providers *login.Login
	// FlowControl decides on a request before its body is read.
	FlowControl *flowcontrol.Controller
	// WriteError writes an error as the REST API does.
	WriteError func(w http.ResponseWriter, err error)
	// Authorizer authorizes callers.
	Authorizer authz.Authorizer
	// Rules returns all permissions of a caller in a namespace. Nil means that Authorizer checks each access.
	Rules authz.RulesReview
	// Core reads Pods and namespaces with the caller's credentials.
	Core rest.Interface
	// Namespaces are the namespaces that the gateway serves. Empty means all.
	Namespaces []string
	// Version of the gateway, which the pages show.
	Version string
	// History means that the gateway has a history store.
	History bool
	// PastDashboards means that the gateway has Ray's pages for past sessions.
	PastDashboards bool
}

// Console serves everything below Prefix.
type Console struct {
	Options
	mux  *http.ServeMux
	gate gateway.Gate
	// asked limits requests that make the gateway ask an identity provider and need no credentials.
	asked *rate.Limiter
}

// New returns a Console.
func New(o Options) (*Console, error) {
	c := &Console{Options: o, mux: http.NewServeMux(), asked: rate.NewLimiter(askedRate, askedBurst)}
	c.gate = gateway.Gate{FlowControl: o.FlowControl, WriteError: o.WriteError}
	files, err := newFiles()
	if err != nil {
		return nil, err
	}
	compressed, err := gzhttp.NewWrapper(gzhttp.EnableZstd(false))
	if err != nil {
		return nil, fmt.Errorf("making the compression: %w", err)
	}
	c.mux.HandleFunc("GET "+sessionPath, c.getSession)
	c.mux.HandleFunc("POST "+sessionPath, c.enter)
	c.mux.HandleFunc("DELETE "+sessionPath, c.logout)
	if c.Providers != nil {
		c.mux.HandleFunc("GET "+beginPath, c.limited(c.begin, c.showFailure))
		c.mux.HandleFunc("GET "+login.CallbackPath, c.limited(c.finish, c.showFailure))
		c.mux.HandleFunc("POST "+logoutPath, c.limited(c.notify, c.WriteError))
		c.mux.HandleFunc("GET "+logoutPath, c.limited(c.leave, c.WriteError))
	}
	c.read("/ui/api/rights", c.rights)
	c.read("/ui/api/namespaces", c.namespaces)
	c.read("/ui/api/namespaces/{namespace}/{resource}/{name}/pods", c.pods)
	c.mux.HandleFunc("POST /ui/api/locate", c.locate)
	for _, taken := range []string{sessionPath, "/ui/api/", loginPrefix} { // never a page, whatever the method
		c.mux.HandleFunc(taken, c.notFound)
	}
	c.mux.Handle("/ui/", compressed(files))
	c.mux.Handle("/ui", http.RedirectHandler(Prefix, http.StatusFound))
	return c, nil
}

// APIs are the paths of the console. Only its own pages read a caller's data; its files are public.
func (c *Console) APIs() []gateway.API {
	return []gateway.API{
		// A provider redirects to the first one, from another site. The state of the login protects it.
		{Prefix: login.CallbackPath, Handler: c, WriteError: c.WriteError, OwnPages: true, Public: true},
		// A page of a provider shows this one. The id of the session protects it.
		{Prefix: logoutPath, Handler: c, WriteError: c.WriteError, OwnPages: true, Public: true},
		{Prefix: loginPrefix, Handler: c, WriteError: c.WriteError, OwnPages: true},
		{Prefix: Prefix + "api/", Handler: c, WriteError: c.WriteError, OwnPages: true},
		{Prefix: sessionPath, Handler: c, WriteError: c.WriteError, OwnPages: true},
		{Prefix: Prefix, Handler: c, WriteError: c.WriteError, OwnPages: true, Public: true},
	}
}

// policy is the Content-Security-Policy of every answer: nothing but files of this server, no inline script or style, no other host.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"

// ServeHTTP implements http.Handler.
func (c *Console) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Content-Security-Policy", policy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	_, pattern := c.mux.Handler(r)
	gateway.SetRoute(w, pattern)
	c.mux.ServeHTTP(w, r)
}

// read serves GET at path with the result of answer for the caller, as JSON.
func (c *Console) read(path string, answer func(r *http.Request) (any, error)) {
	c.mux.HandleFunc("GET "+path, func(w http.ResponseWriter, r *http.Request) {
		c.gate.Enter(w, r, false, func(ctx context.Context, _ *flowcontrol.Visit) error {
			gateway.LiftReadLimit(w)
			body, err := answer(r.WithContext(ctx))
			if err != nil {
				c.WriteError(w, err)
				return nil
			}
			writeJSON(w, body)
			return nil
		})
	})
}

func (c *Console) notFound(w http.ResponseWriter, r *http.Request) {
	c.WriteError(w, rpcstatus.PathNotFound("there is nothing for "+rpcstatus.Quoted(r.Method+" "+r.URL.Path)+"; see /docs"))
}

func writeJSON(w http.ResponseWriter, body any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(body)
}
