package v1

import (
	"context"

	"google.golang.org/protobuf/types/known/emptypb"
	"k8s.io/apimachinery/pkg/util/validation/field"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	modelv1 "github.com/raygate/raygate/apiserver/internal/model/v1"
	"github.com/raygate/raygate/proto/gen/go/kuberay"
)

type clusterServer struct {
	kuberay.UnsafeClusterServiceServer // so that a new method in the proto is a compile error here
	kind[rayv1.RayCluster, *kuberay.Cluster]
}

// CreateCluster implements kuberay.ClusterServiceServer.
func (s *clusterServer) CreateCluster(ctx context.Context, req *kuberay.CreateClusterRequest) (*kuberay.Cluster, error) {
	c := req.GetCluster()
	if err := invalid(append(checkOwned(req.GetNamespace(), c), checkSpec(c.GetClusterSpec())...)); err != nil {
		return nil, err
	}
	return s.create(ctx, req.GetNamespace(), c.GetClusterSpec(), func(templates modelv1.Templates) (*rayv1.RayCluster, field.ErrorList) {
		return modelv1.ClusterToRay(c, templates, s.Clock.Now())
	})
}

// GetCluster implements kuberay.ClusterServiceServer.
func (s *clusterServer) GetCluster(ctx context.Context, req *kuberay.GetClusterRequest) (*kuberay.Cluster, error) {
	item, err := s.find(ctx, req)
	if err != nil {
		return nil, err
	}
	events := s.Events.about(ctx, item.Namespace, item.UID)
	if len(events) == 0 {
		return s.view.of(ctx, s.Views, item)
	}
	c := s.view.convert(ctx, item)
	c.Events = modelv1.ClusterEvents(&item.ObjectMeta, events)
	return c, nil
}

// ListCluster implements kuberay.ClusterServiceServer.
func (s *clusterServer) ListCluster(ctx context.Context, req *kuberay.ListClustersRequest) (*kuberay.ListClustersResponse, error) {
	clusters, next, err := s.list(ctx, listing{namespace: req.GetNamespace(), token: req.GetContinue(), limit: req.GetLimit()})
	return &kuberay.ListClustersResponse{Clusters: clusters, Continue: next}, err
}

// ListAllClusters implements kuberay.ClusterServiceServer.
func (s *clusterServer) ListAllClusters(ctx context.Context, req *kuberay.ListAllClustersRequest) (*kuberay.ListAllClustersResponse, error) {
	clusters, next, err := s.list(ctx, listing{all: true, token: req.GetContinue(), limit: req.GetLimit()})
	return &kuberay.ListAllClustersResponse{Clusters: clusters, Continue: next}, err
}

// DeleteCluster implements kuberay.ClusterServiceServer.
func (s *clusterServer) DeleteCluster(ctx context.Context, req *kuberay.DeleteClusterRequest) (*emptypb.Empty, error) {
	return s.remove(ctx, req)
}
