package v1

import (
	"context"

	"google.golang.org/protobuf/types/known/emptypb"
	"k8s.io/apimachinery/pkg/util/validation/field"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	modelv1 "github.com/raygate/raygate/apiserver/internal/model/v1"
	"github.com/raygate/raygate/proto/gen/go/kuberay"
)

type jobServer struct {
	kuberay.UnsafeRayJobServiceServer
	kind[rayv1.RayJob, *kuberay.RayJob]
}

// CreateRayJob implements kuberay.RayJobServiceServer. It checks a spec even beside a selector.
func (s *jobServer) CreateRayJob(ctx context.Context, req *kuberay.CreateRayJobRequest) (*kuberay.RayJob, error) {
	j := req.GetJob()
	errs := checkOwned(req.GetNamespace(), j)
	if len(j.GetClusterSelector()) == 0 || j.GetClusterSpec() != nil {
		errs = append(errs, checkSpec(j.GetClusterSpec())...)
	}
	if err := invalid(errs); err != nil {
		return nil, err
	}
	return s.create(ctx, req.GetNamespace(), j.GetClusterSpec(), func(templates modelv1.Templates) (*rayv1.RayJob, field.ErrorList) {
		return modelv1.JobToRay(j, templates)
	})
}

// GetRayJob implements kuberay.RayJobServiceServer.
func (s *jobServer) GetRayJob(ctx context.Context, req *kuberay.GetRayJobRequest) (*kuberay.RayJob, error) {
	item, err := s.find(ctx, req)
	if err != nil {
		return nil, err
	}
	return s.view.of(ctx, s.Views, item)
}

// ListRayJobs implements kuberay.RayJobServiceServer.
func (s *jobServer) ListRayJobs(ctx context.Context, req *kuberay.ListRayJobsRequest) (*kuberay.ListRayJobsResponse, error) {
	jobs, next, err := s.list(ctx, listing{namespace: req.GetNamespace(), token: req.GetContinue(), limit: req.GetLimit()})
	return &kuberay.ListRayJobsResponse{Jobs: jobs, Continue: next}, err
}

// ListAllRayJobs implements kuberay.RayJobServiceServer.
func (s *jobServer) ListAllRayJobs(ctx context.Context, req *kuberay.ListAllRayJobsRequest) (*kuberay.ListAllRayJobsResponse, error) {
	jobs, next, err := s.list(ctx, listing{all: true, token: req.GetContinue(), limit: req.GetLimit()})
	return &kuberay.ListAllRayJobsResponse{Jobs: jobs, Continue: next}, err
}

// DeleteRayJob implements kuberay.RayJobServiceServer.
func (s *jobServer) DeleteRayJob(ctx context.Context, req *kuberay.DeleteRayJobRequest) (*emptypb.Empty, error) {
	return s.remove(ctx, req)
}
