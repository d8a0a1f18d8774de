package resource

import (
	"context"

	"google.golang.org/protobuf/proto"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/raygate/raygate/apiserver/internal/rpcstatus"
	"github.com/raygate/raygate/apiserver/internal/store"
)

// attempts bounds how often a write that names no version is tried again after a conflict.
const attempts = 5

// CreateRequest is the request of Create.
type CreateRequest interface {
	GetNamespace() string
	GetRequestId() string
	GetValidateOnly() bool
}

// Create creates body and fills in resp.
func (r *Resource) Create(ctx context.Context, req CreateRequest, body, resp proto.Message) error {
	if err := checkNamespace(req.GetNamespace()); err != nil {
		return err
	}
	if err := checkRequestID(req.GetRequestId()); err != nil {
		return err
	}
	in, err := r.read(ctx, body, req.GetNamespace(), "")
	if err != nil {
		return err
	}
	if err := r.decide(ctx, in.mistakes, r.Checks.Create(r.defaulted(in.typed), r.Validation)); err != nil {
		return err
	}
	item, err := r.Store.Create(ctx, in.object(), store.CreateOptions{RequestID: req.GetRequestId(), WriteOptions: in.strict(req.GetValidateOnly())})
	if err != nil {
		return in.refused(err)
	}
	return r.answer(ctx, resp, true, item)
}

// ReplaceRequest is the request of Replace.
type ReplaceRequest interface {
	target
	GetValidateOnly() bool
	GetAllowOverwrite() bool
	GetEtag() string
}

// Replace replaces an object by body and fills in resp. A body that carries the resourceVersion that it was read with says all there is to say;
// one that does not leaves finalizers and owners alone when it does not name any: they mostly belong to controllers, and losing them leaks
// what those would have cleaned up.
func (r *Resource) Replace(ctx context.Context, req ReplaceRequest, body, resp proto.Message) error {
	if err := checkName(req.GetNamespace(), req.GetName()); err != nil {
		return err
	}
	in, err := r.read(ctx, body, req.GetNamespace(), req.GetName())
	if err != nil {
		return err
	}
	if err := r.checkForm(ctx, in, true); err != nil {
		return err
	}
	version, err := versionOf(req.GetEtag(), in.typed.GetResourceVersion())
	if err != nil {
		return err
	}
	if version == "" && !req.GetAllowOverwrite() && req.GetEtag() != "*" {
		return store.ErrVersionRequired
	}
	// Rules compare with the object that is there, which only those who may replace it may learn of.
	if err := r.authorize(ctx, "update", req.GetNamespace(), req.GetName()); err != nil {
		return err
	}
	for attempt := 1; ; attempt++ {
		item, err := r.replace(ctx, in, version, req.GetValidateOnly())
		if err == nil {
			return r.answer(ctx, resp, true, item)
		}
		if !apierrors.IsConflict(err) || version != "" || attempt == attempts {
			return in.refused(err)
		}
	}
}

func (r *Resource) replace(ctx context.Context, in *input, version string, dryRun bool) (*store.Item, error) {
	key := types.NamespacedName{Namespace: in.typed.GetNamespace(), Name: in.typed.GetName()}
	old, err := r.old(ctx, key, version)
	if err != nil {
		return nil, err
	}
	before, err := r.typedOf(old.JSON())
	if err != nil {
		return nil, err
	}
	if err := r.decide(ctx, in.mistakes, r.Checks.Update(r.defaulted(in.typed), before, r.Validation)); err != nil {
		return nil, err
	}
	obj := in.object().DeepCopy()
	obj.SetResourceVersion(old.ResourceVersion)
	if in.partial {
		if err := r.keepUnknown(obj.Object, old); err != nil {
			return nil, err
		}
	}
	if in.typed.GetResourceVersion() == "" {
		if len(obj.GetFinalizers()) == 0 {
			obj.SetFinalizers(old.Finalizers)
		}
		if len(obj.GetOwnerReferences()) == 0 {
			obj.SetOwnerReferences(old.OwnerReferences)
		}
	}
	return r.Store.Replace(ctx, obj, old, in.strict(dryRun))
}

// old returns the object that a write replaces. When the version that the caller has read is known here, nothing is asked; the API server
// compares it again.
func (r *Resource) old(ctx context.Context, key types.NamespacedName, version string) (*store.Item, error) {
	if version != "" {
		if item := r.Store.Version(key, version); item != nil {
			return item, nil
		}
	}
	item, err := r.Store.Read(ctx, key)
	if err != nil {
		return nil, err
	}
	return item, r.checkVersion(item, version)
}

// checkVersion says of an object what the API server would say of a write to it that names another version.
func (r *Resource) checkVersion(item *store.Item, version string) error {
	if version == "" || item.ResourceVersion == version {
		return nil
	}
	kind := r.StoreKind()
	return apierrors.NewConflict(kind.GroupResource(), item.Name, errStale)
}

type staleError string

// Error implements error.
func (e staleError) Error() string { return string(e) }

const errStale = staleError("the object has been modified; please apply your changes to the latest version and try again")

// versionOf returns the version that a write is for: that of the etag, or of the body. Empty means any.
func versionOf(etag, body string) (string, error) {
	if etag == "*" {
		etag = ""
	}
	if err := checkVersion("etag", etag); err != nil {
		return "", err
	}
	if err := checkVersion("metadata.resourceVersion", body); err != nil {
		return "", err
	}
	if etag != "" && body != "" && body != etag {
		return "", rpcstatus.BadField("etag", "%q is not the resourceVersion %q of the body: send one of them, or the same in both", etag, body)
	}
	if etag == "" {
		return body, nil
	}
	return etag, nil
}

var propagations = map[string]metav1.DeletionPropagation{
	"":           metav1.DeletePropagationBackground,
	"BACKGROUND": metav1.DeletePropagationBackground,
	"FOREGROUND": metav1.DeletePropagationForeground,
	"ORPHAN":     metav1.DeletePropagationOrphan,
}

// DeleteRequest is the request of Delete.
type DeleteRequest interface {
	target
	GetUid() string
	GetEtag() string
	GetPropagation() string
	GetAllowMissing() bool
	GetValidateOnly() bool
}

// Delete begins the deletion of an object and returns its uid; empty when there was none and that is allowed.
func (r *Resource) Delete(ctx context.Context, req DeleteRequest) (string, error) {
	if err := checkName(req.GetNamespace(), req.GetName()); err != nil {
		return "", err
	}
	propagation, ok := propagations[req.GetPropagation()]
	if !ok {
		return "", rpcstatus.BadField("propagation", "%q is not known: use BACKGROUND, FOREGROUND or ORPHAN", req.GetPropagation())
	}
	version, err := versionOf(req.GetEtag(), "")
	if err != nil {
		return "", err
	}
	uid, err := r.Store.Delete(ctx, keyOf(req), store.DeleteOptions{
		UID: types.UID(req.GetUid()), Version: version, Propagation: propagation, WriteOptions: store.WriteOptions{DryRun: req.GetValidateOnly()},
	})
	if apierrors.IsNotFound(err) && req.GetAllowMissing() {
		err = nil
	}
	return string(uid), err
}

// nested returns a map below tree, which is made when it is not there.
func nested(tree map[string]any, path ...string) map[string]any {
	for _, name := range path {
		next, ok := tree[name].(map[string]any)
		if !ok {
			next = map[string]any{}
			tree[name] = next
		}
		tree = next
	}
	return tree
}
