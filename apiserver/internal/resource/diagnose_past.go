package resource

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/tidwall/sjson"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	"github.com/raygate/raygate/apiserver/internal/store"
	raygatev2 "github.com/raygate/raygate/proto/gen/go/raygate/v2"
)

// Record is the part of a record of the history that the caller may read.
type Record struct {
	// Object and Cluster are the object and its cluster as JSON. Cluster is nil for none. Object is nil if the record is that of the object
	// as it is now, which lacks only what is gone.
	Object, Cluster []byte
	// Attempt of a RayJob, 0 for other kinds.
	Attempt int
	// Deleted means that the object does not exist now.
	Deleted bool
	Pods    []corev1.Pod
	Events  []corev1.Event
	// Ended is the time of the record.
	Ended time.Time
}

// recorded is what a diagnosis reads in place of the API server.
type recorded struct {
	item   *store.Item
	pods   []corev1.Pod
	events []corev1.Event
}

// withPast returns the methods of the kind on what a diagnosis is about. The record is that in place of the API server, or next to it; nil if
// the diagnosis needs none.
func (r *Resource) withPast(ctx context.Context, req target) (*Resource, *Record, error) {
	if r.Past == nil {
		return r, nil, nil
	}
	item, missing := r.find(ctx, req, "get")
	if missing != nil && !apierrors.IsNotFound(missing) {
		return nil, nil, missing
	}
	record, err := r.Past(ctx, req, item)
	if err != nil {
		return nil, nil, err
	}
	if record == nil {
		return r, nil, missing
	}
	if record.Object == nil {
		both := *r
		both.kept = &recorded{item, record.Pods, record.Events}
		return &both, record, nil
	}
	past, err := r.in(record, record.Object)
	if err != nil {
		return nil, nil, err
	}
	if r.Dependents != nil && record.Cluster != nil {
		past.Dependents, err = r.Dependents.in(record, record.Cluster)
	}
	return past, record, err
}

// finding states that a diagnosis is about the past.
func (r *Record) finding(kind, name string) *raygatev2.Finding {
	reason, what, ended := "Recorded", fmt.Sprintf("this is attempt %d", r.Attempt), r.Ended.UTC().Format(time.RFC3339)
	if r.Deleted {
		reason, what = "Deleted", "there is no such object any more"
	}
	return &raygatev2.Finding{
		Severity: severityInfo, Reason: reason, Object: &raygatev2.ObjectReference{Kind: kind, Name: name},
		Message: fmt.Sprintf("%s; the rest is from its record of %s", what, ended),
	}
}

// in returns the methods of the kind on one object of a record.
func (r *Resource) in(record *Record, object []byte) (*Resource, error) {
	for _, path := range []string{"metadata.deletionTimestamp", "metadata.generation"} { // nothing is waited for any more
		var err error
		if object, err = sjson.DeleteBytes(object, path); err != nil {
			return nil, fmt.Errorf("reading a record: %w", err)
		}
	}
	item, err := store.ParseItem(object)
	if err != nil {
		return nil, fmt.Errorf("reading a record: %w", err)
	}
	past := *r
	past.Core, past.recorded = nil, &recorded{item, record.Pods, record.Events}
	return &past, nil
}

// warnings are the recorded warnings about objects, newest first.
func (r *recorded) warnings(about map[types.UID]bool) []corev1.Event {
	events := slices.DeleteFunc(slices.Clone(r.events), func(e corev1.Event) bool {
		return e.Type != corev1.EventTypeWarning || !about[e.InvolvedObject.UID]
	})
	slices.Reverse(events)
	return events
}

// addUnknown appends the objects of the past that are not among those of now.
func addUnknown[T any](now, past []T, uid func(*T) types.UID) []T {
	known := map[types.UID]bool{}
	for i := range now {
		known[uid(&now[i])] = true
	}
	return append(now, slices.DeleteFunc(slices.Clone(past), func(o T) bool { return known[uid(&o)] })...)
}
