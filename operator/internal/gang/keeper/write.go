package keeper

import (
	"context"
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/operator/internal/gang"
)

// create makes the object. If the name turns out to be taken the next run looks at what has it.
func (r *run) create(ctx context.Context, it *item) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	u := build(r.w, it)
	switch err := r.config.Client.Create(ctx, u); {
	case err == nil:
		r.wrote(it, u)
		r.report.Written = append(r.report.Written, "created "+title(it.Object))
	case apierrors.IsAlreadyExists(err):
		r.recent.forget(u) // or the next run would decide by it again
		r.again(leaving)
	default:
		r.trouble(err, "creating %s", title(it.Object))
	}
}

// wrote keeps the next run from deciding without what was written.
func (r *run) wrote(it *item, u *unstructured.Unstructured) {
	r.recent.add(u, r.config.Clock.Now())
	if it.watched {
		r.again(recentLimit) // as in read
	}
}

// build is the object as it is made.
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

// follow patches the fields that differ.
func (r *run) follow(ctx context.Context, it *item) {
	patch := changes(it)
	if len(patch) == 0 {
		return
	}
	raw, err := json.Marshal(patch)
	if err != nil {
		r.trouble(err, "encoding the change of %s", title(it.Object))
		return
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	u := empty(it, r.w.Owner.Namespace)
	if err := r.config.Client.Patch(ctx, u, client.RawPatch(types.JSONPatchType, raw)); err != nil {
		if apierrors.IsNotFound(err) {
			r.recent.forget(u)
			r.again(leaving)
			return
		}
		r.trouble(err, "updating %s", title(it.Object))
		return
	}
	r.wrote(it, u)
	r.report.Written = append(r.report.Written, "updated "+title(it.Object))
}

// delete deletes the object, and reports whether the name is free.
func (r *run) delete(ctx context.Context, it *item) bool {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	if err := r.unprotect(ctx, it); err != nil && !apierrors.IsNotFound(err) {
		r.trouble(err, "taking the finalizer off %s", title(it.Object))
		return false
	}
	uid := it.current.GetUID()
	err := r.config.Client.Delete(ctx, empty(it, r.w.Owner.Namespace), client.Preconditions{UID: &uid})
	// A conflict means that another object has the name by now; the create below meets it.
	if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
		r.trouble(err, "deleting %s", title(it.Object))
		return false
	}
	r.recent.forget(it.current)
	r.report.Written = append(r.report.Written, "deleted "+title(it.Object))
	it.current = nil
	return true
}

// unprotect takes off the finalizer that would keep the object for the sake of Pods that are to outlive it.
func (r *run) unprotect(ctx context.Context, it *item) error {
	i := slices.Index(it.current.GetFinalizers(), it.Finalizer)
	if it.Finalizer == "" || i < 0 {
		return nil
	}
	path := "/metadata/finalizers/" + strconv.Itoa(i)
	raw, err := json.Marshal([]operation{
		{Op: "test", Path: path, Value: it.Finalizer}, // the list may have changed
		{Op: "test", Path: "/metadata/uid", Value: string(it.current.GetUID())},
		{Op: "remove", Path: path},
	})
	if err != nil {
		return err
	}
	return r.config.Client.Patch(ctx, empty(it, r.w.Owner.Namespace), client.RawPatch(types.JSONPatchType, raw))
}

// operation is one of a JSON patch.
type operation struct {
	Op    string `json:"op"`
	Path  string `json:"path"`
	Value any    `json:"value,omitempty"`
}

// changes are what makes the fields that are followed right.
func changes(it *item) []operation {
	if it.current == nil || it.Absent {
		return nil
	}
	want := map[string]any{"spec": it.Spec(it.version)}
	var list []operation
	for _, path := range it.Follow {
		w, wanted := at(want, path)
		c, found := at(it.current.Object, path)
		switch {
		case wanted && (!found || !same(w, c)):
			list = append(list, operation{Op: "add", Path: path, Value: w}) // add also replaces
		case !wanted && found:
			list = append(list, operation{Op: "remove", Path: path})
		}
	}
	return list
}

// at returns what a JSON pointer points at.
func at(value any, pointer string) (any, bool) {
	for part := range strings.SplitSeq(strings.TrimPrefix(pointer, "/"), "/") {
		switch v := value.(type) {
		case map[string]any:
			next, ok := v[part]
			if !ok {
				return nil, false
			}
			value = next
		case []any:
			i, err := strconv.Atoi(part)
			if err != nil || i < 0 || i >= len(v) {
				return nil, false
			}
			value = v[i]
		default:
			return nil, false
		}
	}
	return value, true
}

// same compares values, and amounts by what they mean: 1000m is 1.
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
	x, err := resource.ParseQuantity(a)
	if err != nil {
		return false
	}
	y, err := resource.ParseQuantity(b)
	return err == nil && x.Cmp(y) == 0
}
