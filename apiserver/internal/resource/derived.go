package resource

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/raygate/raygate/apiserver/internal/store"
	raygatev2 "github.com/raygate/raygate/proto/gen/go/raygate/v2"
)

// Find returns an object for a caller who may get it, for methods of other packages.
func (r *Resource) Find(ctx context.Context, namespace, name string) (*store.Item, error) {
	return r.find(ctx, &raygatev2.GetClusterRequest{Namespace: namespace, Name: name}, "get")
}

// Permit returns an error unless the caller may list the objects of a namespace or, by another verb, use the one of a name, which need not
// exist.
func (r *Resource) Permit(ctx context.Context, verb, namespace, name string) error {
	err := CheckNamespace(namespace)
	if verb != "list" {
		err = checkName(namespace, name)
	}
	if err != nil {
		return err
	}
	_, err = r.storeFor(ctx, namespace, name, verb)
	return err
}

// Make creates an object that the gateway composed for the caller, and returns it as stored.
func (r *Resource) Make(ctx context.Context, tree map[string]any, dryRun bool) (*store.Item, error) {
	data, err := json.Marshal(tree)
	if err != nil {
		return nil, fmt.Errorf("encoding a %s: %w", r.Checks.Kind, err)
	}
	typed, err := r.typedOf(data)
	if err != nil {
		return nil, err
	}
	if err := r.decide(ctx, &input{}, r.Checks.Create(typed, r.Validation)); err != nil {
		return nil, err
	}
	st, err := r.In(typed.GetNamespace())
	if err != nil {
		return nil, err
	}
	return st.Create(ctx, &store.Object{Object: tree}, store.CreateOptions{WriteOptions: store.WriteOptions{DryRun: dryRun}})
}

// Modify changes an existing object by do, which is called again after a conflict, and returns it as stored.
func (r *Resource) Modify(ctx context.Context, namespace, name string, do func(tree map[string]any) error) (*store.Item, error) {
	in, err := r.begin(ctx, &raygatev2.SuspendClusterRequest{Namespace: namespace, Name: name}, noObject)
	if err != nil {
		return nil, err
	}
	return r.change(ctx, in, do)
}

// Remove begins the deletion of an object.
func (r *Resource) Remove(ctx context.Context, namespace, name string) error {
	return r.Delete(ctx, &raygatev2.DeleteClusterRequest{Namespace: namespace, Name: name}, &raygatev2.DeleteClusterResponse{})
}

// Page returns a page of objects for a caller who may list them.
func (r *Resource) Page(ctx context.Context, o store.ListOptions) (*store.Page, error) {
	if o.Namespace != "" {
		if err := CheckNamespace(o.Namespace); err != nil {
			return nil, err
		}
	}
	st, err := r.storeFor(ctx, o.Namespace, "", "list")
	if err != nil {
		return nil, err
	}
	r.warnOfAge(ctx, st)
	return st.List(ctx, o)
}
