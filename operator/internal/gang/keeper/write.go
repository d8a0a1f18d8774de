package keeper

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"maps"
	"reflect"
	"slices"
	"strconv"

	"github.com/go-openapi/jsonpointer"
	"gomodules.xyz/jsonpatch/v2"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/operator/internal/children"
	"github.com/raygate/raygate/operator/internal/gang"
	"github.com/raygate/raygate/operator/internal/optionalapi"
)

// ensure creates the object, or repairs the fields in Follow.
func (r *run) ensure(ctx context.Context, it *item) {
	ctx, cancel := context.WithTimeout(ctx, optionalapi.RequestLimit) // Pods wait for this
	defer cancel()
	what := "creating"
	if it.current != nil {
		what = "updating"
	}
	r.recordResult(it, what, r.children.Ensure(ctx, r.owner(it), children.Child{
		Desired: build(r.w, it), Gone: it.gone, Patch: func(current client.Object) (client.Patch, error) { return patchOf(it, current) },
	}))
}

// recordResult records the result for an object and reports whether the object is as wanted.
func (r *run) recordResult(it *item, what string, result children.Result) bool {
	if result.Done != children.None {
		r.report.Written = append(r.report.Written, past[result.Done]+" "+title(it.Object))
	}
	switch f := result.Failure; {
	case result.Err != nil:
		r.trouble(fmt.Errorf("%s %s: %w", what, title(it.Object), errors.Unwrap(result.Err)))
	case f != nil && it.gone != "":
		r.again(leaving) // perhaps not gone yet; the next run checks
	case f != nil && f.Cause != nil:
		r.problem("%s %s: %v", what, title(it.Object), f.Cause)
	case f != nil:
		r.problem("%s", f.Message)
	}
	if !result.Wanted() || r.watches.Synced(empty(it, "").GroupVersionKind()) { // a read from the API server needs no second check
		r.again(result.After)
	}
	return result.Wanted()
}

var past = map[children.Operation]string{children.Create: "created", children.Update: "updated", children.Delete: "deleted"}

// owner returns the owner of the children for the back-off. Its generation is a hash of the wanted spec: the spec may change while
// the owner's generation stays, and back-off applies to attempts at the same spec.
func (r *run) owner(it *item) client.Object {
	wish := fnv.New64a()
	if it.Spec != nil {
		_ = json.NewEncoder(wish).Encode(it.Spec(it.version)) // plain values can always be encoded
	}
	o := r.w.Owner
	return &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{
		Namespace: o.Namespace, Name: o.Name, UID: o.UID, Generation: int64(wish.Sum64()), //nolint:gosec // any number will do
	}}
}

// build returns the object to create.
func build(w *gang.Workload, it *item) *unstructured.Unstructured {
	u := empty(it, w.Owner.Namespace)
	u.SetLabels(maps.Clone(it.Labels))
	u.SetAnnotations(maps.Clone(it.Annotations))
	ref := metav1.OwnerReference{APIVersion: rayv1.GroupVersion.String(), Kind: w.Owner.Kind, Name: w.Owner.Name, UID: w.Owner.UID}
	if it.Controller {
		ref.Controller, ref.BlockOwnerDeletion = new(true), new(true)
	}
	u.SetOwnerReferences([]metav1.OwnerReference{ref})
	u.Object["spec"] = runtime.DeepCopyJSON(it.Spec(it.version))
	if it.Status != nil {
		u.Object["status"] = runtime.DeepCopyJSON(it.Status)
	}
	return u
}

func empty(it *item, namespace string) *unstructured.Unstructured {
	u := &unstructured.Unstructured{Object: map[string]any{}}
	u.SetAPIVersion(it.Kind.Group + "/" + it.version)
	u.SetKind(it.Kind.Kind)
	u.SetNamespace(namespace)
	u.SetName(it.Name)
	return u
}

// delete deletes the object and reports whether its name is free.
func (r *run) delete(ctx context.Context, it *item) bool {
	ctx, cancel := context.WithTimeout(ctx, optionalapi.RequestLimit)
	defer cancel()
	if err := r.unprotect(ctx, it); err != nil && !apierrors.IsNotFound(err) {
		r.trouble(fmt.Errorf("taking the finalizer off %s: %w", title(it.Object), err))
		return false
	}
	if !r.recordResult(it, "deleting", r.children.Remove(ctx, r.owner(it), it.current)) {
		return false
	}
	it.gone, it.current = it.current.GetUID(), nil
	return true
}

// unprotect removes the finalizer that protects the object while Pods use it. The Pods outlive the object here.
func (r *run) unprotect(ctx context.Context, it *item) error {
	i := slices.Index(it.current.GetFinalizers(), it.Finalizer)
	if it.Finalizer == "" || i < 0 {
		return nil
	}
	path := "/metadata/finalizers/" + strconv.Itoa(i)
	raw, err := json.Marshal([]jsonpatch.Operation{
		jsonpatch.NewOperation("test", path, it.Finalizer), // the list may have changed
		jsonpatch.NewOperation("test", "/metadata/uid", it.current.GetUID()),
		jsonpatch.NewOperation("remove", path, nil),
	})
	if err != nil {
		return err
	}
	return r.client.Patch(ctx, empty(it, r.w.Owner.Namespace), client.RawPatch(types.JSONPatchType, raw))
}

// patchOf returns a JSON patch with the changes, or nil if there are none. It has no resourceVersion, so that status updates of
// the scheduler cause no conflict.
func patchOf(it *item, current client.Object) (client.Patch, error) {
	list := changes(it, current.(*unstructured.Unstructured))
	if len(list) == 0 {
		return nil, nil
	}
	raw, err := json.Marshal(list)
	return client.RawPatch(types.JSONPatchType, raw), err
}

// changes returns the operations that repair the fields in Follow.
func changes(it *item, current *unstructured.Unstructured) []jsonpatch.Operation {
	if it.Absent {
		return nil
	}
	want := map[string]any{"spec": it.Spec(it.version)}
	var list []jsonpatch.Operation
	for _, path := range it.Follow {
		w, wanted := at(want, path)
		c, found := at(current.Object, path)
		switch {
		case wanted && (!found || !same(w, c)):
			list = append(list, jsonpatch.NewOperation("add", path, w)) // add also replaces
		case !wanted && found:
			list = append(list, jsonpatch.NewOperation("remove", path, nil))
		}
	}
	return list
}

// at resolves a JSON pointer.
func at(value any, pointer string) (any, bool) {
	p, err := jsonpointer.New(pointer)
	if err != nil {
		return nil, false
	}
	found, _, err := p.Get(value)
	return found, err == nil
}

// same compares values. Quantities are compared by value: 1000m equals 1.
func same(a, b any) bool {
	if x, ok := a.(map[string]any); ok {
		y, ok := b.(map[string]any)
		return ok && maps.EqualFunc(x, y, same)
	}
	if x, ok := a.(string); ok {
		y, ok := b.(string)
		return ok && (x == y || sameAmount(x, y))
	}
	return reflect.DeepEqual(a, b)
}

func sameAmount(a, b string) bool {
	x, errX := resource.ParseQuantity(a)
	y, errY := resource.ParseQuantity(b)
	return errX == nil && errY == nil && x.Cmp(y) == 0
}
