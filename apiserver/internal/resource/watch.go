package resource

import (
	"context"
	"errors"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/raygate/raygate/apiserver/internal/authn"
	"github.com/raygate/raygate/apiserver/internal/document"
	"github.com/raygate/raygate/apiserver/internal/store"
)

// WatchRequest is the request of Watch.
type WatchRequest interface {
	GetNamespace() string
	GetLabelSelector() string
	GetFilter() string
	GetView() string
	GetResumeToken() string
	GetSkipInitial() bool
}

// Watch sends a message of message's type for every event until the client goes, or loses the right to watch.
func (r *Resource) Watch(ctx context.Context, req WatchRequest, message proto.Message, send func(proto.Message) error) error {
	o := store.WatchOptions{
		Namespace: req.GetNamespace(), ResumeToken: req.GetResumeToken(), SkipInitial: req.GetSkipInitial(),
		OnHeartbeat: func() error { return refusal(r.authorize(ctx, "watch", req.GetNamespace(), "")) },
	}
	if err := checkOptionalNamespace(req.GetNamespace()); err != nil {
		return err
	}
	full, err := parseView(req.GetView(), true)
	if err != nil {
		return err
	}
	if o.ReadOptions, err = readOptions(ctx); err != nil {
		return err
	}
	if o.Selector, err = parseSelector(req.GetLabelSelector()); err != nil {
		return err
	}
	if o.Match, err = r.parseFilter(req.GetFilter()); err != nil {
		return err
	}
	if err := r.authorize(ctx, "watch", req.GetNamespace(), ""); err != nil {
		return err
	}
	fields := message.ProtoReflect().Descriptor().Fields()
	byREST := document.BodyOf(ctx) != nil
	encode := func(e store.Event) (protoreflect.Message, error) {
		m := message.ProtoReflect().New()
		m.Set(fields.ByName("type"), protoreflect.ValueOfString(eventTypes[e.Type]))
		m.Set(fields.ByName("resume_token"), protoreflect.ValueOfString(e.Token))
		m.Set(fields.ByName("stale_seconds"), protoreflect.ValueOfInt64(int64((e.Age+time.Second-1)/time.Second)))
		if e.Item != nil {
			if err := r.answer(ctx, m.Interface(), full, e.Item); err != nil {
				return nil, err
			}
		}
		return m, nil
	}
	ready := message.ProtoReflect().New() // encoded before send returns, so that one is enough
	return r.Store.Watch(ctx, o, func(e store.Event) error {
		if e.Type != store.Modified || byREST {
			m, err := encode(e)
			if err != nil {
				return err
			}
			return send(m.Interface())
		}
		// The most frequent message by far, and the same for all watchers: type, token and object go with the version.
		data, err := r.Views.Get(&e.Item.Views, modifiedForm(full), func() ([]byte, error) {
			m, err := encode(e)
			if err != nil {
				return nil, err
			}
			return proto.Marshal(m.Interface())
		})
		if err != nil {
			return err
		}
		ready.SetUnknown(data)
		return send(ready.Interface())
	})
}

func modifiedForm(full bool) document.Form {
	if full {
		return document.ModifiedFull
	}
	return document.ModifiedBasic
}

var eventTypes = map[store.EventType]string{
	store.Added: "ADDED", store.Modified: "MODIFIED", store.Deleted: "DELETED",
	store.Synced: "SYNCED", store.Heartbeat: "HEARTBEAT", store.Reset: "RESET",
}

// refusal returns err if it is a verdict on the caller, or on the gateway, which then cannot ask for one. That the API server cannot be asked is none:
// a watch that was allowed goes on and shows nothing that it would not have shown before, because nothing new arrives from the API server either.
func refusal(err error) error {
	if apierrors.IsForbidden(err) || apierrors.IsUnauthorized(err) {
		return err
	}
	for _, verdict := range []error{authn.ErrNoCredentials, authn.ErrBadCredentials, authn.ErrNoIdentity, authn.ErrPrivileged, authn.ErrOwnCredentials} {
		if errors.Is(err, verdict) {
			return err
		}
	}
	return nil
}
