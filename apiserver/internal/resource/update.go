package resource

import (
	"cmp"
	"context"
	"regexp"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/fieldmaskpb"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/raygate/raygate/apiserver/internal/rpcstatus"
	"github.com/raygate/raygate/pkg/manifest"
)

// changeable are the members of metadata that a client may change. Others belong to the API server.
var changeable = []string{"labels", "annotations", "finalizers", "ownerReferences"}

// UpdateRequest is the request of Update.
type UpdateRequest interface {
	ChangeRequest
	GetUpdateMask() *fieldmaskpb.FieldMask
}

// Update sets the fields of the mask to their values in the object of the request. Without a mask it sets all fields that the object has.
func (r *Resource) Update(ctx context.Context, req UpdateRequest, resp proto.Message) error {
	in, err := r.begin(ctx, req, partOfObject)
	if err != nil {
		return err
	}
	paths, err := r.parseMask(in, req.GetUpdateMask().GetPaths())
	if err != nil {
		return err
	}
	in.locked = true
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

// keeps reports whether a write of the whole object keeps a stored member of metadata. It keeps missing finalizers and owners unless the
// object has a resourceVersion. They mostly belong to controllers, whose clean-up needs them.
func (in *input) keeps(name string) bool {
	given, _ := manifest.Nested(in.tree, "metadata")[name].([]any)
	return len(given) == 0 && (name == "finalizers" || name == "ownerReferences") && in.typed.GetResourceVersion() == ""
}

// given returns the part of the object of the request that clients may change.
func (in *input) given() map[string]any {
	given := map[string]any{}
	if spec, ok := in.tree["spec"]; ok {
		given["spec"] = spec
	}
	for _, name := range changeable {
		if value, ok := manifest.Nested(in.tree, "metadata")[name]; ok {
			manifest.Nested(given, "metadata")[name] = value
		}
	}
	return given
}

// maskPath is a path of a mask.
type maskPath struct {
	text  string
	parts []string
	// fields is how many of the parts, the first ones, are fields of messages. The others are keys of maps and members of documents.
	fields int
}

// move sets the value at the path to that of from, or removes it if from has none. It returns false for a path to nothing. A path of fields always leads to
// something: fields may be unset.
func (p maskPath) move(tree, from map[string]any) bool {
	keys := p.keys(tree, from)
	if keys == nil {
		return false
	}
	value, _, _ := unstructured.NestedFieldNoCopy(from, keys...)
	if value == nil {
		unstructured.RemoveNestedField(tree, keys...)
		return true
	}
	manifest.DropNulls(value)
	last := len(keys) - 1
	manifest.Nested(tree, keys[:last]...)[keys[last]] = value
	return true
}

// keys returns the members on the way to the end of the path; nil if one of a map or document exists in neither object. Since keys such as
// app.kubernetes.io/name have dots, the longest one that exists counts.
func (p maskPath) keys(tree, from map[string]any) []string {
	keys := slices.Clone(p.parts[:p.fields])
	for rest := p.parts[p.fields:]; len(rest) > 0; {
		n := len(rest)
		for n > 0 && !hasNested(tree, append(keys, strings.Join(rest[:n], "."))) && !hasNested(from, append(keys, strings.Join(rest[:n], "."))) {
			n--
		}
		if n == 0 {
			return nil
		}
		keys, rest = append(keys, strings.Join(rest[:n], ".")), rest[n:]
	}
	return keys
}

func hasNested(tree map[string]any, keys []string) bool {
	_, found, _ := unstructured.NestedFieldNoCopy(tree, keys...)
	return found
}

// parseMask parses the paths of a mask: names of fields as in JSON or in the proto, joined by dots, and keys of maps, which may be in
// brackets or backticks. "*" means all mutable fields, except the members that in keeps.
func (r *Resource) parseMask(in *input, paths []string) ([]maskPath, error) {
	var all []maskPath
	bad := &rpcstatus.InvalidError{Reason: "INVALID_ARGUMENT"}
	for _, text := range paths {
		if text == "*" {
			all = append(all, maskPath{text, []string{"spec"}, 1})
			for _, name := range changeable {
				if !in.keeps(name) {
					all = append(all, maskPath{text, []string{"metadata", name}, 2})
				}
			}
			continue
		}
		path, problem := r.parsePath(strings.ToValidUTF8(text, "?"))
		if problem != "" {
			bad.Violations = append(bad.Violations, rpcstatus.Violation{Field: "update_mask", Description: path.text + ": " + problem, Reason: "INVALID_ARGUMENT"})
		}
		all = append(all, path)
	}
	if len(bad.Violations) > 0 {
		return nil, bad
	}
	return all, nil
}

func (r *Resource) parsePath(text string) (path maskPath, problem string) {
	path = maskPath{text: text, parts: splitPath(text)}
	if slices.Contains(path.parts, "") {
		return path, "has an empty part"
	}
	md := r.message.Descriptor()
	for i, part := range path.parts {
		fd := cmp.Or(md.Fields().ByJSONName(part), md.Fields().ByName(protoreflect.Name(part)))
		if fd == nil {
			return path, part + " is no field of " + string(md.Name())
		}
		path.parts[i], path.fields = fd.JSONName(), i+1
		if fd.IsList() && i+1 < len(path.parts) {
			return path, fd.JSONName() + " is a list, which is replaced as a whole: name it without what follows, or use :apply"
		}
		if !isOurs(fd) || fd.IsList() {
			break // the rest is in a map or in a document of Kubernetes
		}
		md = fd.Message()
	}
	if !canChange(path.parts) {
		return path, "cannot be changed: use spec and metadata." + strings.Join(changeable, ", metadata.")
	}
	return path, ""
}

func canChange(parts []string) bool {
	return parts[0] == "spec" || parts[0] == "metadata" && len(parts) > 1 && slices.Contains(changeable, parts[1])
}

// maskPart is a part of a path: [a.b], `a.b` or a, and the dot behind it.
var maskPart = regexp.MustCompile("(?s)^(?:\\[[\"']*(.*?)[\"']*(?:\\]|$)|`(.*?)(?:`|$)|([^.\\[]*))(\\.?)")

// splitPath splits a.b[c.d].`e.f` into its parts.
func splitPath(text string) []string {
	var parts []string
	for more := true; more; {
		match := maskPart.FindStringSubmatch(text)
		parts = append(parts, match[1]+match[2]+match[3])
		text = text[len(match[0]):]
		more = text != "" || match[4] != ""
	}
	return parts
}
