package v1

import (
	"context"

	"google.golang.org/protobuf/types/known/emptypb"

	modelv1 "github.com/raygate/raygate/apiserver/internal/model/v1"
	"github.com/raygate/raygate/proto/gen/go/kuberay"
)

type clusterServer struct {
	kuberay.UnsafeClusterServiceServer // so that a new method in the proto is a compile error here
	Options
}

// CreateCluster implements kuberay.ClusterServiceServer.
func (s *clusterServer) CreateCluster(ctx context.Context, req *kuberay.CreateClusterRequest) (*kuberay.Cluster, error) {
	c := req.GetCluster()
	if err := invalid(append(checkOwned(req.GetNamespace(), c), checkSpec(c.GetClusterSpec())...)); err != nil {
		return nil, err
	}
	templates, err := s.Templates.named(ctx, req.GetNamespace(), modelv1.TemplateNames(c.GetClusterSpec()))
	if err != nil {
		return nil, err
	}
	rc, errs := modelv1.ClusterToRay(c, templates, s.Clock.Now())
	if err := invalid(errs); err != nil {
		return nil, err
	}
	tree, err := modelv1.Tree(rc)
	if err != nil {
		return nil, err
	}
	item, err := s.Clusters.Make(ctx, tree, false)
	if err != nil {
		return nil, err
	}
	return clusterView.of(ctx, s.Views, item)
}

// GetCluster implements kuberay.ClusterServiceServer.
func (s *clusterServer) GetCluster(ctx context.Context, req *kuberay.GetClusterRequest) (*kuberay.Cluster, error) {
	if err := checkObject(req.GetNamespace(), req.GetName()); err != nil {
		return nil, err
	}
	item, err := s.Clusters.Find(ctx, req.GetNamespace(), req.GetName())
	if err != nil {
		return nil, err
	}
	events := s.Events.about(ctx, item.Namespace, item.UID)
	if len(events) == 0 {
		return clusterView.of(ctx, s.Views, item)
	}
	c := clusterView.convert(ctx, item)
	c.Events = modelv1.ClusterEvents(&item.ObjectMeta, events)
	return c, nil
}

// ListCluster implements kuberay.ClusterServiceServer.
func (s *clusterServer) ListCluster(ctx context.Context, req *kuberay.ListClustersRequest) (*kuberay.ListClustersResponse, error) {
	l := listing{req.GetNamespace(), req.GetContinue(), req.GetLimit(), "continue", "limit"}
	if err := l.inNamespace(); err != nil {
		return nil, err
	}
	clusters, next, err := s.list(ctx, l)
	return &kuberay.ListClustersResponse{Clusters: clusters, Continue: next}, err
}

// ListAllClusters implements kuberay.ClusterServiceServer.
func (s *clusterServer) ListAllClusters(ctx context.Context, req *kuberay.ListAllClustersRequest) (*kuberay.ListAllClustersResponse, error) {
	clusters, next, err := s.list(ctx, listing{"", req.GetContinue(), req.GetLimit(), "continue", "limit"})
	return &kuberay.ListAllClustersResponse{Clusters: clusters, Continue: next}, err
}

func (s *clusterServer) list(ctx context.Context, l listing) ([]*kuberay.Cluster, string, error) {
	items, next, err := l.list(ctx, s.Clusters.Page)
	if err != nil {
		return nil, "", err
	}
	clusters, err := clusterView.all(ctx, s.Views, items)
	return clusters, next, err
}

// DeleteCluster implements kuberay.ClusterServiceServer.
func (s *clusterServer) DeleteCluster(ctx context.Context, req *kuberay.DeleteClusterRequest) (*emptypb.Empty, error) {
	if err := checkObject(req.GetNamespace(), req.GetName()); err != nil {
		return nil, err
	}
	return &emptypb.Empty{}, s.Clusters.Remove(ctx, req.GetNamespace(), req.GetName())
}
