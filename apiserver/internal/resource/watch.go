package resource

import (
	"context"
	"errors"
	"time"

	"google.golang.org/protobuf/proto"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/raygate/raygate/apiserver/internal/authn"
	"github.com/raygate/raygate/apiserver/internal/encoding"
	"github.com/raygate/raygate/apiserver/internal/store"
)

// WatchRequest is the request of Watch.
type WatchRequest interface {
	selector
	GetView() string
	GetResumeToken() string
	GetSkipInitial() bool
}

// Watch sends a message of message's type for every event until the client ends the call, or loses the right to watch. By gRPC the most frequent ones are
// encoded already, as a *mem.BufferSlice; by REST all are, as an *encoding.Event.
func (r *Resource) Watch(ctx context.Context, req WatchRequest, message proto.Message, send func(any) error) error {
	o := store.WatchOptions{
		ResumeToken: req.GetResumeToken(), SkipInitial: req.GetSkipInitial(),
		OnHeartbeat: func() error { return refusal(r.authorize(ctx, "watch", req.GetNamespace(), "")) },
	}
	var err error
	if o.Selection, err = r.selection(ctx, req); err != nil {
		return err
	}
	full, err := parseView(req.GetView(), true)
	if err != nil {
		return err
	}
	st, err := r.storeFor(ctx, req.GetNamespace(), "", "watch")
	if err != nil {
		return err
	}
	encode := r.encodeEvent
	if encoding.ExchangeOf(ctx) != nil {
		encode = r.encodeFrame
	}
	return st.Watch(ctx, o, func(e store.Event) error {
		encoded, err := encode(ctx, message, e, full)
		if err != nil {
			return err
		}
		return send(encoded)
	})
}

// encodeEvent returns the message of an event for gRPC. That of a change is encoded once for all watchers: it is the most frequent one.
func (r *Resource) encodeEvent(ctx context.Context, message proto.Message, e store.Event, full bool) (any, error) {
	whole := func() (proto.Message, error) {
		m := eventOf(message, e)
		if e.Item == nil {
			return m, nil
		}
		return m, r.Answer(ctx, m, full, e.Item)
	}
	if e.Type != store.Modified {
		return whole()
	}
	return r.Views.Parts(&e.Item.Views, encoding.Modified+formOf(false, full), func() ([]byte, error) {
		m, err := whole()
		if err != nil {
			return nil, err
		}
		return proto.Marshal(m)
	})
}

// encodeFrame returns the JSON of an event for REST. That of a change is encoded once for all watchers.
func (r *Resource) encodeFrame(_ context.Context, message proto.Message, e store.Event, full bool) (any, error) {
	whole := func() ([]byte, error) {
		if e.Item == nil {
			return encoding.JSON(eventOf(message, e))
		}
		object, err := r.encoded(e.Item, formOf(true, full))
		if err != nil {
			return nil, err
		}
		return encoding.JSONWith(eventOf(message, e), r.objectField(message.ProtoReflect().Descriptor()), object)
	}
	var data []byte
	var err error
	if e.Type == store.Modified {
		data, err = r.Views.Get(&e.Item.Views, encoding.Modified+formOf(true, full), whole)
	} else {
		data, err = whole()
	}
	return &encoding.Event{Type: string(e.Type), ResumeToken: e.Token, JSON: data}, err
}

// eventOf returns the message of an event, without its object.
func eventOf(message proto.Message, e store.Event) proto.Message {
	m := message.ProtoReflect().New().Interface()
	set(m, "type", string(e.Type))
	set(m, "resume_token", e.Token)
	set(m, "stale_seconds", int64((e.Age+time.Second-1)/time.Second))
	return m
}

// refusal returns err if it is a verdict on the caller or on the gateway's own credentials. Otherwise the API server is unreachable, and
// the watch stays open: without the API server it delivers nothing new.
func refusal(err error) error {
	if apierrors.IsForbidden(err) || apierrors.IsUnauthorized(err) {
		return err
	}
	for _, verdict := range []error{authn.ErrNoCredentials, authn.ErrBadCredentials, authn.ErrNoIdentity, authn.ErrNoLogin, authn.ErrPrivileged, authn.ErrOwnCredentials} {
		if errors.Is(err, verdict) {
			return err
		}
	}
	return nil
}
