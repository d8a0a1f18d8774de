package v2

import (
	"net/http"
	"slices"
	"strings"

	"github.com/raygate/raygate/apiserver/internal/rest"
	"github.com/raygate/raygate/apiserver/internal/rpcstatus"
)

// writeError writes any error as a google.rpc.Status.
func (a *API) writeError(w http.ResponseWriter, f format, err error) {
	st, code := rest.Failure(a.Table, w.Header(), err)
	data, err := statusJSON(st.Proto())
	if err == nil {
		data, err = f.encode(data)
	}
	if err != nil {
		data, code = []byte(`{"code":13,"message":"internal error"}`), http.StatusInternalServerError
	}
	w.Header().Set("Content-Type", f.contentType())
	w.WriteHeader(code)
	_, _ = w.Write(data)
}

// noRoute answers a request that no route fits: 404, or 405 with the methods that do fit.
func (a *API) noRoute(w http.ResponseWriter, r *http.Request, f format) {
	path := rpcstatus.Quoted(r.URL.Path)
	if allow := a.routes.Allowed(r.URL.Path); len(allow) > 0 && !slices.Contains(allow, r.Method) {
		w.Header().Set("Allow", strings.Join(allow, ", "))
		a.writeError(w, f, rpcstatus.MethodNotAllowed(r.Method+" is not possible on "+path+": use "+strings.Join(allow, ", ")))
		return
	}
	a.writeError(w, f, rpcstatus.PathNotFound("there is nothing at "+path+"; see /docs"))
}
