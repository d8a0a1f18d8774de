package v1

import (
	"cmp"
	"encoding/base64"
	"net/http"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	spb "google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/protobuf/proto"

	modelv1 "github.com/raygate/raygate/apiserver/internal/model/v1"
	"github.com/raygate/raygate/apiserver/internal/rest"
	"github.com/raygate/raygate/apiserver/internal/rpcstatus"
)

// Headers of errors: the reason, and all details as a google.rpc.Status in base64, as gRPC sends them.
const (
	headerReason  = "X-Error-Reason"
	headerDetails = "Grpc-Status-Details-Bin"
)

// WriteError writes an error: code and message in the body, other details in headers.
func (a *API) WriteError(w http.ResponseWriter, err error) {
	header := w.Header()
	st, code := rest.Failure(a.FlowControl.Table, header, err)
	header.Set("Content-Type", typeJSON)
	header.Set(headerReason, rpcstatus.Detail[*errdetails.ErrorInfo](st).GetReason())
	if data, err := proto.Marshal(st.Proto()); err == nil {
		header.Set(headerDetails, base64.RawStdEncoding.EncodeToString(data))
	}
	// The message is never empty: KubeRay's Python client requires it.
	data, err := modelv1.AppendJSON(nil, &spb.Status{Code: int32(st.Code()), Message: cmp.Or(st.Message(), st.Code().String())})
	if err != nil {
		data, code = []byte(`{"code":13,"message":"internal error"}`), http.StatusInternalServerError
	}
	w.WriteHeader(code)
	_, _ = w.Write(data)
}
