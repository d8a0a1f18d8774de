package console

import (
	"fmt"
	"net/http"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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
