package ownerref

import (
	"context"
	"sync/atomic"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/source"
)

// Waker adds owners to the work queue of a controller, for callers that know when a reconcile is needed. It does nothing before
// its Source has started. The zero value is ready for use and safe for concurrent use.
type Waker struct{ queue atomic.Pointer[Queue] }

// Wake adds an owner to the queue, without delay and with priority 0.
func (w *Waker) Wake(owner types.NamespacedName) {
	if q := w.queue.Load(); q != nil {
		Handler{}.enqueue(*q, owner)
	}
}

// Source connects the Waker to the controller that watches it. It has no events of its own.
func (w *Waker) Source() source.Source {
	return source.Func(func(_ context.Context, q Queue) error {
		w.queue.Store(&q)
		return nil
	})
}
