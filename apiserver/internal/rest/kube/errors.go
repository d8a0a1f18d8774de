package kube

import (
	"encoding/json"
	"net/http"
	"strconv"
	"time"

	"github.com/grpc-ecosystem/grpc-gateway/v2/runtime"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/raygate/raygate/apiserver/internal/rpcstatus"
)

func httpStatus(c codes.Code) int { return runtime.HTTPStatusFromCode(c) }

// WriteError writes an error that arises here as Kubernetes writes its own, because that is what the clients of these paths read.
func (h *Handler) WriteError(w http.ResponseWriter, err error) {
	st, ok := status.FromError(err)
	if !ok || rpcstatus.Detail[*errdetails.ErrorInfo](st) == nil {
		st, _ = h.Table.Status(err, w.Header().Get("X-Request-Id"))
	}
	code := codeOf(st, rpcstatus.Detail[*errdetails.ErrorInfo](st).GetReason())
	answer := metav1.Status{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, Status: metav1.StatusFailure, Message: st.Message(), Code: int32(code), Reason: reasons[code],
	}
	if delay := rpcstatus.Detail[*errdetails.RetryInfo](st).GetRetryDelay().AsDuration(); delay > 0 {
		seconds := int((delay + time.Second - 1) / time.Second)
		w.Header().Set("Retry-After", strconv.Itoa(seconds))
		answer.Details = &metav1.StatusDetails{RetryAfterSeconds: int32(seconds)}
	}
	if code == http.StatusUnauthorized {
		w.Header().Set("WWW-Authenticate", `Bearer realm="kubernetes"`)
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(answer)
}

// reasons are what Kubernetes says of these codes.
var reasons = map[int]metav1.StatusReason{
	http.StatusBadRequest: metav1.StatusReasonBadRequest, http.StatusUnauthorized: metav1.StatusReasonUnauthorized, http.StatusForbidden: metav1.StatusReasonForbidden,
	http.StatusNotFound: metav1.StatusReasonNotFound, http.StatusMethodNotAllowed: metav1.StatusReasonMethodNotAllowed, http.StatusRequestEntityTooLarge: metav1.StatusReasonRequestEntityTooLarge,
	http.StatusUnprocessableEntity: metav1.StatusReasonInvalid, http.StatusTooManyRequests: metav1.StatusReasonTooManyRequests,
	http.StatusServiceUnavailable: metav1.StatusReasonServiceUnavailable, http.StatusGatewayTimeout: metav1.StatusReasonTimeout, http.StatusInternalServerError: metav1.StatusReasonInternalError,
}
