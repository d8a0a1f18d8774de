package ownerref

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// Queue is the work queue of a controller.
type Queue = workqueue.TypedRateLimitingInterface[reconcile.Request]

// Handler maps objects to their controllers.
type Handler struct {
	// Kind is the kind of the owners.
	Kind schema.GroupKind
	// AnyOwner also maps objects to owners of the kind that are not the controller.
	AnyOwner bool
	// Schedule returns the delay and priority for the reconcile of an owner; a delay lets a burst of changes cost one reconcile.
	// Nil means no delay and priority 0.
	Schedule func(owner types.NamespacedName) (after time.Duration, priority int)
	// Gone is called for each deleted object; nil disables it.
	Gone func(owner, object types.UID)
}

// Handle returns the event handler.
func (h Handler) Handle() handler.EventHandler {
	return handler.Funcs{
		CreateFunc: func(_ context.Context, e event.CreateEvent, q Queue) { h.ownerOf(q, e.Object) },
		UpdateFunc: func(_ context.Context, e event.UpdateEvent, q Queue) {
			if !equality.Semantic.DeepEqual(metav1.GetControllerOf(e.ObjectOld), metav1.GetControllerOf(e.ObjectNew)) {
				h.ownerOf(q, e.ObjectOld) // the old owner has lost an object
			}
			h.ownerOf(q, e.ObjectNew)
		},
		DeleteFunc: func(_ context.Context, e event.DeleteEvent, q Queue) {
			for _, owner := range h.owners(e.Object) {
				if h.Gone != nil {
					h.Gone(owner.UID, e.Object.GetUID())
				}
			}
			h.ownerOf(q, e.Object)
		},
	}
}

func (h Handler) ownerOf(q Queue, o client.Object) {
	for _, owner := range h.owners(o) {
		h.enqueue(q, owner.NamespacedName)
	}
}

func (h Handler) owners(o client.Object) []Owner { return owners(o, h.Kind, h.AnyOwner) }

func (h Handler) enqueue(q Queue, owner types.NamespacedName) {
	var after time.Duration
	var priority int
	if h.Schedule != nil {
		after, priority = h.Schedule(owner)
	}
	request := reconcile.Request{NamespacedName: owner}
	if pq, ok := q.(priorityqueue.PriorityQueue[reconcile.Request]); ok {
		pq.AddWithOpts(priorityqueue.AddOpts{After: after, Priority: &priority}, request)
		return
	}
	q.AddAfter(request, after)
}

// Changed passes updates and deletions of a child. Creations are dropped, because the owner's reconcile created it.
func Changed() predicate.Funcs {
	return predicate.Funcs{
		CreateFunc: func(event.CreateEvent) bool { return false },
		UpdateFunc: predicate.ResourceVersionChangedPredicate{}.Update,
	}
}

// SpecChanged passes user changes of an owner: of spec, labels and annotations.
func SpecChanged() predicate.Predicate {
	return predicate.Or[client.Object](predicate.GenerationChangedPredicate{}, predicate.LabelChangedPredicate{}, predicate.AnnotationChangedPredicate{})
}
