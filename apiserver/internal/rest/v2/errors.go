package v2

import (
	"net/http"

	"github.com/raygate/raygate/apiserver/internal/rest"
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
