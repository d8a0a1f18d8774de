package resource

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/raygate/raygate/apiserver/internal/document"
	modelv2 "github.com/raygate/raygate/apiserver/internal/model/v2"
	"github.com/raygate/raygate/apiserver/internal/rpcstatus"
	"github.com/raygate/raygate/apiserver/internal/store"
	"github.com/raygate/raygate/pkg/kubedoc"
	"github.com/raygate/raygate/pkg/kubedoc/mistake"
	"github.com/raygate/raygate/pkg/validation"
)

// input is the object of a request.
type input struct {
	// tree is its JSON; members may be null when the request came by REST.
	tree map[string]any
	// typed is what rules look at, without defaults.
	typed validation.Object
	// mistakes are in its form. Unknown fields among them do not end the call: the API server may know them.
	mistakes field.ErrorList
	// partial says that the tree holds no more than what a message has fields for.
	partial bool
}

// read reads the object of a request. name is the one in the path, and empty on create.
func (r *Resource) read(ctx context.Context, body proto.Message, namespace, name string) (*input, error) {
	if !body.ProtoReflect().IsValid() {
		return nil, rpcstatus.BadField(r.bodyName(), "required: send the %s as the body", r.Checks.Kind)
	}
	in := &input{typed: r.Checks.New()}
	var err error
	if rest := document.BodyOf(ctx); rest != nil && len(rest.JSON) > 0 {
		in.tree, err = document.ParseTree(rest.JSON)
	} else {
		in.partial = true
		in.tree, err = modelv2.Tree(body)
	}
	if err != nil {
		return nil, rpcstatus.BadField(r.bodyName(), "%v", err)
	}
	in.mistakes = kubedoc.Join(modelv2.Decode(in.tree, r.Checks.Kind, in.typed), validation.GroupsWithoutName(in.tree))
	if err := modelv2.Normalize(in.tree, in.typed); err != nil {
		return nil, err
	}
	in.mistakes = append(in.mistakes, checkIdentity(in.typed, namespace, name)...)
	meta, ok := in.tree["metadata"].(map[string]any)
	if !ok {
		meta = map[string]any{}
		in.tree["metadata"] = meta
	}
	meta["namespace"] = namespace
	in.typed.SetNamespace(namespace)
	if name != "" {
		meta["name"] = name
		in.typed.SetName(name)
	}
	return in, nil
}

// bodyName is the field of requests that holds the object: cluster, job, service, cron_job.
func (r *Resource) bodyName() string {
	var b strings.Builder
	for i, c := range strings.TrimPrefix(r.Checks.Kind, "Ray") {
		if i > 0 && c >= 'A' && c <= 'Z' {
			b.WriteByte('_')
		}
		b.WriteRune(c)
	}
	return strings.ToLower(b.String())
}

// checkIdentity compares what the body says of its place with where it was sent.
func checkIdentity(in validation.Object, namespace, name string) field.ErrorList {
	var errs field.ErrorList
	meta := field.NewPath("metadata")
	if ns := in.GetNamespace(); ns != "" && ns != namespace {
		errs = append(errs, field.Invalid(meta.Child("namespace"), ns, "must be the namespace of the request, "+namespace+", or left out").WithOrigin("request/namespace-mismatch"))
	}
	if n := in.GetName(); name != "" && n != "" && n != name {
		errs = append(errs, field.Invalid(meta.Child("name"), n, "must be the name of the request, "+name+", or left out").WithOrigin("request/name-mismatch"))
	}
	return errs
}

// object returns what is written.
func (in *input) object() *store.Object {
	document.DropNulls(in.tree)
	return &store.Object{Object: in.tree}
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

func (r *Resource) defaulted(object validation.Object) validation.Object {
	copied := object.DeepCopyObject().(validation.Object)
	r.Checks.SetDefaults(copied)
	return copied
}

// decide turns what is wrong with an object into an error, if anything but unknown fields is, and passes warnings on.
func (r *Resource) decide(ctx context.Context, mistakes field.ErrorList, v validation.Verdict) error {
	errs := kubedoc.Join(mistakes, v.Errors)
	switch {
	case slices.ContainsFunc(mistakes, isUnknown) && !allUnknown(errs):
		return malformed(mistakes, errs[len(mistakes):])
	case !allUnknown(errs):
		return rpcstatus.Invalid(violations(errs))
	}
	for _, text := range validation.WarningTexts(v.Warnings) {
		r.Warn(ctx, text)
	}
	return nil
}

// checkForm ends a call whose object cannot be read, before anything is asked or compared, with all that can be said about it. An object in part
// is asked for nothing more.
func (r *Resource) checkForm(ctx context.Context, in *input, whole bool) error {
	if allUnknown(in.mistakes) {
		return nil
	}
	var v validation.Verdict
	if whole {
		v.Errors = r.Checks.Create(r.defaulted(in.typed), r.Validation).Errors
	}
	return r.decide(ctx, in.mistakes, v)
}

func isUnknown(e *field.Error) bool { return e.Origin == mistake.UnknownField }

func allUnknown(errs field.ErrorList) bool {
	return !slices.ContainsFunc(errs, func(e *field.Error) bool { return !isUnknown(e) })
}

// malformed names mistakes in the form before what rules say about the rest.
func malformed(form, content field.ErrorList) error {
	return &rpcstatus.InvalidError{Reason: "MALFORMED_BODY", Violations: append(violations(form), violations(content)...)}
}

// strict says how to write an object: fields that this gateway does not know are put to the API server, which refuses those that it does not
// know either.
func (in *input) strict(dryRun bool) store.WriteOptions {
	return store.WriteOptions{DryRun: dryRun, Strict: len(in.mistakes) > 0}
}

// refused replaces the API server's words about unknown fields by ours, which have paths and suggestions.
func (in *input) refused(err error) error {
	if len(in.mistakes) > 0 && apierrors.IsBadRequest(err) && strings.Contains(err.Error(), "unknown field") {
		return malformed(in.mistakes, nil)
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

// Review returns what is wrong with an object besides its form, so that a client whose JSON or YAML has mistakes learns of everything in one
// answer. body is what could be read of it, form says what could not. Nothing is added for a document that could not be read as a whole.
func (r *Resource) Review(body proto.Message, form []rpcstatus.Violation) []rpcstatus.Violation {
	if body.ProtoReflect().Descriptor() != r.message.Descriptor() || slices.ContainsFunc(form, func(v rpcstatus.Violation) bool { return v.Field == "" }) {
		return nil
	}
	tree, err := modelv2.Tree(body)
	if err != nil {
		return nil
	}
	typed := r.Checks.New()
	content := kubedoc.Join(modelv2.Decode(tree, r.Checks.Kind, typed), validation.GroupsWithoutName(tree))
	content = kubedoc.Join(content, r.Checks.Create(r.defaulted(typed), r.Validation).Errors)
	content = slices.DeleteFunc(content, func(e *field.Error) bool {
		return slices.ContainsFunc(form, func(v rpcstatus.Violation) bool { return kubedoc.Follows(e, v.Field, v.Reason) })
	})
	return violations(content)
}
