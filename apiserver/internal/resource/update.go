package resource

import (
	"context"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/fieldmaskpb"
	"k8s.io/apimachinery/pkg/types"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/apiserver/internal/rpcstatus"
	"github.com/raygate/raygate/apiserver/internal/store"
	"github.com/raygate/raygate/pkg/kubedoc"
)

// changeable are the members of metadata that a client may change; the rest is the API server's.
var changeable = []string{"labels", "annotations", "finalizers", "ownerReferences"}

// UpdateRequest is the request of Update.
type UpdateRequest interface {
	ChangeRequest
	GetUpdateMask() *fieldmaskpb.FieldMask
}

// Update changes the fields that the mask names to what the object of the request has, or without a mask those that it has.
func (r *Resource) Update(ctx context.Context, req UpdateRequest, resp proto.Message) error {
	in, err := r.beginWith(ctx, req, false)
	if err != nil {
		return err
	}
	paths, err := r.parseMask(in, req.GetUpdateMask().GetPaths())
	if err != nil {
		return err
	}
	given := in.given()
	return r.modify(ctx, in, resp, func(tree map[string]any) error {
		if len(paths) == 0 {
			merge(tree, given)
		}
		for _, path := range paths {
			if !path.move(tree, given) {
				return rpcstatus.BadField("update_mask", "%s: is neither in the object that is sent nor in the stored one; elements of lists are changed by replacing the list", path.text)
			}
		}
		return nil
	})
}

// leaves tells whether a write of the whole object leaves a member of metadata alone: finalizers and owners that an object does not name, unless it carries
// the version that it was read with. They mostly belong to controllers, and losing them leaks what those would have cleaned up.
func (in *input) leaves(name string) bool {
	given, _ := nested(in.tree, "metadata")[name].([]any)
	return len(given) == 0 && (name == "finalizers" || name == "ownerReferences") && in.typed.GetResourceVersion() == ""
}

// given is what the object of the request says of what clients may change.
func (in *input) given() map[string]any {
	given := map[string]any{}
	if spec, ok := in.tree["spec"]; ok {
		given["spec"] = spec
	}
	for _, name := range changeable {
		if value, ok := nested(in.tree, "metadata")[name]; ok {
			nested(given, "metadata")[name] = value
		}
	}
	return given
}

// merge does what a JSON merge patch does: members replace those there, null removes them, objects are merged.
func merge(tree, patch map[string]any) {
	for name, value := range patch {
		switch v := value.(type) {
		case nil:
			delete(tree, name)
		case map[string]any:
			to, ok := tree[name].(map[string]any)
			if !ok {
				to = map[string]any{}
				tree[name] = to
			}
			merge(to, v)
		default:
			kubedoc.DropNulls(v)
			tree[name] = v
		}
	}
}

// maskPath is a path of a mask.
type maskPath struct {
	text  string
	parts []string
	// fields is how many of the parts, the first ones, are fields of messages. The others are keys of maps and members of documents.
	fields int
}

// move sets the value at the path to the one that from has there, or removes it when from has none. False means that the path leads to nothing: that a
// field is unset on both sides is no mistake, but for all else it is the only sign of one.
func (p maskPath) move(tree, from map[string]any) bool {
	name, n := p.parts[0], 1
	if p.fields <= 0 {
		if name, n = p.longestKey(tree, from); n == 0 {
			return false
		}
	}
	value, given := from[name]
	if n == len(p.parts) {
		if !given || value == nil {
			delete(tree, name)
			return true
		}
		kubedoc.DropNulls(value)
		tree[name] = value
		return true
	}
	below, _ := value.(map[string]any)
	to, ok := tree[name].(map[string]any)
	if !ok {
		if below == nil {
			return p.fields == len(p.parts)
		}
		to = map[string]any{}
		tree[name] = to
	}
	return maskPath{p.text, p.parts[n:], p.fields - n}.move(to, below)
}

// longestKey is the longest key of either map that the path begins with, and how many parts it has: keys such as app.kubernetes.io/name have dots themselves.
func (p maskPath) longestKey(tree, from map[string]any) (key string, parts int) {
	for n := len(p.parts); n > 0; n-- {
		key := strings.Join(p.parts[:n], ".")
		_, stored := tree[key]
		if _, given := from[key]; given || stored {
			return key, n
		}
	}
	return "", 0
}

