package resource

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/tidwall/sjson"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/apiserver/internal/store"
	raygatev2 "github.com/raygate/raygate/proto/gen/go/raygate/v2"
)

// Record is what the history has of a deleted object, as far as the caller may read it.
type Record struct {
	// Object and Cluster are the object and its cluster as JSON. Cluster is nil for none.
	Object, Cluster []byte
	Pods            []corev1.Pod
	Events          []corev1.Event
	// Ended is the time of the record.
	Ended time.Time
}

// recorded is what a diagnosis reads in place of the API server.
type recorded struct {
	item   *store.Item
	pods   []corev1.Pod
	events []corev1.Event
}

// diagnosePast returns the diagnosis of the record of a deleted object, or missing if there is none.
func (r *Resource) diagnosePast(ctx context.Context, req target, missing error) (ready bool, findings []*raygatev2.Finding, err error) {
	record, err := r.Past(ctx, keyOf(req))
	if err != nil {
		return false, nil, err
	}
	if record == nil {
		return false, nil, missing
	}
	past, err := r.in(record, record.Object)
	if err != nil {
		return false, nil, err
	}
	if r.Dependents != nil && record.Cluster != nil {
		if past.Dependents, err = r.Dependents.in(record, record.Cluster); err != nil {
			return false, nil, err
		}
	}
	ready, findings, err = r.Diagnosis(ctx, past, req)
	ready = ready && past.recorded.item.At("status.jobDeploymentStatus").Str == string(rayv1.JobDeploymentStatusComplete)
	deleted := &raygatev2.Finding{
		Severity: severityInfo, Reason: "Deleted", Object: &raygatev2.ObjectReference{Kind: r.Checks.Kind, Name: req.GetName()},
		Message: fmt.Sprintf("there is no such object any more; the rest is from its record of %s", record.Ended.UTC().Format(time.RFC3339)),
	}
	return ready, append(findings, deleted), err
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
