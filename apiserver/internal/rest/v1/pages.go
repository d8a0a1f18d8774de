package v1

import (
	"context"
	_ "embed"
	"io/fs"
	"net/http"
	"strings"

	"github.com/raygate/raygate/apiserver/internal/flowcontrol"
	"github.com/raygate/raygate/apiserver/internal/rest"
	"github.com/raygate/raygate/apiserver/internal/rpcstatus"
)

// PagePrefixes are the beginnings of the paths of Pages.
var PagePrefixes = []string{"/metrics", "/swagger"}

// swaggerPage shows the documents of /swagger without fetching anything from elsewhere.
//
//go:embed swagger.html
var swaggerPage []byte

// Pages serves the parts of KubeRay's server besides its API on the same port: metrics, the Swagger documents, which are the files in the
// root of documents, and a page that shows them. Only the metrics require a caller, unless there is no authentication.
func (a *API) Pages(metrics http.Handler, documents fs.FS) http.Handler {
	mux := http.NewServeMux()
	handle := func(pattern, route string, h http.Handler) {
		mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
			rest.SetRoute(w, route)
			h.ServeHTTP(w, r)
		})
	}
	handle("GET /metrics", "/metrics", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		a.gate.Enter(w, r, false, func(context.Context, *flowcontrol.Visit) error {
			metrics.ServeHTTP(w, r)
			return nil
		})
	}))
	handle("GET /swagger/{file}", "/swagger/{file}", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		data, err := fs.ReadFile(documents, r.PathValue("file"))
		if err != nil || !strings.HasSuffix(r.PathValue("file"), ".swagger.json") {
			a.WriteError(w, rpcstatus.PathNotFound("Not Found"))
			return
		}
		w.Header().Set("Content-Type", typeJSON)
		_, _ = w.Write(data)
	}))
	handle("GET /swagger-ui/{$}", "/swagger-ui/", http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { rest.WritePage(w, swaggerPage) }))
	mux.Handle("GET /swagger-ui", http.RedirectHandler("/swagger-ui/", http.StatusMovedPermanently))
	mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) { a.WriteError(w, rpcstatus.PathNotFound("Not Found")) })
	return mux
}
