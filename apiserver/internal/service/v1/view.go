package v1

import (
	"context"
	"encoding/json"
	"fmt"

	"google.golang.org/protobuf/proto"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/klog/v2"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/apiserver/internal/document"
	"github.com/raygate/raygate/apiserver/internal/edge"
	modelv1 "github.com/raygate/raygate/apiserver/internal/model/v1"
	"github.com/raygate/raygate/apiserver/internal/store"
	"github.com/raygate/raygate/proto/gen/go/kuberay"
)

// view shows stored objects T as messages.
type view[T any, M proto.Message] struct {
	fromRay func(*T) M
	// bare shows an object of which only the metadata can be read.
	bare func(metav1.ObjectMeta) M
	new  func() M
}

var (
	clusterView = view[rayv1.RayCluster, *kuberay.Cluster]{
		modelv1.ClusterFromRay, func(m metav1.ObjectMeta) *kuberay.Cluster {
			return modelv1.ClusterFromRay(&rayv1.RayCluster{ObjectMeta: m})
		},
		func() *kuberay.Cluster { return &kuberay.Cluster{} },
	}
	jobView = view[rayv1.RayJob, *kuberay.RayJob]{
		modelv1.JobFromRay, func(m metav1.ObjectMeta) *kuberay.RayJob { return modelv1.JobFromRay(&rayv1.RayJob{ObjectMeta: m}) },
		func() *kuberay.RayJob { return &kuberay.RayJob{} },
	}
	serviceView = view[rayv1.RayService, *kuberay.RayService]{
		modelv1.ServiceFromRay, func(m metav1.ObjectMeta) *kuberay.RayService {
			return modelv1.ServiceFromRay(&rayv1.RayService{ObjectMeta: m})
		},
		func() *kuberay.RayService { return &kuberay.RayService{} },
	}
)

// of returns a message that stands for an item: encoded, in the form in which the caller reads it, once per version of the object. By REST the JSON is
// beside the message.
func (v *view[T, M]) of(ctx context.Context, views *document.Cache, item *store.Item) (M, error) {
	m := v.new()
	if rest := document.ExchangeOf(ctx); rest != nil {
		data, err := views.Get(&item.Views, document.JSONV1, func() ([]byte, error) { return modelv1.AppendJSON(nil, v.convert(ctx, item)) })
		rest.Objects = append(rest.Objects, data)
		if err != nil {
			return m, err
		}
		return m, edge.Hold(ctx, viewCopies*int64(len(data)))
	}
	data, err := views.Get(&item.Views, document.ProtoV1, func() ([]byte, error) { return proto.Marshal(v.convert(ctx, item)) })
	if err != nil {
		return m, err
	}
	m.ProtoReflect().SetUnknown(data)
	return m, edge.Hold(ctx, viewCopies*int64(len(data)))
}

// viewCopies is how many times a view is held: as it is kept, and in the answer.
const viewCopies = 2

// all is of for the items of a list.
func (v *view[T, M]) all(ctx context.Context, views *document.Cache, items []*store.Item) ([]M, error) {
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

// convert shows at least the metadata of every object: one that others have spoilt must not break the list that it is in.
func (v *view[T, M]) convert(ctx context.Context, item *store.Item) (m M) {
	defer func() {
		if p := recover(); p != nil {
			klog.FromContext(ctx).Error(fmt.Errorf("%v", p), "Showing an object by V1", "kind", item.Kind, "namespace", item.Namespace, "name", item.Name)
			m = v.bare(item.ObjectMeta)
		}
	}()
	object := new(T)
	if err := json.Unmarshal(item.JSON(), object); err != nil {
		return v.bare(item.ObjectMeta)
	}
	return v.fromRay(object)
}
