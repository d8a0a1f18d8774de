package console

import (
	"context"
	"fmt"
	"net/http"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/raygate/raygate/apiserver/internal/flowcontrol"
	gateway "github.com/raygate/raygate/apiserver/internal/rest"
	"github.com/raygate/raygate/pkg/manifest"
)

// maxNamespaces is the number of namespaces that a page offers; with more it asks for the name.
const maxNamespaces = 5000

type namespacesAnswer struct {
	Namespaces []string `json:"namespaces"`
	// Complete means that there are no others. False means that the caller may not list them, or that there are too many.
	Complete bool `json:"complete"`
	// All means that the gateway serves more than single namespaces, so that a list may cover all of them.
	All bool `json:"all"`
}

// namespaces returns the namespaces that the gateway serves, or that the caller may list.
func (c *Console) namespaces(r *http.Request) (any, error) {
	if len(c.Namespaces) > 0 {
		return namespacesAnswer{Namespaces: slices.Sorted(slices.Values(c.Namespaces)), Complete: true}, nil
	}
	answer := namespacesAnswer{Namespaces: []string{}, All: true}
	var list corev1.NamespaceList
	err := c.Core.Get().Resource("namespaces").VersionedParams(&metav1.ListOptions{Limit: maxNamespaces}, metav1.ParameterCodec).Do(r.Context()).Into(&list)
	switch {
	case apierrors.IsForbidden(err):
		return answer, nil
	case err != nil:
		return nil, fmt.Errorf("listing namespaces: %w", err)
	}
	for i := range list.Items {
		answer.Namespaces = append(answer.Namespaces, list.Items[i].Name)
	}
	slices.Sort(answer.Namespaces)
	answer.Complete = list.Continue == ""
	return answer, nil
}

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
