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
	"github.com/raygate/raygate/apiserver/internal/document"
	"github.com/raygate/raygate/apiserver/internal/rpcstatus"
	"github.com/raygate/raygate/apiserver/internal/store"
	"github.com/raygate/raygate/clients/go/convert"
	"github.com/raygate/raygate/pkg/kubedoc"
	"github.com/raygate/raygate/pkg/kubedoc/mistake"
	"github.com/raygate/raygate/pkg/validation"
)

// input is what a request wants to write.
type input struct {
	// key is where it is written; its name is empty on create.
	key    types.NamespacedName
	store  Store
	dryRun bool
	// version that the object must have. Empty means any; anyVersion says that the client asked for that by the etag "*".
	version    string
	anyVersion bool

	// tree is the JSON of the object in the request; members may be null when it came by REST. Nil for requests without one.
	tree map[string]any
	// typed is what rules look at, without defaults.
	typed validation.Object
	// form are the mistakes in its form. Unknown fields among them do not end the call: the API server may know them.
	form field.ErrorList
	// place says what in it contradicts the place that it was sent to.
	place field.ErrorList
	// partial says that the tree holds no more than what a message has fields for.
	partial bool
}

// unread are members of metadata that, like the status, the API server alone sets: what a client sends back of them is not looked at.
var unread = []string{"managedFields", "selfLink", "generation", "deletionGracePeriodSeconds"}

// read reads the object of a request. name is the one in the path, and empty on create.
func (r *Resource) read(ctx context.Context, req proto.Message, namespace, name string) (*input, error) {
	field := r.objectField(req.ProtoReflect().Descriptor())
	body := req.ProtoReflect().Get(field).Message()
	if !body.IsValid() {
		return nil, rpcstatus.BadField(string(field.Name()), "required: send the %s as the body", r.Checks.Kind)
	}
	return r.accept(document.ExchangeOf(ctx), body.Interface(), namespace, name), nil
}

// accept is read for an object that came by REST, or else in a message.
func (r *Resource) accept(rest *document.Exchange, message proto.Message, namespace, name string) *input {
	in := &input{key: types.NamespacedName{Namespace: namespace, Name: name}, typed: r.Checks.New()}
	if rest != nil && rest.Tree != nil {
		in.tree, in.form = rest.Tree, rest.Mistakes
	} else {
		in.partial, in.tree = true, convert.Tree(message)
	}
	delete(in.tree, "status")
	if meta, ok := in.tree["metadata"].(map[string]any); ok {
		for _, name := range unread {
			delete(meta, name)
		}
	}
	in.form = append(in.form, kubedoc.Join(kubedoc.Decode(in.tree, in.typed, nil), validation.GroupsWithoutName(in.tree))...)
	in.place = r.checkPlace(in)
	meta := nested(in.tree, "metadata")
	meta["namespace"] = namespace
	in.typed.SetNamespace(namespace)
	if name != "" {
		meta["name"] = name
		in.typed.SetName(name)
	}
	return in
}

// checkPlace compares what the object says of its kind and its place with where it was sent. What it does not say is taken from there.
func (r *Resource) checkPlace(in *input) field.ErrorList {
	var errs field.ErrorList
	for name, want := range map[string]string{"apiVersion": rayv1.GroupVersion.String(), "kind": r.Checks.Kind} {
		if got, ok := in.tree[name].(string); ok && got != "" && got != want {
			errs = append(errs, kubedoc.Problem(field.NewPath(name), mistake.BadFormat, fmt.Sprintf("expected %q, got %q", want, got)))
		}
	}
	meta := field.NewPath("metadata")
	if ns := in.typed.GetNamespace(); ns != "" && ns != in.key.Namespace {
		errs = append(errs, field.Invalid(meta.Child("namespace"), ns, "must be the namespace of the request, "+in.key.Namespace+", or left out").WithOrigin("request/namespace-mismatch"))
	}
	if n := in.typed.GetName(); in.key.Name != "" && n != "" && n != in.key.Name {
		errs = append(errs, field.Invalid(meta.Child("name"), n, "must be the name of the request, "+in.key.Name+", or left out").WithOrigin("request/name-mismatch"))
	}
	return errs
}

// typedOf returns a stored or merged object as rules look at it: with the defaults of the schema. The defaults themselves are left to the API
// server, which may be newer than this gateway.
func (r *Resource) typedOf(data []byte) (validation.Object, error) {
	object := r.Checks.New()
	if err := json.Unmarshal(data, object); err != nil {
		return nil, fmt.Errorf("reading a stored %s: %w", r.Checks.Kind, err)
	}
	r.Checks.SetDefaults(object)
	return object, nil
}

// create asks the rules about a new object as the request has it.
func (r *Resource) create(in *input) validation.Verdict {
	object := in.typed.DeepCopyObject().(validation.Object)
	r.Checks.SetDefaults(object)
	return r.Checks.Create(object, r.Validation)
}

// decide turns what is wrong with an object into an error, if anything but unknown fields is, and passes warnings on.
func (r *Resource) decide(ctx context.Context, in *input, v validation.Verdict) error {
	errs := kubedoc.Join(in.form, append(in.place, v.Errors...))
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

// checkForm ends a call whose object cannot be read, before anything is asked or compared, with all that can be said about it. An object in part
// is asked for nothing more.
func (r *Resource) checkForm(ctx context.Context, in *input, whole bool) error {
	if allUnknown(in.form) && len(in.place) == 0 {
		return nil
	}
	var v validation.Verdict
	if whole {
		v.Errors = r.create(in).Errors
	}
	return r.decide(ctx, in, v)
}

func allUnknown(errs field.ErrorList) bool {
	return !slices.ContainsFunc(errs, func(e *field.Error) bool { return e.Origin != mistake.UnknownField })
}

// malformed names mistakes in the form before what rules say about the rest.
func malformed(form, content field.ErrorList) error {
	return &rpcstatus.InvalidError{Reason: "MALFORMED_BODY", Violations: append(violations(form), violations(content)...)}
}

// options say how to write an object: fields that this gateway does not know are put to the API server, which refuses those that it does not
// know either.
func (in *input) options(dryRun bool) store.WriteOptions {
	return store.WriteOptions{DryRun: dryRun, Strict: len(in.form) > 0}
}

// refused replaces the API server's words about unknown fields by ours, which have paths and suggestions.
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
