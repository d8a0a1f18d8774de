package console

import (
	"net/http"

	gateway "github.com/raygate/raygate/apiserver/internal/rest"
	"github.com/raygate/raygate/pkg/manifest"
)

// locate returns the positions of the fields of the query in the document of the body, so that pages show the findings of validate_only at
// their lines. It decides nothing.
func (c *Console) locate(w http.ResponseWriter, r *http.Request) {
	ctx, visit, err := c.FlowControl.Enter(r.Context(), r, false)
	if err != nil {
		c.WriteError(w, gateway.Refused(c.FlowControl, c.Table, w.Header(), err))
		return
	}
	defer visit.Leave()
	data, err := gateway.ReadObject(ctx, w, r, visit)
	if err != nil {
		w.Header().Set("Connection", "close") // the rest of the body is not read
		c.WriteError(w, err)
		return
	}
	writeJSON(w, struct {
		Positions map[string]manifest.Position `json:"positions"`
	}{manifest.Locate(data, r.URL.Query()["field"])})
}
