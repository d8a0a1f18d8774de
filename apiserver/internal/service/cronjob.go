package service

import (
	"context"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"

	"github.com/raygate/raygate/apiserver/internal/resource"
	"github.com/raygate/raygate/apiserver/internal/store"
	raygatev2 "github.com/raygate/raygate/proto/gen/go/raygate/v2"
)

// CronJobs implements CronJobService.
type CronJobs struct {
	raygatev2.UnimplementedCronJobServiceServer // until the methods that are declared are here
	*resource.Resource
}

var _ raygatev2.CronJobServiceServer = (*CronJobs)(nil)

// CronJobKind is what CronJobService serves.
var CronJobKind = resource.Kind{
	Checks: checksOf("RayCronJob"), Message: &raygatev2.RayCronJob{}, Resource: "raycronjobs", MaxNameLength: 36,
	Basic: []string{"schedule", "timeZone", "suspend", "jobTemplate.entrypoint"},
	States: map[string]func(*store.Item) resource.Progress{
		"suspended": func(item *store.Item) resource.Progress {
			return resource.Progress{Done: item.At("spec.suspend").Bool(), Now: "spec.suspend is not true"}
		},
	},
}

// NewCronJobs returns the CronJobService.
func NewCronJobs(o resource.Options) *CronJobs {
	return &CronJobs{Resource: resource.New(CronJobKind, o)}
}

// CreateCronJob implements raygatev2.CronJobServiceServer.
func (s *CronJobs) CreateCronJob(ctx context.Context, req *raygatev2.CreateCronJobRequest) (*raygatev2.CreateCronJobResponse, error) {
	resp := &raygatev2.CreateCronJobResponse{}
	return resp, s.Create(ctx, req, req.GetCronJob(), resp)
}

// GetCronJob implements raygatev2.CronJobServiceServer.
func (s *CronJobs) GetCronJob(ctx context.Context, req *raygatev2.GetCronJobRequest) (*raygatev2.GetCronJobResponse, error) {
	resp := &raygatev2.GetCronJobResponse{}
	return resp, s.Get(ctx, req, resp)
}

// ListCronJobs implements raygatev2.CronJobServiceServer.
func (s *CronJobs) ListCronJobs(ctx context.Context, req *raygatev2.ListCronJobsRequest) (*raygatev2.ListCronJobsResponse, error) {
	resp := &raygatev2.ListCronJobsResponse{}
	return resp, s.List(ctx, req, resp)
}

// UpdateCronJob implements raygatev2.CronJobServiceServer.
func (s *CronJobs) UpdateCronJob(ctx context.Context, req *raygatev2.UpdateCronJobRequest) (*raygatev2.UpdateCronJobResponse, error) {
	resp := &raygatev2.UpdateCronJobResponse{}
	return resp, s.Update(ctx, req, req.GetCronJob(), resp)
}

// ReplaceCronJob implements raygatev2.CronJobServiceServer.
func (s *CronJobs) ReplaceCronJob(ctx context.Context, req *raygatev2.ReplaceCronJobRequest) (*raygatev2.ReplaceCronJobResponse, error) {
	resp := &raygatev2.ReplaceCronJobResponse{}
	return resp, s.Replace(ctx, req, req.GetCronJob(), resp)
}

// ApplyCronJob implements raygatev2.CronJobServiceServer.
func (s *CronJobs) ApplyCronJob(ctx context.Context, req *raygatev2.ApplyCronJobRequest) (*raygatev2.ApplyCronJobResponse, error) {
	resp := &raygatev2.ApplyCronJobResponse{}
	return resp, s.Apply(ctx, req, req.GetCronJob(), resp)
}

// WaitCronJob implements raygatev2.CronJobServiceServer.
func (s *CronJobs) WaitCronJob(ctx context.Context, req *raygatev2.WaitCronJobRequest) (*raygatev2.WaitCronJobResponse, error) {
	resp := &raygatev2.WaitCronJobResponse{}
	return resp, s.Wait(ctx, req, resp)
}

// SuspendCronJob implements raygatev2.CronJobServiceServer.
func (s *CronJobs) SuspendCronJob(ctx context.Context, req *raygatev2.SuspendCronJobRequest) (*raygatev2.SuspendCronJobResponse, error) {
	resp := &raygatev2.SuspendCronJobResponse{}
	return resp, s.Suspend(ctx, req, resp, true)
}

// ResumeCronJob implements raygatev2.CronJobServiceServer.
func (s *CronJobs) ResumeCronJob(ctx context.Context, req *raygatev2.ResumeCronJobRequest) (*raygatev2.ResumeCronJobResponse, error) {
	resp := &raygatev2.ResumeCronJobResponse{}
	return resp, s.Suspend(ctx, req, resp, false)
}

// DeleteCronJob implements raygatev2.CronJobServiceServer.
func (s *CronJobs) DeleteCronJob(ctx context.Context, req *raygatev2.DeleteCronJobRequest) (*raygatev2.DeleteCronJobResponse, error) {
	uid, err := s.Delete(ctx, req)
	return &raygatev2.DeleteCronJobResponse{Uid: uid}, err
}

// WatchCronJobs implements raygatev2.CronJobServiceServer.
func (s *CronJobs) WatchCronJobs(req *raygatev2.WatchCronJobsRequest, stream grpc.ServerStreamingServer[raygatev2.WatchCronJobsResponse]) error {
	return s.Watch(stream.Context(), req, &raygatev2.WatchCronJobsResponse{}, func(m proto.Message) error { return stream.SendMsg(m) })
}

// ListCronJobEvents implements raygatev2.CronJobServiceServer.
func (s *CronJobs) ListCronJobEvents(ctx context.Context, req *raygatev2.ListCronJobEventsRequest) (*raygatev2.ListCronJobEventsResponse, error) {
	events, err := s.Events(ctx, req)
	return &raygatev2.ListCronJobEventsResponse{Events: events}, err
}
