package resource

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/apiserver/internal/encoding"
	"github.com/raygate/raygate/apiserver/internal/rpcstatus"
	"github.com/raygate/raygate/apiserver/internal/store"
	"github.com/raygate/raygate/clients/go/convert"
	"github.com/raygate/raygate/pkg/manifest"
	"github.com/raygate/raygate/pkg/manifest/problem"
	"github.com/raygate/raygate/pkg/validation"
)

// ChangeRequest is the request of a write to an existing object, such as Suspend.
type ChangeRequest interface {
	target
	GetValidateOnly() bool
	GetEtag() string
}

// input is the content of a write request, and its target.
type input struct {
	// key of the object. Its name is empty on create.
	key    types.NamespacedName
	store  Store
	dryRun bool
	// version is the version that the object must have; empty means any. anyVersion is set if the client requests any version by the etag
	// "*".
	version    string
	anyVersion bool
	// uid that the object must have. Empty means any.
	uid types.UID
	// locked is set if the change must keep the locked fields of the object's profile. Suspend and Resume need no right to read it.
	locked bool

	// tree is the JSON of the object in the request. Members of an object from REST may be null. It is nil for requests without an object.
	tree map[string]any
	// typed is the object for the rules, without defaults.
	typed validation.Object
	// form are the mistakes in the form of the object. Unknown fields do not end the call, because the API server may have them.
	form field.ErrorList
	// place are the contradictions between the object and the path of the request.
	place field.ErrorList
	// partial is set if the tree was made from a message, which lacks unknown fields.
	partial bool
}

// body selects which object a change has in its request.
type body int

const (
	noObject body = iota
	partOfObject
	wholeObject
)

// begin reads the request of a change.
func (r *Resource) begin(ctx context.Context, req ChangeRequest, has body) (in *input, err error) {
	if err := checkName(req.GetNamespace(), req.GetName()); err != nil {
		return nil, err
	}
	in = &input{}
	version := ""
	if has != noObject {
		if in, err = r.read(ctx, req, req.GetNamespace(), req.GetName()); err != nil {
			return nil, err
		}
		if err := r.checkForm(ctx, in, has); err != nil {
			return nil, err
		}
		version = in.typed.GetResourceVersion()
	}
	etag, err := etagOf(ctx, req.GetEtag())
	if err != nil {
		return nil, err
	}
	in.key, in.dryRun, in.anyVersion = keyOf(req), req.GetValidateOnly(), etag == "*"
	if in.version, err = versionOf(etag, version); err != nil {
		return nil, err
	}
	in.store, err = r.In(req.GetNamespace())
	return in, err
}

// ignored are members of metadata that only the API server sets, like the status. They are dropped from requests.
var ignored = []string{"managedFields", "selfLink", "generation", "deletionGracePeriodSeconds"}

// read reads the object of a request. name is the one in the path, and empty on create.
func (r *Resource) read(ctx context.Context, req proto.Message, namespace, name string) (*input, error) {
	field := r.objectField(req.ProtoReflect().Descriptor())
	message := req.ProtoReflect().Get(field).Message()
	if !message.IsValid() {
		return nil, rpcstatus.BadField(string(field.Name()), "required: send the %s as the body", r.Checks.Kind)
	}
	in := &input{key: types.NamespacedName{Namespace: namespace, Name: name}, typed: r.Checks.New()}
	if rest := encoding.ExchangeOf(ctx); rest != nil && rest.Tree != nil {
		in.tree, in.form = rest.Tree, rest.Mistakes
	} else {
		in.partial, in.tree = true, convert.Tree(message.Interface())
	}
	delete(in.tree, "status")
	if meta, ok := in.tree["metadata"].(map[string]any); ok {
		for _, name := range ignored {
			delete(meta, name)
		}
	}
	in.decode()
	in.place, in.uid = r.checkPlace(in), in.typed.GetUID()
	meta := manifest.Nested(in.tree, "metadata")
	meta["namespace"] = namespace
	in.typed.SetNamespace(namespace)
	if name != "" {
		meta["name"] = name
		in.typed.SetName(name)
	}
	return in, nil
}

// decode reads the tree into the typed object, and notes mistakes in its form.
func (in *input) decode() {
	in.form = append(in.form, manifest.Join(manifest.Decode(in.tree, in.typed, nil), validation.GroupsWithoutName(in.tree))...)
}

