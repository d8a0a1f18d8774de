package raygate

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"

	raygatev2 "github.com/raygate/raygate/proto/gen/go/raygate/v2"
)

// Messages calls the methods of one kind in one namespace with messages: for programs that only know the kind at run time. [Resource] does
// the same with the types of api/ray/v1.
type Messages struct {
	client    *Client
	kind      *Kind
	namespace string
}

// Messages returns the objects of a kind in a namespace; an empty one means all, for List and Watch only.
func (c *Client) Messages(kind *Kind, namespace string) *Messages {
	return &Messages{client: c, kind: kind, namespace: namespace}
}

// CreateOptions of a create.
type CreateOptions struct {
	// RequestID is a UUID: the same create within a day returns the object first created. Empty means one of this call's own.
	RequestID string
	// ValidateOnly does everything but the write.
	ValidateOnly bool
}

// WriteOptions of a change.
type WriteOptions struct {
	// ETag is the resourceVersion that the object must still have; empty means any.
	ETag string
	// ValidateOnly does everything but the write.
	ValidateOnly bool
}

// UpdateOptions of an update.
type UpdateOptions struct {
	WriteOptions
	// Mask are the paths to change, such as spec.suspend; a path that is not set in the object is removed, a list replaced. Required.
	Mask []string
}

// ReplaceOptions of a replacement.
type ReplaceOptions struct {
	WriteOptions
	// AllowOverwrite replaces any stored version, without a resourceVersion.
	AllowOverwrite bool
}

// ApplyOptions of a server-side apply.
type ApplyOptions struct {
	WriteOptions
	// FieldManager names the owner of the fields. Empty means the first word of the user agent.
	FieldManager string
	// Force takes over fields from other owners.
	Force bool
}

// DeleteOptions of a deletion.
type DeleteOptions struct {
	// UID is the uid that the object must have. Empty means any, and then a request whose answer was lost is not retried.
	UID string
	// ETag is the resourceVersion that the object must still have; empty means any.
	ETag string
	// Propagation is BACKGROUND (also when empty), FOREGROUND or ORPHAN.
	Propagation string
	// AllowMissing makes the deletion of a missing object succeed.
	AllowMissing bool
	// ValidateOnly does everything but the deletion.
	ValidateOnly bool
}

// ListOptions of a list.
type ListOptions struct {
	// LabelSelector in the syntax of kubectl; empty means all.
	LabelSelector string
	// Filter such as `status.state = "ready"`; empty means all.
	Filter string
	// OrderBy is name, createTime or state, each with ` desc`; empty means by namespace and name.
	OrderBy string
	// Basic requests metadata, status and the few fields of the spec that lists show.
	Basic bool
	// PageSize is the number of objects per request: 500 if 0, at most 1000.
	PageSize int32
}

// ScaleOptions of a worker group.
type ScaleOptions struct {
	WriteOptions
	// Group is the groupName; it may be empty when there is only one group.
	Group string
	// Replicas, MinReplicas and MaxReplicas that the group is to have; nil leaves a number as it is.
	Replicas, MinReplicas, MaxReplicas *int32
}

func (m *Messages) one(ctx context.Context, verb string, values fields) (proto.Message, error) {
	values["namespace"] = m.namespace
	resp, err := m.kind.call(ctx, m.client.conn, verb, values)
	if err != nil {
		return nil, err
	}
	return m.kind.object(resp), nil
}

// Create creates an object and returns it as it was stored.
func (m *Messages) Create(ctx context.Context, object proto.Message, o CreateOptions) (proto.Message, error) {
	return m.one(ctx, "Create", fields{m.kind.body: object, "request_id": o.RequestID, "validate_only": o.ValidateOnly})
}

// Get returns an object. The error has the code NotFound if there is none.
func (m *Messages) Get(ctx context.Context, name string) (proto.Message, error) {
	return m.one(ctx, "Get", fields{"name": name})
}

// Update changes the fields of an object that the mask names.
func (m *Messages) Update(ctx context.Context, name string, object proto.Message, o UpdateOptions) (proto.Message, error) {
	if len(o.Mask) == 0 {
		return nil, errors.New("updating: no mask says what to change")
	}
	return m.one(ctx, "Update", fields{"name": name, m.kind.body: object, "update_mask": o.Mask, "etag": o.ETag, "validate_only": o.ValidateOnly})
}

