package v1

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/emptypb"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/raygate/raygate/apiserver/internal/authz"
	"github.com/raygate/raygate/apiserver/internal/flowcontrol"
	modelv1 "github.com/raygate/raygate/apiserver/internal/model/v1"
	"github.com/raygate/raygate/apiserver/internal/resource"
	"github.com/raygate/raygate/apiserver/internal/rpcstatus"
	"github.com/raygate/raygate/apiserver/internal/store"
	"github.com/raygate/raygate/proto/gen/go/kuberay"
)

// TemplateKind is the kind of the objects in a TemplateStore, and TemplateSelector the labels that select them.
var (
	TemplateKind     = store.Kind{GroupVersionKind: corev1.SchemeGroupVersion.WithKind("ConfigMap"), Resource: "configmaps", MaxNameLength: 253}
	TemplateSelector = modelv1.LabelConfigType + "=" + modelv1.ConfigTypeTemplate
)

// TemplateStore is the required part of a store.Store of ConfigMaps.
type TemplateStore interface {
	resource.Store
	Ready() error
}

// Templates stores compute templates in ConfigMaps with a label. Callers need the same rights on ConfigMaps as with kubectl. Reads come
// from the cache if the gateway has one of ConfigMaps, and else from Kubernetes.
type Templates struct {
	// In returns the store with the ConfigMaps of a namespace, or of all if it is empty, or an error with the reason why there is none.
	In         func(namespace string) (TemplateStore, error)
	Authorizer authz.Authorizer
	// Core reads ConfigMaps with the caller's credentials.
	Core rest.Interface
}

func (t *Templates) authorize(ctx context.Context, verb, namespace, name string) error {
	return t.Authorizer.Authorize(ctx, authz.Access{Verb: verb, Resource: TemplateKind.Resource, Namespace: namespace, Name: name})
}

// find returns the ConfigMap of a template. It reads one that the cache does not have with the caller's rights, because the cache may be a
// moment old.
func (t *Templates) find(ctx context.Context, namespace, name string) (*store.Item, *kuberay.ComputeTemplate, error) {
	if problems := checkName(namespace, name); len(problems) > 0 {
		return nil, nil, invalid(problems)
	}
	st, err := t.In(namespace)
	if err != nil {
		return nil, nil, err
	}
	key := types.NamespacedName{Namespace: namespace, Name: name}
	var item *store.Item
	if st.Ready() == nil {
		if err := t.authorize(ctx, "get", namespace, name); err != nil {
			return nil, nil, err
		}
		if item, err = st.Get(ctx, key, store.ReadOptions{}); err != nil && !apierrors.IsNotFound(err) {
			return nil, nil, err
		}
	}
	if item == nil {
		if item, err = st.Read(ctx, key); err != nil {
			return nil, nil, err
		}
	}
	template, err := templateOf(item)
	if template == nil && err == nil {
		err = apierrors.NewNotFound(schema.GroupResource{Resource: "compute_templates"}, name)
	}
	return item, template, err
}

func (t *Templates) get(ctx context.Context, namespace, name string) (*kuberay.ComputeTemplate, error) {
	_, template, err := t.find(ctx, namespace, name)
	return template, err
}

// templateOf returns nil for a ConfigMap that is not a template.
func templateOf(item *store.Item) (*kuberay.ComputeTemplate, error) {
	cm := &corev1.ConfigMap{}
	if err := json.Unmarshal(item.JSON(), cm); err != nil {
		return nil, fmt.Errorf("reading a ConfigMap: %w", err)
	}
	return modelv1.TemplateFromConfigMap(cm), nil
}

// named returns the templates of these names. The error names all missing ones.
func (t *Templates) named(ctx context.Context, namespace string, names []string) (modelv1.Templates, error) {
	all := modelv1.Templates{}
	var missing []string
	for _, name := range names {
		template, err := t.get(ctx, namespace, name)
		switch {
		case apierrors.IsNotFound(err):
			missing = append(missing, name)
		case err != nil:
			return nil, err
		}
		all[name] = template
	}
	if len(missing) > 0 {
		return nil, rpcstatus.Precondition("COMPUTE_TEMPLATE_NOT_FOUND", "namespace %s has no compute template %s: create it first", namespace, strings.Join(missing, ", "))
	}
	return all, nil
}

// Expand applies the compute templates that the groups of a custom resource name. It returns false if there are none.
func (t *Templates) Expand(ctx context.Context, namespace string, tree map[string]any) (bool, error) {
	names := modelv1.NamedTemplates(tree)
	if len(names) == 0 {
		return false, nil
	}
	templates, err := t.named(ctx, namespace, names)
	if err != nil {
		return false, err
	}
	errs, err := templates.Expand(tree)
	if err != nil {
		return false, err
	}
	return true, invalid(errs)
}

