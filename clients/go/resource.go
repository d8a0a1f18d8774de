package raygate

import (
	"context"
	"iter"
	"time"

	"google.golang.org/protobuf/proto"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/clients/go/convert"
	raygatev2 "github.com/raygate/raygate/proto/gen/go/raygate/v2"
)

// Resource calls the methods of one kind in one namespace with the custom resource T, which the message M mirrors. [Messages] describes the methods.
type Resource[T convert.Object, M proto.Message] struct {
	messages *Messages
	pair     convert.Pair[T, M]
}

// Clusters are the RayClusters of a namespace; an empty one means all, for List and Watch only.
func (c *Client) Clusters(namespace string) *Resource[*rayv1.RayCluster, *raygatev2.RayCluster] {
	return resourceOf(c, ClusterKind, namespace, convert.RayCluster)
}

// Jobs are the RayJobs of a namespace; an empty one means all, for List and Watch only.
func (c *Client) Jobs(namespace string) *Resource[*rayv1.RayJob, *raygatev2.RayJob] {
	return resourceOf(c, JobKind, namespace, convert.RayJob)
}

// Services are the RayServices of a namespace; an empty one means all, for List and Watch only.
func (c *Client) Services(namespace string) *Resource[*rayv1.RayService, *raygatev2.RayService] {
	return resourceOf(c, ServiceKind, namespace, convert.RayService)
}

// CronJobs are the RayCronJobs of a namespace; an empty one means all, for List and Watch only.
func (c *Client) CronJobs(namespace string) *Resource[*rayv1.RayCronJob, *raygatev2.RayCronJob] {
	return resourceOf(c, CronJobKind, namespace, convert.RayCronJob)
}

func resourceOf[T convert.Object, M proto.Message](c *Client, kind *Kind, namespace string, pair convert.Pair[T, M]) *Resource[T, M] {
	return &Resource[T, M]{messages: c.Messages(kind, namespace), pair: pair}
}

// typed converts the result of a call.
func (r *Resource[T, M]) typed(m proto.Message, err error) (T, error) {
	var none T
	if m == nil || err != nil {
		return none, err
	}
	return r.pair.Object(m.(M))
}

// Create creates an object and returns it as it was stored.
func (r *Resource[T, M]) Create(ctx context.Context, object T, o CreateOptions) (T, error) {
	m, err := r.pair.Message(object)
	if err != nil {
		return object, err
	}
	return r.typed(r.messages.Create(ctx, m, o))
}

// Get returns an object. The error has the code NotFound if there is none.
func (r *Resource[T, M]) Get(ctx context.Context, name string) (T, error) {
	return r.typed(r.messages.Get(ctx, name))
}

// Update changes the fields of the object of that name that the mask names.
func (r *Resource[T, M]) Update(ctx context.Context, object T, o UpdateOptions) (T, error) {
	m, err := r.pair.Message(object)
	if err != nil {
		return object, err
	}
	if o.ETag == "" {
		o.ETag = object.GetResourceVersion()
	}
	return r.typed(r.messages.Update(ctx, object.GetName(), m, o))
}

// Replace replaces the object of that name with a changed version: its resourceVersion must still be that of the stored object.
func (r *Resource[T, M]) Replace(ctx context.Context, object T, o ReplaceOptions) (T, error) {
	m, err := r.pair.Message(object)
	if err != nil {
		return object, err
	}
	return r.typed(r.messages.Replace(ctx, object.GetName(), m, o))
}

// Apply applies only the fields that the message sets. It takes a message because the Go types of custom resources cannot leave out some of
// their fields, which would then be owned too.
func (r *Resource[T, M]) Apply(ctx context.Context, name string, object M, o ApplyOptions) (T, error) {
	return r.typed(r.messages.Apply(ctx, name, object, o))
}

// Delete requests the deletion of an object and does not wait for its end; Wait does. It returns the object's uid.
func (r *Resource[T, M]) Delete(ctx context.Context, name string, o DeleteOptions) (uid string, err error) {
	return r.messages.Delete(ctx, name, o)
}

// Scale changes the size of a worker group.
func (r *Resource[T, M]) Scale(ctx context.Context, name string, o ScaleOptions) (T, error) {
	return r.typed(r.messages.Scale(ctx, name, o))
}

// Suspend suspends an object.
func (r *Resource[T, M]) Suspend(ctx context.Context, name string, o WriteOptions) (T, error) {
	return r.typed(r.messages.Suspend(ctx, name, o))
}

// Resume resumes a suspended object.
func (r *Resource[T, M]) Resume(ctx context.Context, name string, o WriteOptions) (T, error) {
	return r.typed(r.messages.Resume(ctx, name, o))
}

// Wait returns once an object is in a state.
func (r *Resource[T, M]) Wait(ctx context.Context, name, state string, timeout time.Duration) (T, error) {
	return r.typed(r.messages.Wait(ctx, name, state, timeout))
}

// Events returns the events of an object, newest first. With children it includes those of dependent objects.
func (r *Resource[T, M]) Events(ctx context.Context, name string, children bool) ([]*raygatev2.Event, error) {
	return r.messages.Events(ctx, name, children)
}

// Diagnose returns the reasons why an object is not ready.
func (r *Resource[T, M]) Diagnose(ctx context.Context, name string) (*Diagnosis, error) {
	return r.messages.Diagnose(ctx, name)
}

// List returns the objects. It requests each page when it is needed. The first error ends it.
func (r *Resource[T, M]) List(ctx context.Context, o ListOptions) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for m, err := range r.messages.List(ctx, o) {
			if !yield(r.typed(m, err)) {
				return
			}
		}
	}
}

// Watch returns the objects there are and then each change of them, until ctx ends or the loop is left.
func (r *Resource[T, M]) Watch(ctx context.Context, o WatchOptions) iter.Seq2[Event[T], error] {
	return func(yield func(Event[T], error) bool) {
		for e, err := range r.messages.Watch(ctx, o) {
			object, err := r.typed(e.Object, err)
			if !yield(Event[T]{Type: e.Type, Object: object, Token: e.Token, Stale: e.Stale}, err) {
				return
			}
		}
	}
}
