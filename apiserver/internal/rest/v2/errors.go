package v2

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/grpc-ecosystem/grpc-gateway/v2/runtime"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/raygate/raygate/apiserver/internal/interceptor"
	"github.com/raygate/raygate/apiserver/internal/rpcstatus"
)

// reasonHTTP are the reasons that have an HTTP status of their own, more precise than that of their gRPC code.
var reasonHTTP = map[string]int{
	"TOO_LARGE":              http.StatusRequestEntityTooLarge,
	"UNSUPPORTED_MEDIA_TYPE": http.StatusUnsupportedMediaType,
	"METHOD_NOT_ALLOWED":     http.StatusMethodNotAllowed,
	"FOREIGN_ORIGIN":         http.StatusForbidden,
}

// errorHandler writes errors of calls and of decoding.
func (a *API) errorHandler(_ context.Context, _ *runtime.ServeMux, m runtime.Marshaler, w http.ResponseWriter, r *http.Request, err error) {
	if b, ok := r.Body.(*body); ok && b.err != nil {
		err = b.err
	}
	if routed, ok := errors.AsType[*runtime.HTTPStatusError](err); ok {
		err = &rpcstatus.Error{Code: codes.InvalidArgument, Reason: "BAD_PATH", Message: routed.Err.Error()}
	}
	a.writeError(w, m, err)
}

// writeError writes any error as a google.rpc.Status. The status of a call is complete and passes as it is.
func (a *API) writeError(w http.ResponseWriter, m runtime.Marshaler, err error) {
	st, ok := status.FromError(err)
	if !ok || errorInfo(st) == nil {
		st, _ = a.Table.Status(err, w.Header().Get("X-Request-Id"))
	}
	code := runtime.HTTPStatusFromCode(st.Code())
	if special, ok := reasonHTTP[errorInfo(st).GetReason()]; ok {
		code = special
	}
	header := w.Header()
	header.Del("Trailer")
	header.Del("Transfer-Encoding")
	header.Del("ETag")
	if st.Code() == codes.Unauthenticated {
		header.Set("WWW-Authenticate", `Bearer realm="kubernetes"`)
	}
	if after := retryAfter(st); after > 0 {
		header.Set("Retry-After", strconv.Itoa(after))
	}
	data, merr := m.Marshal(st.Proto())
	if merr != nil {
		data = []byte(`{"code":13,"message":"internal error"}`)
		code = http.StatusInternalServerError
	}
	header.Set("Content-Type", m.ContentType(nil))
	w.WriteHeader(code)
	_, _ = w.Write(data)
}

func errorInfo(st *status.Status) *errdetails.ErrorInfo {
	return rpcstatus.Detail[*errdetails.ErrorInfo](st)
}

// retryAfter returns the hint in whole seconds, rounded up.
func retryAfter(st *status.Status) int {
	delay := rpcstatus.Detail[*errdetails.RetryInfo](st).GetRetryDelay().AsDuration()
	return int((delay + time.Second - 1) / time.Second)
}

// noRoute answers a request that no route fits: 404, or 405 with the methods that do fit.
func (a *API) noRoute(w http.ResponseWriter, r *http.Request, m runtime.Marshaler) {
	path := cleanPath(r)
	if allow := a.methodsOf(r); len(allow) > 0 && !slices.Contains(allow, r.Method) {
		w.Header().Set("Allow", strings.Join(allow, ", "))
		a.writeError(w, m, &rpcstatus.Error{
			Code: codes.Unimplemented, Reason: "METHOD_NOT_ALLOWED", Message: r.Method + " is not possible on " + path + ": use " + strings.Join(allow, ", "),
		})
		return
	}
	a.writeError(w, m, &rpcstatus.Error{Code: codes.NotFound, Reason: "PATH_NOT_FOUND", Message: "there is nothing at " + path + "; see /docs"})
}

func cleanPath(r *http.Request) string {
	path := strings.ToValidUTF8(r.URL.Path, "?")
	if len(path) > 200 {
		path = path[:200] + "..."
	}
	return path
}

// methodsOf returns the methods that there are on the path of a request.
func (a *API) methodsOf(r *http.Request) []string {
	var allow []string
	for _, method := range []string{http.MethodGet, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete} {
		if a.routes.match(method, r.URL.Path) != nil {
			allow = append(allow, method)
		}
	}
	slices.Sort(allow)
	return allow
}

// streamError passes the status of a stream on. A stream that fails before its first message gets an error like any other call's; the mux,
// which would wrap it as the end of a stream, is kept from writing.
func (a *API) streamError(ctx context.Context, err error) *status.Status {
	st, ok := status.FromError(err)
	if !ok || errorInfo(st) == nil {
		st, _ = a.Table.Status(err, interceptor.RequestIDFrom(ctx))
	}
	if c := callFrom(ctx); c != nil && !c.begun {
		a.WriteError(c, st.Err())
		c.ended = true
	} else if c != nil && c.route.text {
		panic(http.ErrAbortHandler) // no client may take a log that broke off for all of it, or an error for a line of it
	}
	return st
}