// list returns all templates of a namespace, or of all.
func (t *Templates) list(ctx context.Context, namespace string) ([]*kuberay.ComputeTemplate, error) {
	st, err := t.In(namespace)
	if err != nil {
		return nil, err
	}
	if st.Ready() != nil {
		return t.listUncached(ctx, namespace)
	}
	if err := t.authorize(ctx, "list", namespace, ""); err != nil {
		return nil, err
	}
	items, _, err := listing{all: namespace == "", namespace: namespace}.list(ctx, st.List)
	if err != nil {
		return nil, err
	}
	all := make([]*kuberay.ComputeTemplate, 0, len(items))
	for _, item := range items {
		template, err := templateOf(item)
		if err != nil {
			return nil, err
		}
		if template != nil { // the label has gone with the last write
			all = append(all, template)
		}
	}
	return all, nil
}

// templatePage is the number of ConfigMaps that are read at once.
const templatePage = 100

// listUncached holds one page of ConfigMaps, and the templates, which the room of the call bounds.
func (t *Templates) listUncached(ctx context.Context, namespace string) (all []*kuberay.ComputeTemplate, err error) {
	o := &metav1.ListOptions{LabelSelector: TemplateSelector, Limit: templatePage}
	for kept := flowcontrol.Held(ctx); ; {
		var page corev1.ConfigMapList
		if err := t.Core.Get().Namespace(namespace).Resource(TemplateKind.Resource).VersionedParams(o, metav1.ParameterCodec).Do(ctx).Into(&page); err != nil {
			return nil, err
		}
		for i := range page.Items {
			if template := modelv1.TemplateFromConfigMap(&page.Items[i]); template != nil {
				all = append(all, template)
				kept += int64(proto.Size(template))
			}
		}
		flowcontrol.Shrink(ctx, kept)
		if o.Continue = page.Continue; o.Continue == "" {
			return all, nil
		}
	}
}

type templateServer struct {
	kuberay.UnsafeComputeTemplateServiceServer
	Options
}

// CreateComputeTemplate implements kuberay.ComputeTemplateServiceServer.
func (s *templateServer) CreateComputeTemplate(ctx context.Context, req *kuberay.CreateComputeTemplateRequest) (*kuberay.ComputeTemplate, error) {
	template := req.GetComputeTemplate()
	errs := checkPlace(req.GetNamespace(), template)
	if template.GetCpu() == 0 {
		errs = append(errs, required("cpu"))
	}
	if template.GetMemory() == 0 {
		errs = append(errs, required("memory"))
	}
	cm, more := modelv1.TemplateToConfigMap(template)
	if err := invalid(append(errs, more...)); err != nil {
		return nil, err
	}
	st, err := s.Templates.In(req.GetNamespace())
	if err != nil {
		return nil, err
	}
	tree, err := modelv1.Tree(cm)
	if err != nil {
		return nil, err
	}
	item, err := st.Create(ctx, &store.Object{Object: tree}, store.CreateOptions{})
	if err != nil {
		return nil, err
	}
	return templateOf(item)
}

// GetComputeTemplate implements kuberay.ComputeTemplateServiceServer.
func (s *templateServer) GetComputeTemplate(ctx context.Context, req *kuberay.GetComputeTemplateRequest) (*kuberay.ComputeTemplate, error) {
	if err := checkObject(req); err != nil {
		return nil, err
	}
	return s.Templates.get(ctx, req.GetNamespace(), req.GetName())
}

// ListComputeTemplates implements kuberay.ComputeTemplateServiceServer.
func (s *templateServer) ListComputeTemplates(ctx context.Context, req *kuberay.ListComputeTemplatesRequest) (*kuberay.ListComputeTemplatesResponse, error) {
	if err := (listing{namespace: req.GetNamespace()}).checkNamespace(); err != nil {
		return nil, err
	}
	all, err := s.Templates.list(ctx, req.GetNamespace())
	return &kuberay.ListComputeTemplatesResponse{ComputeTemplates: all}, err
}

// ListAllComputeTemplates implements kuberay.ComputeTemplateServiceServer.
func (s *templateServer) ListAllComputeTemplates(ctx context.Context, _ *kuberay.ListAllComputeTemplatesRequest) (*kuberay.ListAllComputeTemplatesResponse, error) {
	all, err := s.Templates.list(ctx, "")
	return &kuberay.ListAllComputeTemplatesResponse{ComputeTemplates: all}, err
}

// DeleteComputeTemplate implements kuberay.ComputeTemplateServiceServer. A ConfigMap that is not a template is not found.
func (s *templateServer) DeleteComputeTemplate(ctx context.Context, req *kuberay.DeleteComputeTemplateRequest) (*emptypb.Empty, error) {
	if err := checkObject(req); err != nil {
		return nil, err
	}
	item, _, err := s.Templates.find(ctx, req.GetNamespace(), req.GetName())
	if err != nil {
		return nil, err
	}
	st, err := s.Templates.In(req.GetNamespace())
	if err != nil {
		return nil, err
	}
	_, err = st.Delete(ctx, item.Key(), store.DeleteOptions{UID: item.UID})
	return &emptypb.Empty{}, err
}