// Replace replaces metadata and spec of an object as a whole.
func (m *Messages) Replace(ctx context.Context, name string, object proto.Message, o ReplaceOptions) (proto.Message, error) {
	return m.one(ctx, "Replace", fields{"name": name, m.kind.body: object, "etag": o.ETag, "allow_overwrite": o.AllowOverwrite, "validate_only": o.ValidateOnly})
}

// Apply applies only the fields that object sets, by server-side apply. It creates the object if there is none.
func (m *Messages) Apply(ctx context.Context, name string, object proto.Message, o ApplyOptions) (proto.Message, error) {
	return m.one(ctx, "Apply", fields{
		"name": name, m.kind.body: object, "field_manager": o.FieldManager, "force": o.Force, "etag": o.ETag, "validate_only": o.ValidateOnly,
	})
}

// Delete requests the deletion of an object and does not wait for its end; Wait does. It returns the uid of the object. An empty uid means
// that there was no object, which AllowMissing allows.
func (m *Messages) Delete(ctx context.Context, name string, o DeleteOptions) (uid string, err error) {
	resp, err := m.kind.call(ctx, m.client.conn, "Delete", fields{
		"namespace": m.namespace, "name": name, "uid": o.UID, "etag": o.ETag, "propagation": o.Propagation, "allow_missing": o.AllowMissing, "validate_only": o.ValidateOnly,
	})
	if err != nil {
		return "", err
	}
	return resp.Interface().(interface{ GetUid() string }).GetUid(), nil
}

// Scale changes the size of a worker group. Kinds without their own worker groups return ErrNoSuchMethod.
func (m *Messages) Scale(ctx context.Context, name string, o ScaleOptions) (proto.Message, error) {
	return m.one(ctx, "Scale", fields{
		"name": name, "worker_group": o.Group, "replicas": o.Replicas, "min_replicas": o.MinReplicas, "max_replicas": o.MaxReplicas,
		"etag": o.ETag, "validate_only": o.ValidateOnly,
	})
}

// Suspend suspends an object.
func (m *Messages) Suspend(ctx context.Context, name string, o WriteOptions) (proto.Message, error) {
	return m.one(ctx, "Suspend", fields{"name": name, "etag": o.ETag, "validate_only": o.ValidateOnly})
}

// Resume resumes a suspended object.
func (m *Messages) Resume(ctx context.Context, name string, o WriteOptions) (proto.Message, error) {
	return m.one(ctx, "Resume", fields{"name": name, "etag": o.ETag, "validate_only": o.ValidateOnly})
}

// Stop requests the stop of the Ray job of a RayJob without waiting for its end; the object stays. Other kinds return ErrNoSuchMethod.
func (m *Messages) Stop(ctx context.Context, name string) (proto.Message, error) {
	return m.one(ctx, "Stop", fields{"name": name})
}

// Trigger creates one RayJob of a RayCronJob now, and returns it. Other kinds are ErrNoSuchMethod.
func (m *Messages) Trigger(ctx context.Context, name string, validateOnly bool) (*raygatev2.RayJob, error) {
	resp, err := m.kind.call(ctx, m.client.conn, "Trigger", fields{"namespace": m.namespace, "name": name, "validate_only": validateOnly})
	if err != nil {
		return nil, err
	}
	return resp.Interface().(interface{ GetJob() *raygatev2.RayJob }).GetJob(), nil
}

const (
	// longestWait is how long the gateway waits at most.
	longestWait = 10 * time.Minute
	// reasonWaitTimeout is the reason of the error when that time has passed.
	reasonWaitTimeout = "WAIT_TIMEOUT"
)

