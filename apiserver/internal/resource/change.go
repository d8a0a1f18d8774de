package resource

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/raygate/raygate/apiserver/internal/rpcstatus"
	"github.com/raygate/raygate/apiserver/internal/store"
	"github.com/raygate/raygate/pkg/manifest"
)

// attempts is the number of times that a write without a version is sent before a conflict is returned.
const attempts = 5

// retry calls write again if the object has changed in between, unless the client gives a version.
func (in *input) retry(write func() (*store.Item, error)) (*store.Item, error) {
	for attempt := 1; ; attempt++ {
		item, err := write()
		if err == nil {
			return item, nil
		}
		if !isStale(err) || in.version != "" || attempt == attempts {
			return nil, in.refused(err)
		}
	}
}

// modify is change, and fills in resp.
func (r *Resource) modify(ctx context.Context, in *input, resp proto.Message, do func(tree map[string]any) error) error {
	item, err := r.change(ctx, in, do)
	if err != nil {
		return err
	}
	return r.Answer(ctx, resp, true, item)
}

// change reads an object, changes it by do, checks the change against the rules, and writes the difference for the version that it has
// read. Fields that do does not change are not written, including fields that this gateway does not have.
func (r *Resource) change(ctx context.Context, in *input, do func(tree map[string]any) error) (*store.Item, error) {
	return in.retry(func() (*store.Item, error) {
		old, err := in.store.Read(ctx, in.key)
		if err != nil {
			return nil, err
		}
		before, after, err := r.changed(ctx, in, old, do)
		if err != nil {
			return nil, err
		}
		patch := difference(before, after)
		manifest.Nested(patch, "metadata")["resourceVersion"] = old.ResourceVersion
		return in.store.Patch(ctx, in.key, patch, store.PatchOptions{Type: types.MergePatchType, WriteOptions: in.options(in.dryRun)})
	})
}

// changed returns the JSON of an object before and after a valid change.
func (r *Resource) changed(ctx context.Context, in *input, old *store.Item, do func(tree map[string]any) error) (before, after map[string]any, err error) {
	if err := r.checkSame(old, in.uid, in.version); err != nil {
		return nil, nil, err
	}
	if before, err = old.Tree(); err != nil {
		return nil, nil, err
	}
	after = runtime.DeepCopyJSON(before)
	if err := do(after); err != nil {
		return nil, nil, err
	}
	if in.locked {
		if err := r.checkLocks(ctx, in.key.Namespace, before, after); err != nil {
			return nil, nil, err
		}
	}
	data, err := json.Marshal(after)
	if err != nil {
		return nil, nil, fmt.Errorf("encoding the changed object: %w", err)
	}
	was, err := r.typedOf(old.JSON())
	if err != nil {
		return nil, nil, err
	}
	is, err := r.typedOf(data)
	if err != nil {
		return nil, nil, rpcstatus.BadField("", "%v", err)
	}
	return before, after, r.decide(ctx, in, r.Checks.Update(is, was, r.Validation))
}

// difference returns the JSON merge patch from before to after. Neither has nulls. Libraries decode numbers as floating point, which changes large integers.
func difference(before, after map[string]any) map[string]any {
	patch := map[string]any{}
	for name, value := range after {
		old, exists := before[name]
		from, fromMap := old.(map[string]any)
		to, toMap := value.(map[string]any)
		switch {
		case exists && reflect.DeepEqual(old, value):
		case fromMap && toMap:
			patch[name] = difference(from, to)
		default:
			patch[name] = value
		}
	}
	for name := range before {
		if _, exists := after[name]; !exists {
			patch[name] = nil
		}
	}
	return patch
}

// merge applies a JSON merge patch.
func merge(tree, patch map[string]any) {
	for name, value := range patch {
		switch v := value.(type) {
		case nil:
			delete(tree, name)
		case map[string]any:
			merge(manifest.Nested(tree, name), v)
		default:
			manifest.DropNulls(v)
			tree[name] = v
		}
	}
}

// checkSame refuses a write to an object with another uid or version than the client gives. Empty means any. For a version the API server
// returns the same error; for a uid, a retry cannot succeed.
func (r *Resource) checkSame(item *store.Item, uid types.UID, version string) error {
	switch {
	case uid != "" && uid != item.UID:
		return &rpcstatus.Error{
			Code: codes.Aborted, Reason: "CONFLICT",
			Message: fmt.Sprintf("%s %s has the uid %s and not %s: it is another object of the same name; leave out metadata.uid to change it", r.Checks.Kind, item.Name, item.UID, uid),
		}
	case version != "" && version != item.ResourceVersion:
		return apierrors.NewConflict(r.GroupResource(), item.Name, errStale)
	}
	return nil
}

var errStale = errors.New("the object has been modified; please apply your changes to the latest version and try again")

// ReplaceRequest is the request of Replace.
type ReplaceRequest interface {
	ChangeRequest
	GetAllowOverwrite() bool
}

// Replace replaces an object by that of the request and fills in resp.
func (r *Resource) Replace(ctx context.Context, req ReplaceRequest, resp proto.Message) error {
	in, err := r.begin(ctx, req, wholeObject)
	if err != nil {
		return err
	}
	if in.version == "" && !req.GetAllowOverwrite() && !in.anyVersion {
		return store.ErrVersionRequired
	}
	// Errors of the rules reveal parts of the stored object, so callers need the right to replace it.
	if err := r.authorize(ctx, "update", req.GetNamespace(), req.GetName()); err != nil {
		return err
	}
	manifest.DropNulls(in.tree)
	in.locked = true
	item, err := in.retry(func() (*store.Item, error) {
		var old *store.Item
		if in.version != "" { // often known here; the API server compares the version again
			old = in.store.Version(in.key, in.version)
		}
		if old == nil {
			var err error
			if old, err = in.store.Read(ctx, in.key); err != nil {
				return nil, err
			}
		}
		_, after, err := r.changed(ctx, in, old, func(tree map[string]any) error {
			r.replace(tree, in)
			return nil
		})
		if err != nil {
			return nil, err
		}
		return in.store.Replace(ctx, &store.Object{Object: after}, old, in.options(in.dryRun))
	})
	if err != nil {
		return err
	}
	return r.Answer(ctx, resp, true, item)
}

// replace turns the stored object into that of the request.
func (r *Resource) replace(stored map[string]any, in *input) {
	tree := runtime.DeepCopyJSON(in.tree)
	before, meta := manifest.Nested(stored, "metadata"), manifest.Nested(tree, "metadata")
	meta["resourceVersion"] = before["resourceVersion"]
	for _, name := range changeable {
		if in.keeps(name) && before[name] != nil {
			meta[name] = before[name]
		}
	}
	status, hasStatus := stored["status"]
	delete(stored, "status")
	if in.partial {
		copyUnknown(tree, stored, r.message.Descriptor())
	}
	clear(stored)
	maps.Copy(stored, tree)
	if hasStatus {
		stored["status"] = status
	}
}
