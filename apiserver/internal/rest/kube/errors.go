package kube

import (
	"encoding/json"
	"net/http"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/raygate/raygate/apiserver/internal/rest"
	"github.com/raygate/raygate/apiserver/internal/rpcstatus"
)

// WriteError writes an error of the gateway in the format of Kubernetes, because clients of these paths expect it.
func (h *Handler) WriteError(w http.ResponseWriter, err error) {
	st, code := rest.Failure(h.FlowControl.Table, w.Header(), err)
	if rpcstatus.Detail[*errdetails.ErrorInfo](st).GetReason() == "COMPUTE_TEMPLATE_NOT_FOUND" {
		code = http.StatusUnprocessableEntity // as KubeRay's server has it: the object is wrong, and not the state of the cluster
	}
	answer := metav1.Status{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, Status: metav1.StatusFailure, Message: st.Message(), Code: int32(code), Reason: reasons[code],
	}
	if seconds := rest.RetryAfter(st); seconds > 0 {
		answer.Details = &metav1.StatusDetails{RetryAfterSeconds: int32(seconds)}
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(answer)
}

// reasons are Kubernetes' reasons for these codes.
var reasons = map[int]metav1.StatusReason{
	http.StatusBadRequest: metav1.StatusReasonBadRequest, http.StatusUnauthorized: metav1.StatusReasonUnauthorized, http.StatusForbidden: metav1.StatusReasonForbidden,
	http.StatusNotFound: metav1.StatusReasonNotFound, http.StatusMethodNotAllowed: metav1.StatusReasonMethodNotAllowed, http.StatusRequestEntityTooLarge: metav1.StatusReasonRequestEntityTooLarge,
	http.StatusUnprocessableEntity: metav1.StatusReasonInvalid, http.StatusTooManyRequests: metav1.StatusReasonTooManyRequests,
	http.StatusServiceUnavailable: metav1.StatusReasonServiceUnavailable, http.StatusGatewayTimeout: metav1.StatusReasonTimeout, http.StatusInternalServerError: metav1.StatusReasonInternalError,
}
