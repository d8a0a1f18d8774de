package rest

import (
	"net/http"
	"strconv"
	"time"

	"github.com/grpc-ecosystem/grpc-gateway/v2/runtime"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/raygate/raygate/apiserver/internal/flowcontrol"
	"github.com/raygate/raygate/apiserver/internal/rpcstatus"
)

// reasonHTTP are the reasons that have an HTTP status of their own, more precise than that of their gRPC code.
var reasonHTTP = map[string]int{
	"TOO_LARGE":              http.StatusRequestEntityTooLarge,
	"UNSUPPORTED_MEDIA_TYPE": http.StatusUnsupportedMediaType,
	"METHOD_NOT_ALLOWED":     http.StatusMethodNotAllowed,
	"FOREIGN_ORIGIN":         http.StatusForbidden,
}

// Failure prepares the answer that an error is: it sets the headers that every API version sends, and returns the status, complete with its details, and the
// HTTP status. The status of a call is complete and passes as it is.
func Failure(table *rpcstatus.Table, header http.Header, err error) (st *status.Status, code int) {
	st, _ = table.Status(err, header.Get("X-Request-Id"))
	code = runtime.HTTPStatusFromCode(st.Code())
	if special, ok := reasonHTTP[rpcstatus.Detail[*errdetails.ErrorInfo](st).GetReason()]; ok {
		code = special
	}
	for _, name := range []string{"Trailer", "Transfer-Encoding", "ETag"} {
		header.Del(name)
	}
	if st.Code() == codes.Unauthenticated {
		header.Set("WWW-Authenticate", `Bearer realm="kubernetes"`)
	}
	if after := RetryAfter(st); after > 0 {
		header.Set("Retry-After", strconv.Itoa(after))
	}
	return st, code
}

// Refused returns the error to write to a client that flow control did not let in. It counts the refusal, and closes the connection, since the body is not read.
func Refused(e *flowcontrol.Controller, header http.Header, err error) error {
	st, _ := e.Table.Status(err, header.Get("X-Request-Id"))
	e.Refused("http", st.Code())
	header.Set("Connection", "close")
	return st.Err()
}

// RetryAfter returns the hint of a status when to try again, in whole seconds, rounded up; zero for none.
func RetryAfter(st *status.Status) int {
	delay := rpcstatus.Detail[*errdetails.RetryInfo](st).GetRetryDelay().AsDuration()
	return int((delay + time.Second - 1) / time.Second)
}
