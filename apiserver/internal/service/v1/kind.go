package v1

import (
	"context"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/emptypb"
	"k8s.io/apimachinery/pkg/util/validation/field"

	modelv1 "github.com/raygate/raygate/apiserver/internal/model/v1"
	"github.com/raygate/raygate/apiserver/internal/resource"
	"github.com/raygate/raygate/apiserver/internal/store"
	"github.com/raygate/raygate/proto/gen/go/kuberay"
)

// kind has the common parts of the services of clusters, jobs and services. T is the stored type, M its V1 form.
type kind[T any, M proto.Message] struct {
	Options
	resource *resource.Resource
	view     view[T, M]
}

// one is an object, or a request about one.
type one interface {
	GetNamespace() string
	GetName() string
}

// create stores the result of toRay for a message that has passed its checks. spec names the compute templates that it gets.
func (k *kind[T, M]) create(ctx context.Context, namespace string, spec *kuberay.ClusterSpec, toRay func(modelv1.Templates) (*T, field.ErrorList)) (none M, err error) {
	templates, err := k.Templates.named(ctx, namespace, modelv1.TemplateNames(spec))
	if err != nil {
		return none, err
	}
	object, errs := toRay(templates)
	if err := invalid(errs); err != nil {
		return none, err
	}
	tree, err := modelv1.Tree(object)
	if err != nil {
		return none, err
	}
	item, err := k.resource.Make(ctx, tree, false)
	if err != nil {
		return none, err
	}
	return k.view.of(ctx, k.Views, item)
}

func (k *kind[T, M]) find(ctx context.Context, req one) (*store.Item, error) {
	if err := checkObject(req); err != nil {
		return nil, err
	}
	return k.resource.Find(ctx, req.GetNamespace(), req.GetName())
}

// list returns a page and the token of the next one, empty on the last.
func (k *kind[T, M]) list(ctx context.Context, l listing) ([]M, string, error) {
	items, next, err := l.list(ctx, k.resource.Page)
	if err != nil {
		return nil, "", err
	}
	shown, err := k.view.all(ctx, k.Views, items)
	return shown, next, err
}

func (k *kind[T, M]) remove(ctx context.Context, req one) (*emptypb.Empty, error) {
	if err := checkObject(req); err != nil {
		return nil, err
	}
	return &emptypb.Empty{}, k.resource.Remove(ctx, req.GetNamespace(), req.GetName())
}
