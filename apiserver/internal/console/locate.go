package console

import (
	"context"
	"net/http"

	"github.com/raygate/raygate/apiserver/internal/flowcontrol"
	gateway "github.com/raygate/raygate/apiserver/internal/rest"
	"github.com/raygate/raygate/pkg/manifest"
)

// locate returns the positions of the fields of the query in the document of the body, so that pages show the findings of validate_only at
// their lines. It decides nothing.
func (c *Console) locate(w http.ResponseWriter, r *http.Request) {
	c.gate.Enter(w, r, false, func(ctx context.Context, visit *flowcontrol.Visit) error {
		data, err := gateway.ReadObject(ctx, w, r, visit)
		if err != nil {
			return err
		}
		writeJSON(w, map[string]any{"positions": manifest.Locate(data, r.URL.Query()["field"])})
		return nil
	})
}
