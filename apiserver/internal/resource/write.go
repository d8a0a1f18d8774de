package resource

import (
	"context"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/raygate/raygate/apiserver/internal/rpcstatus"
	"github.com/raygate/raygate/apiserver/internal/store"
	"github.com/raygate/raygate/pkg/manifest"
)

// CreateRequest is the request of Create.
type CreateRequest interface {
	proto.Message
	GetNamespace() string
	GetRequestId() string
	GetValidateOnly() bool
}

// Create creates the object of the request and fills in resp.
func (r *Resource) Create(ctx context.Context, req CreateRequest, resp proto.Message) error {
	if err := CheckNamespace(req.GetNamespace()); err != nil {
		return err
	}
	if err := checkRequestID(req.GetRequestId()); err != nil {
		return err
	}
	st, err := r.In(req.GetNamespace())
	if err != nil {
		return err
	}
	in, err := r.read(ctx, req, req.GetNamespace(), "")
	if err != nil {
		return err
	}
	if err := r.addProfile(ctx, in); err != nil {
		return err
	}
	if err := r.decide(ctx, in, r.validateNew(in)); err != nil {
		return err
	}
	manifest.DropNulls(in.tree)
	item, err := st.Create(ctx, &store.Object{Object: in.tree}, store.CreateOptions{RequestID: req.GetRequestId(), WriteOptions: in.options(req.GetValidateOnly())})
	if err != nil {
		return in.refused(err)
	}
	return r.Answer(ctx, resp, true, item)
}

var propagations = map[string]metav1.DeletionPropagation{
	"":           metav1.DeletePropagationBackground,
	"BACKGROUND": metav1.DeletePropagationBackground,
	"FOREGROUND": metav1.DeletePropagationForeground,
	"ORPHAN":     metav1.DeletePropagationOrphan,
}

// DeleteRequest is the request of Delete.
type DeleteRequest interface {
	ChangeRequest
	GetUid() string
	GetPropagation() string
	GetAllowMissing() bool
}

// Delete begins the deletion of an object and puts its uid into resp; empty when there was none and that is allowed.
func (r *Resource) Delete(ctx context.Context, req DeleteRequest, resp proto.Message) error {
	propagation, ok := propagations[req.GetPropagation()]
	if !ok {
		return rpcstatus.BadField("propagation", "%q is not known: use BACKGROUND, FOREGROUND or ORPHAN", req.GetPropagation())
	}
	in, err := r.begin(ctx, req, noObject)
	if err != nil {
		return err
	}
	uid, err := in.store.Delete(ctx, in.key, store.DeleteOptions{
		UID: types.UID(req.GetUid()), Version: in.version, Propagation: propagation, WriteOptions: in.options(in.dryRun),
	})
	if apierrors.IsNotFound(err) && req.GetAllowMissing() {
		err = nil
	}
	set(resp, "uid", string(uid))
	return err
}

// set sets a field of a response.
func set(resp proto.Message, name protoreflect.Name, value any) {
	m := resp.ProtoReflect()
	m.Set(m.Descriptor().Fields().ByName(name), protoreflect.ValueOf(value))
}

// add appends to a list of a response.
func add(resp proto.Message, name protoreflect.Name, item proto.Message) {
	m := resp.ProtoReflect()
	m.Mutable(m.Descriptor().Fields().ByName(name)).List().Append(protoreflect.ValueOf(item.ProtoReflect()))
}
