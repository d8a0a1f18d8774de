package store

import (
	"context"
	"encoding/json"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// FieldManager is the name under which the gateway's writes are recorded in managed fields.
const FieldManager = "raygate-apiserver"

// overwriteAttempts bounds how often a replace without a version is tried again after a conflict.
const overwriteAttempts = 5

// ReplaceOptions of Replace.
type ReplaceOptions struct {
	// AllowOverwrite replaces whatever is there when the object carries no resourceVersion.
	AllowOverwrite bool
	// DryRun does everything but the write.
	DryRun bool
	// Check is asked before each attempt about the object that would be replaced. Its error ends the call. Nil asks nobody.
	Check func(now metav1.Object) error
}

// Replace writes all of an object with the caller's credentials. obj must carry the resourceVersion that was read, or AllowOverwrite
// be set; a uid, when set, must match. Status and times are ignored. Finalizers and owners that obj leaves out are kept: they mostly
// belong to controllers, and losing them leaks what those would have cleaned up.
func (s *Store[T]) Replace(ctx context.Context, obj T, o ReplaceOptions) (*Item[T], error) {
	if obj.GetResourceVersion() == "" && !o.AllowOverwrite {
		return nil, ErrVersionRequired
	}
	s.clearServerOwned(obj)
	key := keyOf(obj)
	anyVersion := obj.GetResourceVersion() == ""
	for attempt := 1; ; attempt++ {
		now := s.kind.New()
		if err := s.opts.Writer.Get().Namespace(key.Namespace).Resource(s.kind.Resource).Name(key.Name).Do(ctx).Into(now); err != nil {
			return nil, err
		}
		if o.Check != nil {
			if err := o.Check(now); err != nil {
				return nil, err
			}
		}
		if anyVersion {
			obj.SetResourceVersion(now.GetResourceVersion())
		}
		setOwnAnnotations(obj, now.GetAnnotations()[AnnotationRequestID], now.GetAnnotations()[AnnotationRequestHash])
		if len(obj.GetFinalizers()) == 0 {
			obj.SetFinalizers(now.GetFinalizers())
		}
		if len(obj.GetOwnerReferences()) == 0 {
			obj.SetOwnerReferences(now.GetOwnerReferences())
		}
		replaced, err := s.send(ctx, s.opts.Writer.Put().Namespace(key.Namespace).Resource(s.kind.Resource).Name(key.Name).
			VersionedParams(&metav1.UpdateOptions{DryRun: dryRunOption(o.DryRun), FieldManager: FieldManager}, metav1.ParameterCodec), obj)
		if err == nil {
			return s.written(replaced, o.DryRun), nil
		}
		if !apierrors.IsConflict(err) || !anyVersion || attempt == overwriteAttempts {
			return nil, err
		}
	}
}

// DeleteOptions of Delete.
type DeleteOptions struct {
	// UID and Version are preconditions. Empty means none.
	UID     types.UID
	Version string
	// Propagation of the deletion to dependents. Empty means background.
	Propagation metav1.DeletionPropagation
	// DryRun does everything but the deletion.
	DryRun bool
}

// Delete deletes an object with the caller's credentials. It returns the UID of the object, whose deletion has begun; finalizers
// or foreground propagation may keep it for a while.
func (s *Store[T]) Delete(ctx context.Context, key types.NamespacedName, o DeleteOptions) (types.UID, error) {
	if o.Propagation == "" {
		o.Propagation = metav1.DeletePropagationBackground
	}
	opts := &metav1.DeleteOptions{PropagationPolicy: &o.Propagation, DryRun: dryRunOption(o.DryRun)}
	opts.SetGroupVersionKind(metav1.SchemeGroupVersion.WithKind("DeleteOptions"))
	if o.UID != "" || o.Version != "" {
		opts.Preconditions = &metav1.Preconditions{}
		if o.UID != "" {
			opts.Preconditions.UID = &o.UID
		}
		if o.Version != "" {
			opts.Preconditions.ResourceVersion = &o.Version
		}
	}
	body, err := json.Marshal(opts)
	if err != nil {
		return "", fmt.Errorf("encoding delete options: %w", err)
	}
	result := s.opts.Writer.Delete().Namespace(key.Namespace).Resource(s.kind.Resource).Name(key.Name).
		SetHeader("Content-Type", "application/json").Body(body).Do(ctx)
	if err := result.Error(); err != nil { // Raw would say only what the status code says
		return "", err
	}
	raw, err := result.Raw()
	if err != nil {
		return "", err
	}
	var answer struct {
		metav1.TypeMeta `json:",inline"`
		Details         *metav1.StatusDetails `json:"details"`
	}
	if err := json.Unmarshal(raw, &answer); err != nil {
		return "", fmt.Errorf("reading answer to delete: %w", err)
	}
	if answer.Kind == "Status" {
		if answer.Details == nil {
			return "", nil
		}
		if !o.DryRun {
			s.pending.note(key, pendingWrite{gone: answer.Details.UID})
		}
		return answer.Details.UID, nil
	}
	obj := s.kind.New()
	if err := json.Unmarshal(raw, obj); err != nil {
		return "", fmt.Errorf("reading answer to delete: %w", err)
	}
	return s.written(obj, o.DryRun).Object.GetUID(), nil
}
