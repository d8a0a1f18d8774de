package service

import (
	"context"
	"fmt"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/clock"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/apiserver/internal/resource"
	"github.com/raygate/raygate/apiserver/internal/rpcstatus"
	"github.com/raygate/raygate/apiserver/internal/store"
	raygatev2 "github.com/raygate/raygate/proto/gen/go/raygate/v2"
)

// CronJobs implements CronJobService.
type CronJobs struct {
	raygatev2.UnsafeCronJobServiceServer // so that a new method in the proto is a compile error here
	*resource.Resource
	jobs  *Jobs
	clock clock.PassiveClock
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
func NewCronJobs(o resource.Options, jobs *Jobs) *CronJobs {
	return &CronJobs{Resource: resource.New(CronJobKind, o), jobs: jobs, clock: clock.RealClock{}}
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

// DiagnoseCronJob implements raygatev2.CronJobServiceServer.
func (s *CronJobs) DiagnoseCronJob(ctx context.Context, req *raygatev2.DiagnoseCronJobRequest) (*raygatev2.DiagnoseCronJobResponse, error) {
	ready, findings, err := s.Resource.DiagnoseCronJob(ctx, req, s.jobs.Resource)
	return &raygatev2.DiagnoseCronJobResponse{Ready: ready, Findings: findings}, err
}

// TriggerCronJob implements raygatev2.CronJobServiceServer. The template is taken as it is stored, with fields that this gateway does not know.
func (s *CronJobs) TriggerCronJob(ctx context.Context, req *raygatev2.TriggerCronJobRequest) (*raygatev2.TriggerCronJobResponse, error) {
	item, err := s.Find(ctx, req.GetNamespace(), req.GetName())
	if err != nil {
		return nil, err
	}
	if item.DeletionTimestamp != nil {
		return nil, wrongState("DELETING", "RayCronJob %s is being deleted", item.Name)
	}
	tree, err := item.Tree()
	if err != nil {
		return nil, err
	}
	spec, _, _ := unstructured.NestedMap(tree, "spec", "jobTemplate")
	meta, err := runtime.DefaultUnstructuredConverter.ToUnstructured(new((&rayv1.RayCronJob{ObjectMeta: item.ObjectMeta}).RunMeta(s.clock.Now())))
	if err != nil {
		return nil, fmt.Errorf("encoding metadata: %w", err)
	}
	resp := &raygatev2.TriggerCronJobResponse{}
	err = s.jobs.CreateMade(ctx, map[string]any{"apiVersion": rayv1.GroupVersion.String(), "kind": JobKind.Checks.Kind, "metadata": meta, "spec": spec}, req.GetValidateOnly(), resp)
	if apierrors.IsAlreadyExists(err) {
		return nil, &rpcstatus.Error{Code: codes.AlreadyExists, Reason: "ALREADY_EXISTS", Message: fmt.Sprintf("RayJob %s has been made for this minute already: trigger again in the next", meta["name"])}
	}
	return resp, err
}
