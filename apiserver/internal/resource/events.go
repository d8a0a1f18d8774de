package resource

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/pager"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/apiserver/internal/flowcontrol"
	"github.com/raygate/raygate/apiserver/internal/store"
	raygatev2 "github.com/raygate/raygate/proto/gen/go/raygate/v2"
)

const (
	// eventPage is the number of events that are read at once, and maxEvents the maximum in total.
	eventPage = 500
	maxEvents = 5000
	// podPage is the number of Pods that are read at once.
	podPage = 200
	// leanPod and leanEvent are the approximate bytes kept of a Pod and of an event.
	leanPod, leanEvent = 4 << 10, 3 << 10
)

// EventsRequest is the request of Events.
type EventsRequest interface {
	target
	GetIncludeChildren() bool
	GetPageSize() int32
}

// Events puts into resp the events of an object, and if asked those of its children, newest first. They are read with the caller's credentials.
func (r *Resource) Events(ctx context.Context, req EventsRequest, resp proto.Message) error {
	size, err := PageSize(req.GetPageSize())
	if err != nil {
		return err
	}
	item, err := r.find(ctx, req, "get")
	if err != nil {
		return err
	}
	about := map[types.UID]bool{item.UID: true}
	selector := fields.OneTermEqualSelector("involvedObject.uid", string(item.UID))
	if req.GetIncludeChildren() {
		pods, err := r.pods(ctx, item)
		if err != nil {
			return err
		}
		for i := range pods {
			about[pods[i].UID] = true
		}
		selector = fields.Everything()
	}
	all, err := r.events(ctx, item.Namespace, selector, func(e *corev1.Event) bool {
		// Deleted Pods are recognized by their name.
		return about[e.InvolvedObject.UID] || req.GetIncludeChildren() && madeFor(item, &e.InvolvedObject)
	})
	if err != nil {
		return err
	}
	for i := range all[:min(len(all), size)] {
		add(resp, "events", EventFromKube(&all[i]))
	}
	return nil
}

// events returns the events of a namespace for which keep is true, newest first.
func (r *Resource) events(ctx context.Context, namespace string, selector fields.Selector, keep func(*corev1.Event) bool) ([]corev1.Event, error) {
	var all []corev1.Event
	o := metav1.ListOptions{FieldSelector: selector.String(), Limit: eventPage}
	for seen := 0; seen < maxEvents; seen += eventPage {
		held := flowcontrol.Held(ctx)
		var page corev1.EventList
		if err := r.Core.Get().Namespace(namespace).Resource("events").VersionedParams(&o, metav1.ParameterCodec).Do(ctx).Into(&page); err != nil {
			return nil, err
		}
		before := len(all)
		for i := range page.Items {
			if keep(&page.Items[i]) {
				all = append(all, page.Items[i])
				all[len(all)-1].Annotations, all[len(all)-1].ManagedFields = nil, nil
			}
		}
		flowcontrol.Shrink(ctx, held+leanEvent*int64(len(all)-before))
		if o.Continue = page.Continue; o.Continue == "" {
			break
		}
	}
	if o.Continue != "" { // Kubernetes sorts events by name
		r.Warn(ctx, fmt.Sprintf("namespace %s has more than %d events: the others were not looked at, and may be newer", namespace, maxEvents))
	}
	slices.SortStableFunc(all, func(a, b corev1.Event) int {
		return cmp.Or(lastTime(&b).Compare(lastTime(&a)), cmp.Compare(b.ResourceVersion, a.ResourceVersion))
	})
	return all, nil
}

// madeFor reports whether the name of an object is one that the operator creates for item.
func madeFor(item *store.Item, ref *corev1.ObjectReference) bool {
	switch ref.Kind {
	case "Pod", "Service", "Job", "PersistentVolumeClaim", "Ingress", "RayCluster", "RayJob":
		return ref.Kind != item.Kind && strings.HasPrefix(ref.Name, item.Name+"-")
	}
	return false
}

// pods returns the Pods of an object, read with the caller's credentials. A caller who may not list Pods gets none, and a warning.
func (r *Resource) pods(ctx context.Context, item *store.Item) ([]corev1.Pod, error) {
	selector := labels.Set{rayv1.LabelCluster: item.Name}
	if item.Kind != clusterKind {
		selector = labels.Set{rayv1.LabelOriginatedFromCRName: item.Name, rayv1.LabelOriginatedFromCRD: item.Kind}
	}
	pages := pager.New(func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
		held, page := flowcontrol.Held(ctx), &corev1.PodList{}
		err := r.Core.Get().Namespace(item.Namespace).Resource("pods").VersionedParams(&o, metav1.ParameterCodec).Do(ctx).Into(page)
		for i := range page.Items {
			p := &page.Items[i] // only identity and status are used
			p.Spec, p.Annotations, p.ManagedFields = corev1.PodSpec{}, nil, nil
		}
		if err == nil {
			flowcontrol.Shrink(ctx, held+leanPod*int64(len(page.Items)))
		}
		return page, err
	})
	pages.PageSize, pages.PageBufferSize = podPage, 0
	var all []corev1.Pod
	err := pages.EachListItem(ctx, metav1.ListOptions{LabelSelector: selector.String()}, func(o runtime.Object) error {
		all = append(all, *o.(*corev1.Pod))
		return nil
	})
	if apierrors.IsForbidden(err) {
		r.Warn(ctx, fmt.Sprintf("Pods are left out: %v", err))
		return nil, nil
	}
	return all, err
}

const clusterKind = "RayCluster"

func lastTime(e *corev1.Event) time.Time {
	switch {
	case e.Series != nil && !e.Series.LastObservedTime.IsZero():
		return e.Series.LastObservedTime.Time
	case !e.LastTimestamp.IsZero():
		return e.LastTimestamp.Time
	case !e.EventTime.IsZero():
		return e.EventTime.Time
	}
	return e.CreationTimestamp.Time
}

// EventFromKube returns an event as the API has it.
func EventFromKube(e *corev1.Event) *raygatev2.Event {
	count, first := e.Count, e.FirstTimestamp.Time
	if e.Series != nil {
		count = e.Series.Count
	}
	if first.IsZero() {
		first = cmp.Or(e.EventTime.Time, e.CreationTimestamp.Time)
	}
	return &raygatev2.Event{
		Type: e.Type, Reason: e.Reason, Message: e.Message, Count: max(count, 1), Source: cmp.Or(e.ReportingController, e.Source.Component),
		Object:    &raygatev2.ObjectReference{Kind: e.InvolvedObject.Kind, Name: e.InvolvedObject.Name, Uid: string(e.InvolvedObject.UID)},
		FirstTime: &timestamppb.Timestamp{Seconds: first.Unix()}, LastTime: &timestamppb.Timestamp{Seconds: lastTime(e).Unix()},
	}
}
