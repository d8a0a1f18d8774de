package v1

import (
	"context"

	"github.com/tidwall/gjson"
	"google.golang.org/protobuf/types/known/emptypb"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	modelv1 "github.com/raygate/raygate/apiserver/internal/model/v1"
	"github.com/raygate/raygate/apiserver/internal/store"
	"github.com/raygate/raygate/proto/gen/go/kuberay"
)

type serveServer struct {
	kuberay.UnsafeRayServeServiceServer
	kind[rayv1.RayService, *kuberay.RayService]
}

func checkService(namespace string, service *kuberay.RayService) field.ErrorList {
	if service == nil {
		return field.ErrorList{required("service")}
	}
	errs := append(checkOwned(namespace, service), checkSpec(service.GetClusterSpec())...)
	if service.GetServeConfig_V2() == "" {
		errs = append(errs, required("serveConfigV2"))
	}
	return errs
}

// CreateRayService implements kuberay.RayServeServiceServer.
func (s *serveServer) CreateRayService(ctx context.Context, req *kuberay.CreateRayServiceRequest) (*kuberay.RayService, error) {
	service := req.GetService()
	if err := invalid(checkService(req.GetNamespace(), service)); err != nil {
		return nil, err
	}
	return s.create(ctx, req.GetNamespace(), service.GetClusterSpec(), func(templates modelv1.Templates) (*rayv1.RayService, field.ErrorList) {
		return modelv1.ServiceToRay(service, templates, s.Clock.Now())
	})
}

// UpdateRayService implements kuberay.RayServeServiceServer. The name in the message selects the service, not the one in the path.
func (s *serveServer) UpdateRayService(ctx context.Context, req *kuberay.UpdateRayServiceRequest) (*kuberay.RayService, error) {
	service := req.GetService()
	var errs field.ErrorList
	if req.GetName() == "" {
		errs = append(errs, required("name"))
	}
	if err := invalid(append(errs, checkService(req.GetNamespace(), service)...)); err != nil {
		return nil, err
	}
	templates, err := s.Templates.named(ctx, req.GetNamespace(), modelv1.TemplateNames(service.GetClusterSpec()))
	if err != nil {
		return nil, err
	}
	item, err := s.Services.Modify(ctx, req.GetNamespace(), service.GetName(), func(tree map[string]any) error {
		s.addStored(ctx, req.GetNamespace(), templates, tree)
		errs, err := modelv1.UpdateService(tree, service, templates, s.Clock.Now())
		if err != nil {
			return err
		}
		return invalid(errs)
	})
	if err != nil {
		return nil, err
	}
	return s.view.of(ctx, s.Views, item)
}

// addStored adds the existing templates of a stored service: settings that only come from them are removed when another template is named.
func (s *serveServer) addStored(ctx context.Context, namespace string, templates modelv1.Templates, tree map[string]any) {
	for _, name := range modelv1.StoredTemplates(tree) {
		if _, known := templates[name]; known {
			continue
		}
		if t, err := s.Templates.get(ctx, namespace, name); err == nil {
			templates[name] = t
		}
	}
}

// GetRayService implements kuberay.RayServeServiceServer.
func (s *serveServer) GetRayService(ctx context.Context, req *kuberay.GetRayServiceRequest) (*kuberay.RayService, error) {
	item, err := s.find(ctx, req)
	if err != nil {
		return nil, err
	}
	events, ofCluster := s.Events.about(ctx, item.Namespace, item.UID), s.eventsOfCluster(ctx, item)
	if len(events)+len(ofCluster) == 0 {
		return s.view.of(ctx, s.Views, item)
	}
	service := s.view.convert(ctx, item)
	service.RayServiceStatus.RayServiceEvents = modelv1.ServiceEvents(&item.ObjectMeta, events, ofCluster)
	return service, nil
}

// eventsOfCluster returns the events of the active cluster of a service, which the caller may see.
func (s *serveServer) eventsOfCluster(ctx context.Context, service *store.Item) []corev1.Event {
	name := gjson.GetBytes(service.JSON(), "status.activeServiceStatus.rayClusterName").Str
	if name == "" {
		return nil
	}
	cluster, err := s.Clusters.Find(ctx, service.Namespace, name)
	if err != nil {
		return nil // it is gone, or not for the caller to see
	}
	return s.Events.about(ctx, cluster.Namespace, cluster.UID)
}

// ListRayServices implements kuberay.RayServeServiceServer.
func (s *serveServer) ListRayServices(ctx context.Context, req *kuberay.ListRayServicesRequest) (*kuberay.ListRayServicesResponse, error) {
	services, next, err := s.list(ctx, listing{namespace: req.GetNamespace(), token: req.GetPageToken(), limit: int64(req.GetPageSize()), serve: true})
	return &kuberay.ListRayServicesResponse{Services: services, NextPageToken: next}, err
}

// ListAllRayServices implements kuberay.RayServeServiceServer.
func (s *serveServer) ListAllRayServices(ctx context.Context, req *kuberay.ListAllRayServicesRequest) (*kuberay.ListAllRayServicesResponse, error) {
	services, next, err := s.list(ctx, listing{all: true, token: req.GetPageToken(), limit: int64(req.GetPageSize()), serve: true})
	return &kuberay.ListAllRayServicesResponse{Services: services, NextPageToken: next}, err
}

// DeleteRayService implements kuberay.RayServeServiceServer.
func (s *serveServer) DeleteRayService(ctx context.Context, req *kuberay.DeleteRayServiceRequest) (*emptypb.Empty, error) {
	return s.remove(ctx, req)
}
