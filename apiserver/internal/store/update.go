package store

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"

	"github.com/tidwall/gjson"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
)

// FieldManager is the name under which the gateway's writes are recorded in managed fields.
const FieldManager = "raygate-apiserver"

// WriteOptions of all writes.
type WriteOptions struct {
	// DryRun does everything but the write.
	DryRun bool
	// Strict has the API server refuse fields that its schema does not have. Otherwise it drops them with a warning.
	Strict bool
}

func (o WriteOptions) dryRun() []string {
	if o.DryRun {
		return []string{metav1.DryRunAll}
	}
	return nil
}

func (o WriteOptions) fieldValidation() string {
	if o.Strict {
		return metav1.FieldValidationStrict
	}
	return ""
}

// Read returns an object as the API server has it, with the caller's credentials.
func (s *Store) Read(ctx context.Context, key types.NamespacedName) (*Item, error) {
	raw, err := do(ctx, s.opts.Writer.Get().Namespace(key.Namespace).Resource(s.kind.Resource).Name(key.Name))
	if err != nil {
		return nil, err
	}
	return ParseItem(raw)
}

// Version returns an object if its known version, without a request, is exactly this one; nil if not.
func (s *Store) Version(key types.NamespacedName, version string) *Item {
	s.cache.mu.RLock()
	item := s.cache.find(key)
	s.cache.mu.RUnlock()
	if w, _ := s.pending.get(key); w != nil && w.item != nil {
		item = w.item
	}
	if item == nil || item.ResourceVersion != version {
		return nil
	}
	return item
}

// Replace writes all of an object with the caller's credentials, once. obj has the resourceVersion of old, the object that it replaces.
// Status and times are ignored; the annotations that make a create idempotent stay.
func (s *Store) Replace(ctx context.Context, obj *Object, old *Item, o WriteOptions) (*Item, error) {
	s.clearServerOwned(obj)
	annotate(obj, old.Annotations[rayv1.AnnotationRequestID], old.Annotations[rayv1.AnnotationRequestHash])
	return s.write(ctx, s.opts.Writer.Put().Namespace(obj.GetNamespace()).Resource(s.kind.Resource).Name(obj.GetName()).SetHeader("Content-Type", "application/json").
		VersionedParams(&metav1.UpdateOptions{DryRun: o.dryRun(), FieldManager: FieldManager, FieldValidation: o.fieldValidation()}, metav1.ParameterCodec), obj, o)
}

// PatchOptions of Patch.
type PatchOptions struct {
	WriteOptions
	// Type is the type of the patch.
	Type types.PatchType
	// Manager of the fields. Empty means FieldManager.
	Manager string
	// Force takes over fields from other managers; for server-side apply.
	Force bool
}

// Patch sends a patch with the caller's credentials. It should carry the resourceVersion of the object that it was made for.
func (s *Store) Patch(ctx context.Context, key types.NamespacedName, patch map[string]any, o PatchOptions) (*Item, error) {
	options := &metav1.PatchOptions{DryRun: o.dryRun(), FieldManager: cmp.Or(o.Manager, FieldManager), FieldValidation: o.fieldValidation()}
	if o.Type == types.ApplyPatchType {
		options.Force = &o.Force
	}
	return s.write(ctx, s.opts.Writer.Patch(o.Type).Namespace(key.Namespace).Resource(s.kind.Resource).Name(key.Name).
		VersionedParams(options, metav1.ParameterCodec), &Object{Object: patch}, o.WriteOptions)
}

// write sends a request with obj as its body, records the result for later readers, and returns it.
func (s *Store) write(ctx context.Context, r *rest.Request, obj *Object, o WriteOptions) (*Item, error) {
	body, err := json.Marshal(obj.Object)
	if err != nil {
		return nil, fmt.Errorf("encoding %s: %w", keyOf(obj), err)
	}
	raw, err := do(ctx, r.Body(body))
	if err != nil {
		return nil, err
	}
	item, err := ParseItem(raw)
	if err != nil {
		return nil, err
	}
	if !o.DryRun && item.rv != 0 {
		s.record(&pendingWrite{key: item.key, item: item})
	}
	return item, nil
}

// clearServerOwned clears fields that a client may send but the API server sets.
func (s *Store) clearServerOwned(obj *Object) {
	obj.SetGroupVersionKind(s.kind.GroupVersionKind)
	for _, field := range []string{"managedFields", "generation", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds", "selfLink"} {
		unstructured.RemoveNestedField(obj.Object, "metadata", field)
	}
	unstructured.RemoveNestedField(obj.Object, "status")
	annotate(obj, "", "")
}

// DeleteOptions of Delete.
type DeleteOptions struct {
	// UID and Version are preconditions. Empty means none.
	UID     types.UID
	Version string
	// Propagation of the deletion to dependents. Empty means background.
	Propagation metav1.DeletionPropagation
	WriteOptions
}

// Delete deletes an object with the caller's credentials. It returns the UID of the object, whose deletion has begun; finalizers or
// foreground propagation may delay its end.
func (s *Store) Delete(ctx context.Context, key types.NamespacedName, o DeleteOptions) (types.UID, error) {
	opts := &metav1.DeleteOptions{PropagationPolicy: new(cmp.Or(o.Propagation, metav1.DeletePropagationBackground)), DryRun: o.dryRun()}
	opts.SetGroupVersionKind(metav1.SchemeGroupVersion.WithKind("DeleteOptions"))
	opts.Preconditions = &metav1.Preconditions{}
	if o.UID != "" {
		opts.Preconditions.UID = &o.UID
	}
	if o.Version != "" {
		opts.Preconditions.ResourceVersion = &o.Version
	}
	body, err := json.Marshal(opts)
	if err != nil {
		return "", fmt.Errorf("encoding delete options: %w", err)
	}
	raw, err := do(ctx, s.opts.Writer.Delete().Namespace(key.Namespace).Resource(s.kind.Resource).Name(key.Name).
		SetHeader("Content-Type", "application/json").Body(body))
	if err != nil {
		return "", err
	}
	if o.DryRun {
		return uidOf(raw), nil
	}
	return uidOf(raw), s.Record(key, raw)
}

// Record makes a write visible to later reads. answer is the API server's: the object, or after a deletion a Status. Writes of this Store
// record themselves.
func (s *Store) Record(key types.NamespacedName, answer []byte) error {
	if gjson.GetBytes(answer, "kind").Str == "Status" {
		if uid := uidOf(answer); uid != "" {
			s.record(&pendingWrite{key: key, deleted: uid})
		}
		return nil
	}
	item, err := ParseItem(answer)
	if err != nil {
		return fmt.Errorf("reading the answer to a write: %w", err)
	}
	if item.rv != 0 && item.Kind == s.kind.GroupVersionKind.Kind { // not a table, or metadata alone
		s.record(&pendingWrite{key: item.key, item: item})
	}
	return nil
}

// uidOf returns the UID of the object that the API server answers a deletion with.
func uidOf(answer []byte) types.UID {
	return types.UID(cmp.Or(gjson.GetBytes(answer, "metadata.uid").Str, gjson.GetBytes(answer, "details.uid").Str))
}
