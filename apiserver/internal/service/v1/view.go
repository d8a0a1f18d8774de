package v1

import (
	"context"
	"encoding/json"
	"fmt"

	"google.golang.org/protobuf/proto"
	"k8s.io/klog/v2"

	"github.com/raygate/raygate/apiserver/internal/encoding"
	"github.com/raygate/raygate/apiserver/internal/flowcontrol"
	modelv1 "github.com/raygate/raygate/apiserver/internal/model/v1"
	"github.com/raygate/raygate/apiserver/internal/store"
)

// view converts stored objects T to messages of V1.
type view[T any, M proto.Message] func(*T) M

// of returns the message of an item, already encoded, once per version of the object. For a REST caller the message is empty, and its JSON is in the
// Exchange.
func (v view[T, M]) of(ctx context.Context, views *encoding.Cache, item *store.Item) (M, error) {
	var none M
	m := none.ProtoReflect().New().Interface().(M)
	if rest := encoding.ExchangeOf(ctx); rest != nil {
		data, err := views.Get(&item.Views, encoding.JSONV1, func() ([]byte, error) { return modelv1.AppendJSON(nil, v.convert(ctx, item)) })
		rest.Objects = append(rest.Objects, data)
		if err != nil {
			return m, err
		}
		return m, flowcontrol.Hold(ctx, viewCopies*int64(len(data)))
	}
	data, err := views.Get(&item.Views, encoding.ProtoV1, func() ([]byte, error) { return proto.Marshal(v.convert(ctx, item)) })
	if err != nil {
		return m, err
	}
	m.ProtoReflect().SetUnknown(data)
	return m, flowcontrol.Hold(ctx, viewCopies*int64(len(data)))
}

// viewCopies is the number of copies of a view in memory: the stored one, and that in the answer.
const viewCopies = 2

// all is of for the items of a list.
func (v view[T, M]) all(ctx context.Context, views *encoding.Cache, items []*store.Item) ([]M, error) {
	out := make([]M, 0, len(items))
	for _, item := range items {
		m, err := v.of(ctx, views, item)
		if err != nil {
			return nil, err
		}
		out = append(out, m)
	}
	return out, nil
}

// convert returns at least the metadata of every object, so that an object with an invalid spec does not break a list.
func (v view[T, M]) convert(ctx context.Context, item *store.Item) (m M) {
	defer func() {
		if p := recover(); p != nil {
			klog.FromContext(ctx).Error(fmt.Errorf("%v", p), "Showing an object by V1", "kind", item.Kind, "namespace", item.Namespace, "name", item.Name)
			m = v.metadataOnly(item)
		}
	}()
	object := new(T)
	if err := json.Unmarshal(item.JSON(), object); err != nil {
		return v.metadataOnly(item)
	}
	return v(object)
}

func (v view[T, M]) metadataOnly(item *store.Item) M {
	object := new(T)
	data, err := json.Marshal(map[string]any{"metadata": item.ObjectMeta})
	if err == nil {
		_ = json.Unmarshal(data, object) // it was decoded before
	}
	return v(object)
}