// Wait returns once an object is in a state: ready, complete, suspended, deleted, or condition=Type[=Status]. It returns the last version
// seen, or nil if the object was already deleted. The error has the code DeadlineExceeded when timeout has passed, and FailedPrecondition
// when the state can no longer be reached. A timeout of 0 means no limit except that of ctx.
func (m *Messages) Wait(ctx context.Context, name, state string, timeout time.Duration) (proto.Message, error) {
	deadline := m.client.clock.Now().Add(timeout)
	for {
		step := longestWait
		if timeout > 0 {
			step = min(step, max(deadline.Sub(m.client.clock.Now()), time.Millisecond))
		}
		object, err := m.one(ctx, "Wait", fields{"name": name, "for": state, "timeout": step})
		p := ProblemOf(err)
		if err == nil || p.Code != codes.DeadlineExceeded || p.Reason != reasonWaitTimeout || timeout > 0 && !m.client.clock.Now().Before(deadline) {
			return object, err
		}
	}
}

// Events returns the events of an object, newest first, at most 1000. With children it includes those of dependent objects.
func (m *Messages) Events(ctx context.Context, name string, children bool) ([]*raygatev2.Event, error) {
	resp, err := m.kind.call(ctx, m.client.conn, "ListEvents", fields{"namespace": m.namespace, "name": name, "include_children": children, "page_size": int32(1000)})
	if err != nil {
		return nil, err
	}
	return resp.Interface().(interface{ GetEvents() []*raygatev2.Event }).GetEvents(), nil
}

// Diagnosis reports whether an object is ready, and why not.
type Diagnosis struct {
	Ready bool
	// Findings are the most decisive first; empty when nothing is wrong.
	Findings []*raygatev2.Finding
}

// Diagnose returns the reasons why an object is not ready. Kinds without diagnosis return ErrNoSuchMethod.
func (m *Messages) Diagnose(ctx context.Context, name string) (*Diagnosis, error) {
	return m.DiagnoseRun(ctx, name, Run{})
}

// Run identifies an attempt of a RayJob, or a deleted object, in the history of the gateway.
type Run struct {
	// Attempt of a RayJob, from 1. 0 means the current one, or the last one.
	Attempt int32
	// UID of a RayJob or RayCluster that was deleted. Empty means the object of the name, or the last one that had it.
	UID string
}

// DiagnoseRun returns the reasons why an attempt, or a deleted object, was not ready. The zero Run is the object itself. A kind without
// such diagnoses returns ErrNoSuchMethod.
func (m *Messages) DiagnoseRun(ctx context.Context, name string, run Run) (*Diagnosis, error) {
	values := fields{"namespace": m.namespace, "name": name}
	if run.Attempt != 0 {
		values["attempt"] = run.Attempt
	}
	if run.UID != "" {
		values["uid"] = run.UID
	}
	if method := m.kind.method("Diagnose"); method != nil {
		for field := range values {
			if method.Input().Fields().ByName(field) == nil {
				return nil, fmt.Errorf("diagnose of a %s by %s: %w", m.kind.Name, field, ErrNoSuchMethod)
			}
		}
	}
	resp, err := m.kind.call(ctx, m.client.conn, "Diagnose", values)
	if err != nil {
		return nil, err
	}
	found := resp.Interface().(interface {
		GetReady() bool
		GetFindings() []*raygatev2.Finding
	})
	return &Diagnosis{Ready: found.GetReady(), Findings: found.GetFindings()}, nil
}

// defaultPage is the number of objects per request of a list.
const defaultPage = 500

// List returns the objects. It requests each page when it is needed. The first error ends it.
func (m *Messages) List(ctx context.Context, o ListOptions) iter.Seq2[proto.Message, error] {
	view := "FULL"
	if o.Basic {
		view = "BASIC"
	}
	if o.PageSize == 0 {
		o.PageSize = defaultPage
	}
	return func(yield func(proto.Message, error) bool) {
		for token := ""; ; {
			resp, err := m.kind.call(ctx, m.client.conn, "List", fields{
				"namespace": m.namespace, "label_selector": o.LabelSelector, "filter": o.Filter, "order_by": o.OrderBy, "view": view,
				"page_size": o.PageSize, "page_token": token,
			})
			if err != nil {
				yield(nil, err)
				return
			}
			items := resp.Get(resp.Descriptor().Fields().ByName("items")).List()
			for i := range items.Len() {
				if !yield(items.Get(i).Message().Interface(), nil) {
					return
				}
			}
			if token = resp.Interface().(interface{ GetNextPageToken() string }).GetNextPageToken(); token == "" {
				return
			}
		}
	}
}
