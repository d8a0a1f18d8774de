package resource

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/raygate/raygate/apiserver/internal/rpcstatus"
	"github.com/raygate/raygate/apiserver/internal/store"
)

// change is what modify does to an object.
type change struct {
	key types.NamespacedName
	// version that the object must have. Empty means any: a conflict is tried again.
	version string
	dryRun  bool
	// do changes the object. An error ends the call.
	do func(tree map[string]any) error
	// in is the object of the request, for its mistakes; an empty one is fine.
	in *input
}

// modify reads an object, changes it, asks the rules about the change, and writes the difference for the version that it has read. What nobody
// changes is not written, whether this gateway knows it or not.
func (r *Resource) modify(ctx context.Context, c change, resp proto.Message) error {
	if c.in == nil {
		c.in = &input{}
	}
	for attempt := 1; ; attempt++ {
		item, err := r.modifyOnce(ctx, c)
		if err == nil {
			return r.answer(ctx, resp, true, item)
		}
		if !apierrors.IsConflict(err) || c.version != "" || attempt == attempts {
			return c.in.refused(err)
		}
	}
}

func (r *Resource) modifyOnce(ctx context.Context, c change) (*store.Item, error) {
	old, err := r.Store.Read(ctx, c.key)
	if err != nil {
		return nil, err
	}
	if err := r.checkVersion(old, c.version); err != nil {
		return nil, err
	}
	before, err := old.Tree()
	if err != nil {
		return nil, err
	}
	after := runtime.DeepCopyJSON(before)
	if err := c.do(after); err != nil {
		return nil, err
	}
	data, err := json.Marshal(after)
	if err != nil {
		return nil, fmt.Errorf("encoding the changed object: %w", err)
	}
	was, err := r.typedOf(old.JSON())
	if err != nil {
		return nil, err
	}
	is, err := r.typedOf(data)
	if err != nil {
		return nil, rpcstatus.BadField("", "%v", err)
	}
	if err := r.decide(ctx, c.in.mistakes, r.Checks.Update(is, was, r.Validation)); err != nil {
		return nil, err
	}
	patch := difference(before, after)
	nested(patch, "metadata")["resourceVersion"] = old.ResourceVersion
	return r.Store.Patch(ctx, c.key, patch, store.PatchOptions{Type: types.MergePatchType, WriteOptions: c.in.strict(c.dryRun)})
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

// verbRequest is the request of Suspend, Resume and Scale.
type verbRequest interface {
	target
	GetValidateOnly() bool
	GetEtag() string
}

func (r *Resource) verb(ctx context.Context, req verbRequest, resp proto.Message, do func(tree map[string]any) error) error {
	if err := checkName(req.GetNamespace(), req.GetName()); err != nil {
		return err
	}
	etag, err := etagOf(ctx, req.GetEtag())
	if err != nil {
		return err
	}
	version, err := versionOf(etag, "")
	if err != nil {
		return err
	}
	return r.modify(ctx, change{key: keyOf(req), version: version, dryRun: req.GetValidateOnly(), do: do}, resp)
}

// Suspend sets spec.suspend, or takes it back. An object whose life has ended is ErrFinished.
func (r *Resource) Suspend(ctx context.Context, req verbRequest, resp proto.Message, suspend bool) error {
	return r.verb(ctx, req, resp, func(tree map[string]any) error {
		if suspend && r.Finished != nil {
			if why := r.Finished(tree); why != "" {
				return wrongState("%s", why)
			}
		}
		nested(tree, "spec")["suspend"] = suspend // false and not absent: a suspended RayCluster wakes for nothing less
		return nil
	})
}

// ScaleRequest is the request of Scale.
type ScaleRequest interface {
	verbRequest
	GetWorkerGroup() string
}

// Scale changes the size of a worker group; nil leaves a number as it is.
func (r *Resource) Scale(ctx context.Context, req ScaleRequest, replicas, least, most *int32, resp proto.Message) error {
	if replicas == nil && least == nil && most == nil {
		return rpcstatus.BadField("replicas", "give at least one of replicas, minReplicas and maxReplicas")
	}
	return r.verb(ctx, req, resp, func(tree map[string]any) error {
		path := strings.Split(r.Groups, ".")
		groups, _ := nested(tree, path[:len(path)-1]...)[path[len(path)-1]].([]any)
		group, err := groupNamed(groups, req.GetWorkerGroup())
		if err != nil {
			return err
		}
		for name, value := range map[string]*int32{"replicas": replicas, "minReplicas": least, "maxReplicas": most} {
			if value != nil {
				group[name] = int64(*value)
			}
		}
		return nil
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
