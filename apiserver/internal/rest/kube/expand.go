package kube

import (
	"encoding/json"
	"fmt"
	"mime"
	"net/http"
	"strings"

	"github.com/raygate/raygate/pkg/manifest"
)

// expand returns the body of an object with its compute templates expanded. A body without templates, or an unreadable one, is passed to
// Kubernetes unchanged.
func (h *Handler) expand(r *http.Request, namespace string, data []byte) ([]byte, error) {
	mediaType, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	isYAML := strings.Contains(mediaType, "yaml")
	if err != nil && r.Header.Get("Content-Type") != "" || !isYAML && mediaType != "" && mediaType != "application/json" {
		return data, nil // Kubernetes decides about the type
	}
	tree, _ := manifest.Read(data, isYAML)
	if tree == nil {
		return data, nil
	}
	expanded, err := h.Expand(r.Context(), namespace, tree)
	if err != nil || !expanded {
		return data, err
	}
	out, err := json.Marshal(tree)
	if err != nil {
		return nil, fmt.Errorf("encoding an object: %w", err)
	}
	r.Header.Set("Content-Type", "application/json")
	return out, nil
}
