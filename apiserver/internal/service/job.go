package service

import (
	"context"
	"fmt"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/apiserver/internal/dashboardproxy"
	"github.com/raygate/raygate/apiserver/internal/resource"
	"github.com/raygate/raygate/apiserver/internal/store"
	raygatev2 "github.com/raygate/raygate/proto/gen/go/raygate/v2"
)

// Jobs implements JobService.
type Jobs struct {
	raygatev2.UnsafeJobServiceServer // so that a new method in the proto is a compile error here
	*resource.Resource
	clusters *Clusters
	proxy    *dashboardproxy.Proxy
}

var _ raygatev2.JobServiceServer = (*Jobs)(nil)

// JobKind is what JobService serves.
var JobKind = resource.Kind{
	Checks: checksOf("RayJob"), Message: &raygatev2.RayJob{}, Resource: "rayjobs", MaxNameLength: 47,
	State: "status.jobDeploymentStatus", Basic: groupBasic("rayClusterSpec.", "entrypoint", "clusterSelector", "submissionMode", "suspend", "managedBy", "shutdownAfterJobFinishes", "ttlSecondsAfterFinished"),
	States: map[string]func(*store.Item) resource.Progress{
		"ready":     jobIs(rayv1.JobDeploymentStatusRunning),
		"complete":  jobIs(rayv1.JobDeploymentStatusComplete),
		"suspended": jobIs(rayv1.JobDeploymentStatusSuspended),
	},
	Finished: func(tree map[string]any) string {
		state, _, _ := unstructured.NestedString(tree, "status", "jobDeploymentStatus")
		if !rayv1.JobDeploymentStatus(state).IsTerminal() {
			return ""
		}
		return "the job has ended (" + state + ") and cannot be suspended: create a new one to run it again"
	},
}

// NewJobs returns the JobService.
func NewJobs(o resource.Options, clusters *Clusters, proxy *dashboardproxy.Proxy) *Jobs {
	return &Jobs{Resource: resource.New(JobKind, o), clusters: clusters, proxy: proxy}
}

// CreateJob implements raygatev2.JobServiceServer.
func (s *Jobs) CreateJob(ctx context.Context, req *raygatev2.CreateJobRequest) (*raygatev2.CreateJobResponse, error) {
	resp := &raygatev2.CreateJobResponse{}
	return resp, s.Create(ctx, req, req.GetJob(), resp)
}

// GetJob implements raygatev2.JobServiceServer.
func (s *Jobs) GetJob(ctx context.Context, req *raygatev2.GetJobRequest) (*raygatev2.GetJobResponse, error) {
	resp := &raygatev2.GetJobResponse{}
	return resp, s.Get(ctx, req, resp)
}

// ListJobs implements raygatev2.JobServiceServer.
func (s *Jobs) ListJobs(ctx context.Context, req *raygatev2.ListJobsRequest) (*raygatev2.ListJobsResponse, error) {
	resp := &raygatev2.ListJobsResponse{}
	return resp, s.List(ctx, req, resp)
}

// UpdateJob implements raygatev2.JobServiceServer.
func (s *Jobs) UpdateJob(ctx context.Context, req *raygatev2.UpdateJobRequest) (*raygatev2.UpdateJobResponse, error) {
	resp := &raygatev2.UpdateJobResponse{}
	return resp, s.Update(ctx, req, req.GetJob(), resp)
}

// ReplaceJob implements raygatev2.JobServiceServer.
func (s *Jobs) ReplaceJob(ctx context.Context, req *raygatev2.ReplaceJobRequest) (*raygatev2.ReplaceJobResponse, error) {
	resp := &raygatev2.ReplaceJobResponse{}
	return resp, s.Replace(ctx, req, req.GetJob(), resp)
}

// ApplyJob implements raygatev2.JobServiceServer.
func (s *Jobs) ApplyJob(ctx context.Context, req *raygatev2.ApplyJobRequest) (*raygatev2.ApplyJobResponse, error) {
	resp := &raygatev2.ApplyJobResponse{}
	return resp, s.Apply(ctx, req, req.GetJob(), resp)
}

// WaitJob implements raygatev2.JobServiceServer.
func (s *Jobs) WaitJob(ctx context.Context, req *raygatev2.WaitJobRequest) (*raygatev2.WaitJobResponse, error) {
	resp := &raygatev2.WaitJobResponse{}
	return resp, s.Wait(ctx, req, resp)
}

// SuspendJob implements raygatev2.JobServiceServer.
func (s *Jobs) SuspendJob(ctx context.Context, req *raygatev2.SuspendJobRequest) (*raygatev2.SuspendJobResponse, error) {
	resp := &raygatev2.SuspendJobResponse{}
	return resp, s.Suspend(ctx, req, resp, true)
}

// ResumeJob implements raygatev2.JobServiceServer.
func (s *Jobs) ResumeJob(ctx context.Context, req *raygatev2.ResumeJobRequest) (*raygatev2.ResumeJobResponse, error) {
	resp := &raygatev2.ResumeJobResponse{}
	return resp, s.Suspend(ctx, req, resp, false)
}

// DeleteJob implements raygatev2.JobServiceServer.
func (s *Jobs) DeleteJob(ctx context.Context, req *raygatev2.DeleteJobRequest) (*raygatev2.DeleteJobResponse, error) {
	uid, err := s.Delete(ctx, req)
	return &raygatev2.DeleteJobResponse{Uid: uid}, err
}

// WatchJobs implements raygatev2.JobServiceServer.
func (s *Jobs) WatchJobs(req *raygatev2.WatchJobsRequest, stream grpc.ServerStreamingServer[raygatev2.WatchJobsResponse]) error {
	return s.Watch(stream.Context(), req, &raygatev2.WatchJobsResponse{}, func(m proto.Message) error { return stream.SendMsg(m) })
}

// ListJobEvents implements raygatev2.JobServiceServer.
func (s *Jobs) ListJobEvents(ctx context.Context, req *raygatev2.ListJobEventsRequest) (*raygatev2.ListJobEventsResponse, error) {
	events, err := s.Events(ctx, req)
	return &raygatev2.ListJobEventsResponse{Events: events}, err
}

// DiagnoseJob implements raygatev2.JobServiceServer.
func (s *Jobs) DiagnoseJob(ctx context.Context, req *raygatev2.DiagnoseJobRequest) (*raygatev2.DiagnoseJobResponse, error) {
	ready, findings, err := s.Resource.DiagnoseJob(ctx, req, s.clusters.Resource)
	return &raygatev2.DiagnoseJobResponse{Ready: ready, Findings: findings}, err
}

// jobIs is a state that the operator's status of a job tells. From the end of a job no way leads elsewhere.
func jobIs(want rayv1.JobDeploymentStatus) func(*store.Item) resource.Progress {
	return func(item *store.Item) resource.Progress {
		state := rayv1.JobDeploymentStatus(item.At("status.jobDeploymentStatus").Str)
		p := resource.Progress{Done: state == want && resource.Observed(item), Now: fmt.Sprintf("the status of the job is %q %s", state, item.At("status.message").Str)}
		if !p.Done && state.IsTerminal() && resource.Observed(item) {
			p.Never = fmt.Sprintf("the job has ended as %s %s %s", state, item.At("status.reason").Str, item.At("status.message").Str)
		}
		return p
	}
}