// parseMask reads the paths of a mask: names of fields as in JSON or in the proto, joined by dots, and keys of maps, which may be put in brackets or
// backticks. "*" is everything that can be changed, but for what in leaves alone.
func (r *Resource) parseMask(in *input, paths []string) ([]maskPath, error) {
	var all []maskPath
	bad := &rpcstatus.InvalidError{Reason: "INVALID_ARGUMENT"}
	for _, text := range paths {
		if text == "*" {
			all = append(all, maskPath{text, []string{"spec"}, 1})
			for _, name := range changeable {
				if !in.leaves(name) {
					all = append(all, maskPath{text, []string{"metadata", name}, 2})
				}
			}
			continue
		}
		path, problem := r.parsePath(text)
		if problem != "" {
			bad.Violations = append(bad.Violations, rpcstatus.Violation{Field: "update_mask", Description: strings.ToValidUTF8(text, "?") + ": " + problem, Reason: "INVALID_ARGUMENT"})
		}
		all = append(all, path)
	}
	if len(bad.Violations) > 0 {
		return nil, bad
	}
	return all, nil
}

func (r *Resource) parsePath(text string) (path maskPath, problem string) {
	path = maskPath{text: strings.ToValidUTF8(text, "?"), parts: splitPath(text)}
	md := r.message.Descriptor()
	for i, part := range path.parts {
		if part == "" {
			return path, "has an empty part"
		}
		if md == nil { // within a map or a document of Kubernetes
			continue
		}
		fd := md.Fields().ByJSONName(part)
		if fd == nil {
			fd = md.Fields().ByName(protoreflect.Name(part))
		}
		if fd == nil {
			return path, part + " is no field of " + string(md.Name())
		}
		path.parts[i], path.fields, md = fd.JSONName(), i+1, nil
		switch {
		case isOurs(fd) && !fd.IsList():
			md = fd.Message()
		case fd.IsList() && i+1 < len(path.parts):
			return path, fd.JSONName() + " is a list, which is replaced as a whole: name it without what follows, or use :apply"
		}
	}
	switch parts := path.parts; {
	case parts[0] == "spec":
	case parts[0] == "metadata" && len(parts) > 1 && slices.Contains(changeable, parts[1]):
	default:
		return path, "cannot be changed: use spec and metadata." + strings.Join(changeable, ", metadata.")
	}
	return path, ""
}

// splitPath splits a.b[c.d].`e.f` into its parts.
func splitPath(text string) []string {
	var parts []string
	for len(text) > 0 {
		var part string
		switch text[0] {
		case '[':
			part, text, _ = strings.Cut(text[1:], "]")
			part = strings.Trim(part, `"'`)
		case '`':
			part, text, _ = strings.Cut(text[1:], "`")
		default:
			end := strings.IndexAny(text, ".[")
			if end < 0 {
				end = len(text)
			}
			part, text = text[:end], text[end:]
		}
		parts = append(parts, part)
		if rest, dot := strings.CutPrefix(text, "."); dot {
			if text = rest; text == "" {
				parts = append(parts, "")
			}
		}
	}
	if len(parts) == 0 {
		return []string{""}
	}
	return parts
}

// ApplyRequest is the request of Apply.
type ApplyRequest interface {
	ChangeRequest
	GetFieldManager() string
	GetForce() bool
}

// Apply is server-side apply. The rules look at what the API server would make of it, which is then written if nothing has changed meanwhile.
func (r *Resource) Apply(ctx context.Context, req ApplyRequest, resp proto.Message) error {
	in, err := r.beginWith(ctx, req, false)
	if err != nil {
		return err
	}
	o := store.PatchOptions{Type: types.ApplyPatchType, Manager: req.GetFieldManager(), Force: req.GetForce()}
	if o.Manager == "" {
		o.Manager = clientName(ctx)
	}
	if err := checkManager(o.Manager); err != nil {
		return err
	}
	config := in.given()
	kubedoc.DropNulls(config)
	config["apiVersion"], config["kind"] = rayv1.GroupVersion.String(), r.Checks.Kind
	meta := nested(config, "metadata")
	meta["name"], meta["namespace"] = in.key.Name, in.key.Namespace
	return r.settle(ctx, in, resp, func() (*store.Item, error) {
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
}

// decideApplied asks the rules about what a dry run made: a new object, or another version of the one that is there.
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
		// The right to patch has been shown by the dry run; what it was made of is not shown to the caller.
		if old, err = in.store.Get(ctx, in.key, store.ReadOptions{MinVersion: made.ResourceVersion}); err != nil {
			return err
		}
		if err := r.checkVersion(old, made.ResourceVersion); err != nil {
			return err
		}
	}
	if err := r.checkUID(old, in.typed.GetUID()); err != nil {
		return err
	}
	was, err := r.typedOf(old.JSON())
	if err != nil {
		return err
	}
	return r.decide(ctx, in, r.Checks.Update(is, was, r.Validation))
}