// checkPlace compares kind, namespace and name of the object with the request. Those that the object lacks come from the request.
func (r *Resource) checkPlace(in *input) field.ErrorList {
	var errs field.ErrorList
	for name, want := range map[string]string{"apiVersion": rayv1.GroupVersion.String(), "kind": r.Checks.Kind} {
		if got, ok := in.tree[name].(string); ok && got != "" && got != want {
			errs = append(errs, manifest.Problem(field.NewPath(name), problem.BadFormat, fmt.Sprintf("expected %q, got %q", want, got)))
		}
	}
	for _, part := range []struct{ name, got, want string }{
		{"namespace", in.typed.GetNamespace(), in.key.Namespace}, {"name", in.typed.GetName(), in.key.Name},
	} {
		if part.got != "" && part.want != "" && part.got != part.want {
			errs = append(errs, field.Invalid(field.NewPath("metadata", part.name), part.got, "must be the "+part.name+" of the request, "+part.want+", or left out").
				WithOrigin("request/"+part.name+"-mismatch"))
		}
	}
	return errs
}

// typedOf returns a stored or merged object for the rules: with the defaults of the schema. These are not written: the API server, which may be newer than
// this gateway, sets its own.
func (r *Resource) typedOf(data []byte) (validation.Object, error) {
	object := r.Checks.New()
	if err := json.Unmarshal(data, object); err != nil {
		return nil, fmt.Errorf("reading a stored %s: %w", r.Checks.Kind, err)
	}
	r.Checks.SetDefaults(object)
	return object, nil
}

// validateNew returns the verdict of the rules on a new object.
func (r *Resource) validateNew(in *input) validation.Verdict {
	object := in.typed.DeepCopyObject().(validation.Object)
	r.Checks.SetDefaults(object)
	return r.Checks.Create(object, r.Validation)
}

// decide returns an error for anything wrong with an object but unknown fields, and sends the warnings.
func (r *Resource) decide(ctx context.Context, in *input, v validation.Verdict) error {
	errs := manifest.Join(in.form, append(in.place, v.Errors...))
	content := errs[len(in.form):]
	switch {
	case len(in.form) > 0 && (len(content) > 0 || !allUnknown(in.form)):
		return malformed(in.form, content)
	case len(content) > 0:
		return rpcstatus.Invalid(violations(content))
	}
	for _, text := range validation.WarningTexts(v.Warnings) {
		r.Warn(ctx, text)
	}
	return nil
}

// checkForm ends a call with an unreadable object before a request to the API server. The error names all mistakes; for a whole object also
// the problems that the rules find.
func (r *Resource) checkForm(ctx context.Context, in *input, has body) error {
	if allUnknown(in.form) && len(in.place) == 0 {
		return nil
	}
	var v validation.Verdict
	if has == wholeObject {
		v.Errors = r.validateNew(in).Errors
	}
	return r.decide(ctx, in, v)
}

func allUnknown(errs field.ErrorList) bool {
	return !slices.ContainsFunc(errs, func(e *field.Error) bool { return e.Origin != problem.UnknownField })
}

// malformed lists mistakes in the form first, then those that the rules find.
func malformed(form, content field.ErrorList) error {
	return &rpcstatus.InvalidError{Reason: "MALFORMED_BODY", Violations: append(violations(form), violations(content)...)}
}

// options of a write. The API server decides about fields that this gateway does not have.
func (in *input) options(dryRun bool) store.WriteOptions {
	return store.WriteOptions{DryRun: dryRun, Strict: len(in.form) > 0}
}

// refused replaces the API server's text about unknown fields by one with paths and suggestions.
func (in *input) refused(err error) error {
	if len(in.form) > 0 && apierrors.IsBadRequest(err) && strings.Contains(err.Error(), "unknown field") {
		return malformed(in.form, nil)
	}
	return err
}

func violations(errs field.ErrorList) []rpcstatus.Violation {
	var all []rpcstatus.Violation
	for _, v := range validation.Violations(errs) {
		all = append(all, rpcstatus.Violation{Field: v.Field, Description: v.Message, Reason: v.Rule})
	}
	return all
}
