package v1

import (
	"context"

	"google.golang.org/protobuf/types/known/emptypb"

	modelv1 "github.com/raygate/raygate/apiserver/internal/model/v1"
	"github.com/raygate/raygate/proto/gen/go/kuberay"
)

type jobServer struct {
	kuberay.UnsafeRayJobServiceServer
	Options
}

// CreateRayJob implements kuberay.RayJobServiceServer. A spec is looked at whenever there is one, also beside a selector.
func (s *jobServer) CreateRayJob(ctx context.Context, req *kuberay.CreateRayJobRequest) (*kuberay.RayJob, error) {
	j := req.GetJob()
	errs := checkOwned(req.GetNamespace(), j)
	if len(j.GetClusterSelector()) == 0 || j.GetClusterSpec() != nil {
		errs = append(errs, checkSpec(j.GetClusterSpec())...)
	}
	if err := invalid(errs); err != nil {
		return nil, err
	}
	templates, err := s.Templates.named(ctx, req.GetNamespace(), modelv1.TemplateNames(j.GetClusterSpec()))
	if err != nil {
		return nil, err
	}
	job, errs := modelv1.JobToRay(j, templates)
	if err := invalid(errs); err != nil {
		return nil, err
	}
	tree, err := modelv1.Tree(job)
	if err != nil {
		return nil, err
	}
	item, err := s.Jobs.Make(ctx, tree, false)
	if err != nil {
		return nil, err
	}
	return jobView.of(ctx, s.Views, item)
}

// GetRayJob implements kuberay.RayJobServiceServer.
func (s *jobServer) GetRayJob(ctx context.Context, req *kuberay.GetRayJobRequest) (*kuberay.RayJob, error) {
	if err := checkObject(req.GetNamespace(), req.GetName()); err != nil {
		return nil, err
	}
	item, err := s.Jobs.Find(ctx, req.GetNamespace(), req.GetName())
	if err != nil {
		return nil, err
	}
	return jobView.of(ctx, s.Views, item)
}

// ListRayJobs implements kuberay.RayJobServiceServer.
func (s *jobServer) ListRayJobs(ctx context.Context, req *kuberay.ListRayJobsRequest) (*kuberay.ListRayJobsResponse, error) {
	l := listing{req.GetNamespace(), req.GetContinue(), req.GetLimit(), "continue", "limit"}
	if err := l.inNamespace(); err != nil {
		return nil, err
	}
	jobs, next, err := s.list(ctx, l)
	return &kuberay.ListRayJobsResponse{Jobs: jobs, Continue: next}, err
}

// ListAllRayJobs implements kuberay.RayJobServiceServer.
func (s *jobServer) ListAllRayJobs(ctx context.Context, req *kuberay.ListAllRayJobsRequest) (*kuberay.ListAllRayJobsResponse, error) {
	jobs, next, err := s.list(ctx, listing{"", req.GetContinue(), req.GetLimit(), "continue", "limit"})
	return &kuberay.ListAllRayJobsResponse{Jobs: jobs, Continue: next}, err
}

func (s *jobServer) list(ctx context.Context, l listing) ([]*kuberay.RayJob, string, error) {
	items, next, err := l.list(ctx, s.Jobs.Page)
	if err != nil {
		return nil, "", err
	}
	jobs, err := jobView.all(ctx, s.Views, items)
	return jobs, next, err
}

// DeleteRayJob implements kuberay.RayJobServiceServer.
func (s *jobServer) DeleteRayJob(ctx context.Context, req *kuberay.DeleteRayJobRequest) (*emptypb.Empty, error) {
	if err := checkObject(req.GetNamespace(), req.GetName()); err != nil {
		return nil, err
	}
	return &emptypb.Empty{}, s.Jobs.Remove(ctx, req.GetNamespace(), req.GetName())
}
