package owned

import (
	"context"
	"sync/atomic"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/source"
)

// Waker puts owners into the work queue of a controller, for those that find out by themselves when to look at one. It does nothing before its
// Source has started. The zero value is ready to use, also from several goroutines.
type Waker struct{ queue atomic.Pointer[Queue] }

// Wake puts an owner into the queue, at once and with priority 0.
func (w *Waker) Wake(owner types.NamespacedName) {
	if q := w.queue.Load(); q != nil {
		Handler{}.enqueue(*q, owner)
	}
}

// Source connects the controller that watches it. It has no events of its own.
func (w *Waker) Source() source.Source {
	return source.Func(func(_ context.Context, q Queue) error {
		w.queue.Store(&q)
		return nil
	})
}
