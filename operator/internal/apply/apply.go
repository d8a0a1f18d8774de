package apply

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
)

// ErrNotOwned says that an object of the wanted name exists and has another controller, or none. It is never changed.
var ErrNotOwned = errors.New("exists and belongs to something else")

// ErrBeingDeleted says that our own object of the wanted name is on its way out. It can be made again when it is gone.
var ErrBeingDeleted = errors.New("is being deleted")

// Result says what Object did.
type Result string

const (
	// Unchanged says that nothing had to be written.
	Unchanged Result = "Unchanged"
	// Created says that the object was missing.
	Created Result = "Created"
	// Patched says that the object differed from what was asked for.
	Patched Result = "Patched"
)

// Writer writes children of one kind of owner.
type Writer struct {
	// Client writes. It is not used to read, because its cache may hold a subset of the objects only.
	Client client.Client
	// Live reads from the API server itself. It is asked only when a create finds the name taken.
	Live client.Reader
}

// Object makes current look like desired. current is what the cache shows under that name, and nil when it shows
// nothing. desired must name owner as its controller; on return without error it is the object as the server has it.
//
// Fields that desired leaves empty, and labels and annotations that it does not mention, are not touched: they may be
// defaults, or belong to the user. Errors can be ErrNotOwned, ErrBeingDeleted or those of the API server.
func (w Writer) Object(ctx context.Context, owner metav1.Object, desired, current client.Object) (Result, error) {
	if current == nil {
		created, err := w.create(ctx, desired)
		if err != nil {
			return Unchanged, err
		}
		if created == nil {
			return Created, nil
		}
		current = created
	}
	what, err := describe(desired, w.Client)
	if err != nil {
		return Unchanged, err
	}
	if !metav1.IsControlledBy(current, owner) {
		return Unchanged, fmt.Errorf("%s %w: %s; rename or delete it", what, ErrNotOwned, controllerOf(current))
	}
	if current.GetDeletionTimestamp() != nil {
		return Unchanged, fmt.Errorf("%s %w", what, ErrBeingDeleted)
	}
	wanted, err := wantedOf(desired)
	if err != nil {
		return Unchanged, fmt.Errorf("encoding %s: %w", what, err)
	}
	found, err := runtime.DefaultUnstructuredConverter.ToUnstructured(current)
	if err != nil {
		return Unchanged, fmt.Errorf("encoding %s: %w", what, err)
	}
	if covers(wanted, found) {
		return Unchanged, copyInto(current, desired)
	}
	patch, err := patchFor(wanted, current)
	if err != nil {
		return Unchanged, fmt.Errorf("building the patch for %s: %w", what, err)
	}
	// The answer is decoded into what the patch is sent for, so that must be a copy: current belongs to the cache.
	target := current.DeepCopyObject().(client.Object)
	if err := w.Client.Patch(ctx, target, patch); err != nil {
		return Unchanged, fmt.Errorf("patching %s: %w", what, err)
	}
	return Patched, copyInto(target, desired)
}

// create returns the object that was in the way, or nil after success.
func (w Writer) create(ctx context.Context, desired client.Object) (client.Object, error) {
	attempt := desired.DeepCopyObject().(client.Object)
	err := w.Client.Create(ctx, attempt)
	if err == nil {
		return nil, copyInto(attempt, desired)
	}
	what, describeErr := describe(desired, w.Client)
	if describeErr != nil {
		return nil, describeErr
	}
	if !apierrors.IsAlreadyExists(err) {
		return nil, fmt.Errorf("creating %s: %w", what, err)
	}
	// The cache is behind, or filtered, or somebody else took the name. Only the server knows.
	live := desired.DeepCopyObject().(client.Object)
	if err := w.Live.Get(ctx, client.ObjectKeyFromObject(desired), live); err != nil {
		return nil, fmt.Errorf("reading %s, whose name was taken: %w", what, err)
	}
	return live, nil
}

// wantedOf returns what a builder can ask for: labels, annotations and everything outside metadata and status.
func wantedOf(desired client.Object) (map[string]any, error) {
	if s, ok := desired.(*corev1.Service); ok {
		// What a Service cannot change once it exists would make every later patch fail.
		s = s.DeepCopy()
		s.Spec.ClusterIP, s.Spec.ClusterIPs = "", nil
		desired = s
	}
	body, err := runtime.DefaultUnstructuredConverter.ToUnstructured(desired)
	if err != nil {
		return nil, err
	}
	meta := map[string]any{}
	if l := desired.GetLabels(); len(l) > 0 {
		meta["labels"] = stringMap(l)
	}
	if a := desired.GetAnnotations(); len(a) > 0 {
		meta["annotations"] = stringMap(a)
	}
	body["metadata"] = meta
	for _, key := range []string{"status", "apiVersion", "kind"} {
		delete(body, key)
	}
	return body, nil
}

func stringMap(m map[string]string) map[string]any {
	out := make(map[string]any, len(m))
	for k, v := range m {
		out[k] = v
	}
	return out
}

// covers reports whether every field that wanted sets has the same value in found. A zero counts as not set. Lists must be
// of one length, so that an element that is no longer wanted is noticed.
//
// equality.Semantic.DeepDerivative is not used: to it a number or boolean that was left out differs from its default, and
// a shorter list is covered by a longer one.
func covers(wanted, found any) bool {
	switch w := wanted.(type) {
	case nil:
		return true
	case map[string]any:
		f, _ := found.(map[string]any)
		for k, v := range w {
			if !covers(v, f[k]) {
				return false
			}
		}
		return true
	case []any:
		if len(w) == 0 {
			return true
		}
		f, _ := found.([]any)
		if len(f) != len(w) {
			return false
		}
		for i := range w {
			if !covers(w[i], f[i]) {
				return false
			}
		}
		return true
	default:
		return reflect.ValueOf(w).IsZero() || w == found
	}
}

// patchFor returns a merge patch with what is wanted. It carries the resourceVersion of current, so that a change made by
// somebody else in between is a conflict and not lost.
func patchFor(wanted map[string]any, current client.Object) (client.Patch, error) {
	wanted["metadata"].(map[string]any)["resourceVersion"] = current.GetResourceVersion()
	raw, err := json.Marshal(wanted)
	if err != nil {
		return nil, err
	}
	return client.RawPatch(types.MergePatchType, raw), nil
}

func describe(o client.Object, c client.Client) (string, error) {
	gvk, err := apiutil.GVKForObject(o, c.Scheme())
	if err != nil {
		return "", fmt.Errorf("finding the kind of %T: %w", o, err)
	}
	return fmt.Sprintf("%s %s/%s", gvk.Kind, o.GetNamespace(), o.GetName()), nil
}

func controllerOf(o client.Object) string {
	if c := metav1.GetControllerOf(o); c != nil {
		return fmt.Sprintf("its controller is %s %s", c.Kind, c.Name)
	}
	return "it has no controller"
}

// copyInto overwrites dst with src; both have the same type.
func copyInto(src, dst client.Object) error {
	switch d := dst.(type) {
	case *corev1.Service:
		src.(*corev1.Service).DeepCopyInto(d)
		return nil
	default:
		return fmt.Errorf("objects of type %T are not supported", dst)
	}
}
