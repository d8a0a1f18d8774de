package resource

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/raygate/raygate/apiserver/internal/rpcstatus"
	"github.com/raygate/raygate/apiserver/internal/store"
	"github.com/raygate/raygate/pkg/kubedoc"
)

// ChangeRequest is the request of a write to an object that is there, such as Suspend.
type ChangeRequest interface {
	target
	GetValidateOnly() bool
	GetEtag() string
}

// begin says what a request without an object wants to write, and where.
func (r *Resource) begin(ctx context.Context, req ChangeRequest) (*input, error) {
	if err := checkName(req.GetNamespace(), req.GetName()); err != nil {
		return nil, err
	}
	in := &input{}
	return in, r.place(ctx, in, req, "")
}

// beginWith is begin for a request with an object, in whole or in part.
func (r *Resource) beginWith(ctx context.Context, req ChangeRequest, whole bool) (*input, error) {
	if err := checkName(req.GetNamespace(), req.GetName()); err != nil {
		return nil, err
	}
	in, err := r.read(ctx, req, req.GetNamespace(), req.GetName())
	if err != nil {
		return nil, err
	}
	if err := r.checkForm(ctx, in, whole); err != nil {
		return nil, err
	}
	return in, r.place(ctx, in, req, in.typed.GetResourceVersion())
}

// place fills in where the input goes. inBody is the resourceVersion that its object carries.
func (r *Resource) place(ctx context.Context, in *input, req ChangeRequest, inBody string) error {
	etag, err := etagOf(ctx, req.GetEtag())
	if err != nil {
		return err
	}
	in.key, in.dryRun, in.anyVersion = keyOf(req), req.GetValidateOnly(), etag == "*"
	if in.version, err = versionOf(etag, inBody); err != nil {
		return err
	}
	in.store, err = r.In(req.GetNamespace())
	return err
}

// attempts bounds how often a write that names no version is tried again after a conflict.
const attempts = 5

// settle fills in resp with what write has written. It is called again when the object has changed meanwhile, unless the client names a version.
func (r *Resource) settle(ctx context.Context, in *input, resp proto.Message, write func() (*store.Item, error)) error {
	item, err := in.written(write)
	if err != nil {
		return err
	}
	return r.answer(ctx, resp, true, item)
}

