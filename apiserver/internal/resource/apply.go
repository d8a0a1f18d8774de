package resource

import (
	"cmp"
	"context"

	"google.golang.org/protobuf/proto"
	"k8s.io/apimachinery/pkg/types"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/apiserver/internal/store"
	"github.com/raygate/raygate/pkg/manifest"
)

// ApplyRequest is the request of Apply.
type ApplyRequest interface {
	ChangeRequest
	GetFieldManager() string
	GetForce() bool
}

// Apply is server-side apply. The rules check the result of a dry run, which is then written if the object has not changed in between.
func (r *Resource) Apply(ctx context.Context, req ApplyRequest, resp proto.Message) error {
	in, err := r.begin(ctx, req, partOfObject)
	if err != nil {
		return err
	}
	if err := r.addProfile(ctx, in); err != nil {
		return err
	}
	o := store.PatchOptions{Type: types.ApplyPatchType, Manager: cmp.Or(req.GetFieldManager(), clientName(ctx)), Force: req.GetForce()}
	if err := checkManager(o.Manager); err != nil {
		return err
	}
	config := in.given()
	manifest.DropNulls(config)
	config["apiVersion"], config["kind"] = rayv1.GroupVersion.String(), r.Checks.Kind
	meta := manifest.Nested(config, "metadata")
	meta["name"], meta["namespace"] = in.key.Name, in.key.Namespace
	item, err := in.retry(func() (*store.Item, error) {
		delete(meta, "resourceVersion")
		if in.version != "" {
			meta["resourceVersion"] = in.version
		}
		o.WriteOptions = in.options(true)
		made, err := in.store.Patch(ctx, in.key, config, o)
		if err != nil {
			return nil, err
		}
		if err := r.decideApplied(ctx, in, made); err != nil || in.dryRun {
			return made, err
		}
		if made.ResourceVersion != "" {
			meta["resourceVersion"] = made.ResourceVersion
		}
		o.WriteOptions = in.options(false)
		return in.store.Patch(ctx, in.key, config, o)
	})
	if err != nil {
		return err
	}
	return r.Answer(ctx, resp, true, item)
}

// decideApplied checks the result of a dry run against the rules: a new object, or a new version of the stored one.
func (r *Resource) decideApplied(ctx context.Context, in *input, made *store.Item) error {
	is, err := r.typedOf(made.JSON())
	if err != nil {
		return err
	}
	if made.ResourceVersion == "" {
		return r.decide(ctx, in, r.Checks.Create(is, r.Validation))
	}
	old := in.store.Version(in.key, made.ResourceVersion)
	if old == nil {
		// The dry run has shown that the caller may patch the object, which is not returned.
		if old, err = in.store.Get(ctx, in.key, store.ReadOptions{MinVersion: made.ResourceVersion}); err != nil {
			return err
		}
	}
	if err := r.checkSame(old, in.uid, made.ResourceVersion); err != nil {
		return err
	}
	was, err := r.typedOf(old.JSON())
	if err != nil {
		return err
	}
	return r.decide(ctx, in, r.Checks.Update(is, was, r.Validation))
}
