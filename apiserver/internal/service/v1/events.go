package v1

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/apiserver/internal/authz"
)

const (
	// maxEvents is the maximum number of events of an object in an answer.
	maxEvents = 500
	// eventsTime is how long an answer waits for events: an object comes from a cache, even if Kubernetes is unreachable.
	eventsTime = 2 * time.Second
)

// Events reads the Kubernetes events of objects, which the answers to V1's get calls include. Callers need the right to list events that kubectl would
// need; without it, and when events cannot be read, an object is shown without.
type Events struct {
	Authorizer authz.Authorizer
	// Core reads events with the caller's credentials.
	Core rest.Interface
	// Watches are filled in by Run, by namespace, or by "" for all. If there is none, or none yet, events are read from Kubernetes.
	Watches map[string]cache.SharedIndexInformer
	// Warn sends the caller a warning about missing events.
	Warn func(ctx context.Context, text string)
}

// byUID is the index of events by their object.
const byUID = "uid"

// WatchEvents returns watches, for Events, of the events about Ray's objects in the namespaces, or in all when none are given.
func WatchEvents(own rest.Interface, namespaces []string) map[string]cache.SharedIndexInformer {
	if len(namespaces) == 0 {
		namespaces = []string{metav1.NamespaceAll}
	}
	about := fields.OneTermEqualSelector("involvedObject.apiVersion", rayv1.GroupVersion.String())
	all := map[string]cache.SharedIndexInformer{}
	for _, ns := range namespaces {
		informer := cache.NewSharedIndexInformer(cache.NewListWatchFromClient(own, "events", ns, about), &corev1.Event{}, 0, cache.Indexers{
			byUID: func(o any) ([]string, error) { return []string{string(o.(*corev1.Event).InvolvedObject.UID)}, nil },
		})
		_ = informer.SetTransform(func(o any) (any, error) { // fails only once it runs
			if e, ok := o.(*corev1.Event); ok {
				e.ManagedFields = nil
			}
			return o, nil
		})
		all[ns] = informer
	}
	return all
}

// Run keeps the watches up to date until ctx ends.
func (e *Events) Run(ctx context.Context) {
	for _, informer := range e.Watches {
		go informer.RunWithContext(ctx)
	}
}

// about returns the events of an object that the caller may read.
func (e *Events) about(ctx context.Context, namespace string, uid types.UID) []corev1.Event {
	limited, cancel := context.WithTimeout(ctx, eventsTime)
	defer cancel()
	events, err := e.read(limited, namespace, uid)
	switch {
	case apierrors.IsForbidden(err):
		e.Warn(ctx, fmt.Sprintf("events are left out: %v", err))
	case err != nil:
		e.Warn(ctx, "events are left out: they cannot be read now")
		klog.FromContext(ctx).V(2).Info("Reading events failed", "namespace", namespace, "reason", err.Error())
	}
	return events
}

func (e *Events) read(ctx context.Context, namespace string, uid types.UID) ([]corev1.Event, error) {
	for _, ns := range []string{metav1.NamespaceAll, namespace} {
		if watch := e.Watches[ns]; watch != nil && watch.HasSynced() {
			return e.cached(ctx, watch, namespace, uid)
		}
	}
	var list corev1.EventList
	o := &metav1.ListOptions{FieldSelector: fields.OneTermEqualSelector("involvedObject.uid", string(uid)).String(), Limit: maxEvents}
	err := e.Core.Get().Namespace(namespace).Resource("events").VersionedParams(o, metav1.ParameterCodec).Do(ctx).Into(&list)
	return list.Items, err
}

func (e *Events) cached(ctx context.Context, watch cache.SharedIndexInformer, namespace string, uid types.UID) ([]corev1.Event, error) {
	if err := e.Authorizer.Authorize(ctx, authz.Access{Verb: "list", Resource: "events", Namespace: namespace}); err != nil {
		return nil, err
	}
	found, err := watch.GetIndexer().ByIndex(byUID, string(uid))
	if err != nil {
		return nil, err
	}
	events := make([]corev1.Event, 0, min(len(found), maxEvents))
	for _, o := range found[:min(len(found), maxEvents)] {
		events = append(events, *o.(*corev1.Event))
	}
	return events, nil
}
