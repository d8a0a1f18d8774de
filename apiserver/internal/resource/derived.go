package resource

import (
	"context"
	"encoding/json"
	"fmt"

	"google.golang.org/protobuf/proto"

	"github.com/raygate/raygate/apiserver/internal/store"
	raygatev2 "github.com/raygate/raygate/proto/gen/go/raygate/v2"
)

// Find returns an object for a caller who may get it, for methods that do more than this package does.
func (r *Resource) Find(ctx context.Context, namespace, name string) (*store.Item, error) {
	return r.find(ctx, &raygatev2.GetClusterRequest{Namespace: namespace, Name: name}, "get")
}

// Answer fills in resp with an object that was found.
func (r *Resource) Answer(ctx context.Context, resp proto.Message, item *store.Item) error {
	return r.answer(ctx, resp, true, item)
}

// CreateMade creates an object that the gateway has made for the caller, and fills in resp.
func (r *Resource) CreateMade(ctx context.Context, tree map[string]any, dryRun bool, resp proto.Message) error {
	data, err := json.Marshal(tree)
	if err != nil {
		return fmt.Errorf("encoding a %s: %w", r.Checks.Kind, err)
	}
	typed, err := r.typedOf(data)
	if err != nil {
		return err
	}
	if err := r.decide(ctx, nil, r.Checks.Create(typed, r.Validation)); err != nil {
		return err
	}
	item, err := r.Store.Create(ctx, &store.Object{Object: tree}, store.CreateOptions{WriteOptions: store.WriteOptions{DryRun: dryRun}})
	if err != nil {
		return err
	}
	return r.answer(ctx, resp, true, item)
}
