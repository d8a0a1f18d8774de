package resource

import (
	"context"
	"maps"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"

	"github.com/raygate/raygate/apiserver/internal/rpcstatus"
	"github.com/raygate/raygate/pkg/manifest"
)

// Suspend sets spec.suspend. It fails for an object that has finished.
func (r *Resource) Suspend(ctx context.Context, req ChangeRequest, resp proto.Message) error {
	return r.suspend(ctx, req, resp, true)
}

// Resume clears spec.suspend.
func (r *Resource) Resume(ctx context.Context, req ChangeRequest, resp proto.Message) error {
	return r.suspend(ctx, req, resp, false)
}

func (r *Resource) suspend(ctx context.Context, req ChangeRequest, resp proto.Message, suspend bool) error {
	in, err := r.begin(ctx, req, noObject)
	if err != nil {
		return err
	}
	return r.modify(ctx, in, resp, func(tree map[string]any) error {
		if suspend && r.Finished != nil {
			if why := r.Finished(tree); why != "" {
				return rpcstatus.Precondition("WRONG_STATE", "%s", why)
			}
		}
		manifest.Nested(tree, "spec")["suspend"] = suspend // false instead of absent, which does not resume a RayCluster
		return nil
	})
}

// ScaleRequest is the request of Scale. The numbers are fields with presence.
type ScaleRequest interface {
	ChangeRequest
	GetWorkerGroup() string
}

// Scale changes the size of a worker group. A number that is not set stays as it is.
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
	in, err := r.begin(ctx, req, noObject)
	if err != nil {
		return err
	}
	in.locked = true
	return r.modify(ctx, in, resp, func(tree map[string]any) error {
		path := strings.Split(r.Groups, ".")
		groups, _ := manifest.Nested(tree, path[:len(path)-1]...)[path[len(path)-1]].([]any)
		group, err := groupNamed(groups, req.GetWorkerGroup())
		if err == nil {
			maps.Copy(group, sizes)
		}
		return err
	})
}

// groupNamed returns a worker group. The name may be empty if there is only one.
func groupNamed(groups []any, name string) (map[string]any, error) {
	var names []string
	for _, g := range groups {
		group, isGroup := g.(map[string]any)
		groupName, _ := group["groupName"].(string)
		if isGroup && (groupName == name || name == "" && len(groups) == 1) {
			return group, nil
		}
		names = append(names, groupName)
	}
	slices.Sort(names)
	switch all := strings.Join(names, ", "); {
	case len(names) == 0:
		return nil, rpcstatus.Precondition("WRONG_STATE", "there are no worker groups to scale")
	case name != "":
		return nil, rpcstatus.BadField("worker_group", "there is no group %q: use one of %s", name, all)
	default:
		return nil, rpcstatus.BadField("worker_group", "required, because there is more than one: %s", all)
	}
}
