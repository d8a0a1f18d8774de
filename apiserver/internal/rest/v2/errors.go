package v2

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"

	"github.com/grpc-ecosystem/grpc-gateway/v2/runtime"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/raygate/raygate/apiserver/internal/interceptor"
	"github.com/raygate/raygate/apiserver/internal/rest"
	"github.com/raygate/raygate/apiserver/internal/rpcstatus"
)

// errorHandler writes errors of streams that have not begun.
func (a *API) errorHandler(_ context.Context, _ *runtime.ServeMux, m runtime.Marshaler, w http.ResponseWriter, _ *http.Request, err error) {
	if routed, ok := errors.AsType[*runtime.HTTPStatusError](err); ok {
		err = &rpcstatus.Error{Code: codes.InvalidArgument, Reason: "BAD_PATH", Message: routed.Err.Error()}
	}
	a.writeError(w, m, err)
}

// writeError writes any error as a google.rpc.Status.
func (a *API) writeError(w http.ResponseWriter, m runtime.Marshaler, err error) {
	st, code := rest.Failure(a.Table, w.Header(), err)
	data, merr := m.Marshal(st.Proto())
	if merr != nil {
		data = []byte(`{"code":13,"message":"internal error"}`)
		code = http.StatusInternalServerError
	}
	w.Header().Set("Content-Type", m.ContentType(nil))
	w.WriteHeader(code)
	_, _ = w.Write(data)
}

// noRoute answers a request that no route fits: 404, or 405 with the methods that do fit.
func (a *API) noRoute(w http.ResponseWriter, r *http.Request, m runtime.Marshaler) {
	path := rpcstatus.Quoted(r.URL.Path)
	if allow := a.methodsOf(r); len(allow) > 0 && !slices.Contains(allow, r.Method) {
		w.Header().Set("Allow", strings.Join(allow, ", "))
		a.writeError(w, m, rpcstatus.MethodNotAllowed(r.Method+" is not possible on "+path+": use "+strings.Join(allow, ", ")))
		return
	}
	a.writeError(w, m, rpcstatus.PathNotFound("there is nothing at "+path+"; see /docs"))
}

// methodsOf returns the methods that there are on the path of a request.
func (a *API) methodsOf(r *http.Request) []string {
	var allow []string
	parts := strings.Split(r.URL.Path, "/")
	for _, method := range []string{http.MethodGet, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete} {
		if a.routes.match(method, parts) != nil {
			allow = append(allow, method)
		}
	}
	slices.Sort(allow)
	return allow
}

// streamError passes the status of a stream on. A stream that fails before its first message gets an error like any other call's; the mux,
// which would wrap it as the end of a stream, is kept from writing.
func (a *API) streamError(ctx context.Context, err error) *status.Status {
	st, _ := a.Table.Status(err, interceptor.RequestIDFrom(ctx))
	if c := callFrom(ctx); c != nil && !c.begun {
		a.WriteError(c, st.Err())
		c.ended = true
	} else if c != nil && c.route.text {
		panic(http.ErrAbortHandler) // no client may take a log that broke off for all of it, or an error for a line of it
	}
	return st
}
