package controlplane

import (
	"sync"

	"k8s.io/client-go/rest"
)

// Warnings keeps the warnings that the API server sends to a client: the WarningHandler of its rest.Config. The zero value is ready.
type Warnings struct {
	mu    sync.Mutex
	texts []string
}

var _ rest.WarningHandler = (*Warnings)(nil)

// HandleWarningHeader implements rest.WarningHandler.
func (w *Warnings) HandleWarningHeader(_ int, _, text string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.texts = append(w.texts, text)
}

// Take returns the warnings since the last call.
func (w *Warnings) Take() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	texts := w.texts
	w.texts = nil
	return texts
}