// written is what write has written.
func (in *input) written(write func() (*store.Item, error)) (*store.Item, error) {
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

// modify reads an object, changes it, asks the rules about the change, and writes the difference for the version that it has read. What nobody
// changes is not written, whether this gateway knows it or not.
func (r *Resource) modify(ctx context.Context, in *input, resp proto.Message, do func(tree map[string]any) error) error {
	item, err := r.change(ctx, in, do)
	if err != nil {
		return err
	}
	return r.answer(ctx, resp, true, item)
}

// change is modify without an answer.
func (r *Resource) change(ctx context.Context, in *input, do func(tree map[string]any) error) (*store.Item, error) {
	return in.written(func() (*store.Item, error) {
		old, err := in.store.Read(ctx, in.key)
		if err != nil {
			return nil, err
		}
		if err := r.checkSame(old, in); err != nil {
			return nil, err
		}
		before, after, err := r.changed(ctx, in, old, do)
		if err != nil {
			return nil, err
		}
		patch := difference(before, after)
		nested(patch, "metadata")["resourceVersion"] = old.ResourceVersion
		return in.store.Patch(ctx, in.key, patch, store.PatchOptions{Type: types.MergePatchType, WriteOptions: in.options(in.dryRun)})
	})
}

// changed returns the JSON of an object before and after a change, to which the rules have nothing to say.
func (r *Resource) changed(ctx context.Context, in *input, old *store.Item, do func(tree map[string]any) error) (before, after map[string]any, err error) {
	if before, err = old.Tree(); err != nil {
		return nil, nil, err
	}
	after = runtime.DeepCopyJSON(before)
	if err := do(after); err != nil {
		return nil, nil, err
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

// difference is the JSON merge patch that makes after of before; neither holds nulls.
func difference(before, after map[string]any) map[string]any {
	patch := map[string]any{}
	for name, value := range after {
		old, there := before[name]
		from, fromMap := old.(map[string]any)
		to, toMap := value.(map[string]any)
		switch {
		case there && reflect.DeepEqual(old, value):
		case fromMap && toMap:
			patch[name] = difference(from, to)
		default:
			patch[name] = value
		}
	}
	for name := range before {
		if _, there := after[name]; !there {
			patch[name] = nil
		}
	}
	return patch
}

// ReplaceRequest is the request of Replace.
type ReplaceRequest interface {
	ChangeRequest
	GetAllowOverwrite() bool
}

// Replace replaces an object by that of the request and fills in resp.
func (r *Resource) Replace(ctx context.Context, req ReplaceRequest, resp proto.Message) error {
	in, err := r.beginWith(ctx, req, true)
	if err != nil {
		return err
	}
	if in.version == "" && !req.GetAllowOverwrite() && !in.anyVersion {
		return store.ErrVersionRequired
	}
	// Rules compare with the object that is there, which only those who may replace it may learn of.
	if err := r.authorize(ctx, "update", req.GetNamespace(), req.GetName()); err != nil {
		return err
	}
	kubedoc.DropNulls(in.tree)
	return r.settle(ctx, in, resp, func() (*store.Item, error) {
		old, err := r.old(ctx, in)
		if err != nil {
			return nil, err
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
}

// replace makes the object of the request of what is stored.
func (r *Resource) replace(stored map[string]any, in *input) {
	tree := runtime.DeepCopyJSON(in.tree)
	before, meta := nested(stored, "metadata"), nested(tree, "metadata")
	meta["resourceVersion"] = before["resourceVersion"]
	for _, name := range changeable {
		if in.leaves(name) && before[name] != nil {
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

// old returns the object that a write replaces. When the version that the caller has read is known here, nothing is asked; the API server
// compares it again.
func (r *Resource) old(ctx context.Context, in *input) (*store.Item, error) {
	if in.version != "" {
		if item := in.store.Version(in.key, in.version); item != nil {
			return item, r.checkSame(item, in)
		}
	}
	item, err := in.store.Read(ctx, in.key)
	if err != nil {
		return nil, err
	}
	return item, r.checkSame(item, in)
}

// checkSame refuses a write to another object than the one that the client names by its uid or version.
func (r *Resource) checkSame(item *store.Item, in *input) error {
	if in.typed != nil {
		if err := r.checkUID(item, in.typed.GetUID()); err != nil {
			return err
		}
	}
	return r.checkVersion(item, in.version)
}

// checkUID says of an object what the API server says of a PUT to it that carries the uid of another. Trying again is no use.
func (r *Resource) checkUID(item *store.Item, uid types.UID) error {
	if uid == "" || uid == item.UID {
		return nil
	}
	return &rpcstatus.Error{
		Code: codes.Aborted, Reason: "CONFLICT",
		Message: fmt.Sprintf("%s %s has the uid %s and not %s: it is another object of the same name; leave out metadata.uid to change it", r.Checks.Kind, item.Name, item.UID, uid),
	}
}

// checkVersion says of an object what the API server would say of a write to it that names another version.
func (r *Resource) checkVersion(item *store.Item, version string) error {
	if version == "" || item.ResourceVersion == version {
		return nil
	}
	return apierrors.NewConflict(r.GroupResource(), item.Name, errStale)
}

var errStale = errors.New("the object has been modified; please apply your changes to the latest version and try again")

// Suspend sets spec.suspend. An object whose life has ended is a wrong state.
func (r *Resource) Suspend(ctx context.Context, req ChangeRequest, resp proto.Message) error {
	return r.suspend(ctx, req, resp, true)
}

// Resume takes spec.suspend back.
func (r *Resource) Resume(ctx context.Context, req ChangeRequest, resp proto.Message) error {
	return r.suspend(ctx, req, resp, false)
}

func (r *Resource) suspend(ctx context.Context, req ChangeRequest, resp proto.Message, suspend bool) error {
	in, err := r.begin(ctx, req)
	if err != nil {
		return err
	}
	return r.modify(ctx, in, resp, func(tree map[string]any) error {
		if suspend && r.Finished != nil {
			if why := r.Finished(tree); why != "" {
				return wrongState("%s", why)
			}
		}
		nested(tree, "spec")["suspend"] = suspend // false and not absent: a suspended RayCluster wakes for nothing less
		return nil
	})
}

// ScaleRequest is the request of Scale. The numbers are fields with presence.
type ScaleRequest interface {
	ChangeRequest
	GetWorkerGroup() string
}

// Scale changes the size of a worker group; a number that is not set stays as it is.
func (r *Resource) Scale(ctx context.Context, req ScaleRequest, resp proto.Message) error {
	sizes := map[string]any{}
	m := req.ProtoReflect()
	for _, name := range []string{"replicas", "minReplicas", "maxReplicas"} {
		if fd := m.Descriptor().Fields().ByJSONName(name); m.Has(fd) {
			sizes[name] = m.Get(fd).Int()
		}
	}
	if len(sizes) == 0 {
		return rpcstatus.BadField("replicas", "give at least one of replicas, minReplicas and maxReplicas")
	}
	in, err := r.begin(ctx, req)
	if err != nil {
		return err
	}
	return r.modify(ctx, in, resp, func(tree map[string]any) error {
		path := strings.Split(r.Groups, ".")
		groups, _ := nested(tree, path[:len(path)-1]...)[path[len(path)-1]].([]any)
		group, err := groupNamed(groups, req.GetWorkerGroup())
		if err == nil {
			maps.Copy(group, sizes)
		}
		return err
	})
}

func groupNamed(groups []any, name string) (map[string]any, error) {
	byName := map[string]map[string]any{}
	for _, g := range groups {
		if group, ok := g.(map[string]any); ok {
			groupName, _ := group["groupName"].(string)
			byName[groupName] = group
		}
	}
	names := strings.Join(slices.Sorted(maps.Keys(byName)), ", ")
	switch group, found := byName[name]; {
	case found:
		return group, nil
	case len(byName) == 0:
		return nil, wrongState("there are no worker groups to scale")
	case name != "":
		return nil, rpcstatus.BadField("worker_group", "there is no group %q: use one of %s", name, names)
	case len(groups) == 1:
		return slices.Collect(maps.Values(byName))[0], nil
	}
	return nil, rpcstatus.BadField("worker_group", "required, because there is more than one: %s", names)
}
