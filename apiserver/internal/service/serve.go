package service

import (
	"context"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/apiserver/internal/resource"
	"github.com/raygate/raygate/apiserver/internal/store"
	raygatev2 "github.com/raygate/raygate/proto/gen/go/raygate/v2"
)

// Services implements ServeService.
type Services struct {
	raygatev2.UnsafeServeServiceServer // so that a new method in the proto is a compile error here
	*resource.Resource
}

var _ raygatev2.ServeServiceServer = (*Services)(nil)

// ServiceKind is what ServeService serves.
var ServiceKind = resource.Kind{
	Checks: checksOf("RayService"), Message: &raygatev2.RayService{}, Resource: "rayservices", MaxNameLength: 47,
	State: "status.serviceStatus", Basic: groupBasic("rayClusterConfig.", "suspend", "managedBy", "upgradeStrategy"), Groups: "spec.rayClusterConfig.workerGroupSpecs",
	States: map[string]func(*store.Item) resource.Progress{
		"ready":     byCondition(string(rayv1.RayServiceReady)),
		"suspended": byCondition(string(rayv1.RayServiceSuspended)),
	},
}

// NewServices returns the ServeService.
func NewServices(o resource.Options) *Services {
	return &Services{Resource: resource.New(ServiceKind, o)}
}

// CreateService implements raygatev2.ServeServiceServer.
func (s *Services) CreateService(ctx context.Context, req *raygatev2.CreateServiceRequest) (*raygatev2.CreateServiceResponse, error) {
	resp := &raygatev2.CreateServiceResponse{}
	return resp, s.Create(ctx, req, req.GetService(), resp)
}

// GetService implements raygatev2.ServeServiceServer.
func (s *Services) GetService(ctx context.Context, req *raygatev2.GetServiceRequest) (*raygatev2.GetServiceResponse, error) {
	resp := &raygatev2.GetServiceResponse{}
	return resp, s.Get(ctx, req, resp)
}

// ListServices implements raygatev2.ServeServiceServer.
func (s *Services) ListServices(ctx context.Context, req *raygatev2.ListServicesRequest) (*raygatev2.ListServicesResponse, error) {
	resp := &raygatev2.ListServicesResponse{}
	return resp, s.List(ctx, req, resp)
}

// UpdateService implements raygatev2.ServeServiceServer.
func (s *Services) UpdateService(ctx context.Context, req *raygatev2.UpdateServiceRequest) (*raygatev2.UpdateServiceResponse, error) {
	resp := &raygatev2.UpdateServiceResponse{}
	return resp, s.Update(ctx, req, req.GetService(), resp)
}

// ReplaceService implements raygatev2.ServeServiceServer.
func (s *Services) ReplaceService(ctx context.Context, req *raygatev2.ReplaceServiceRequest) (*raygatev2.ReplaceServiceResponse, error) {
	resp := &raygatev2.ReplaceServiceResponse{}
	return resp, s.Replace(ctx, req, req.GetService(), resp)
}

// ApplyService implements raygatev2.ServeServiceServer.
func (s *Services) ApplyService(ctx context.Context, req *raygatev2.ApplyServiceRequest) (*raygatev2.ApplyServiceResponse, error) {
	resp := &raygatev2.ApplyServiceResponse{}
	return resp, s.Apply(ctx, req, req.GetService(), resp)
}

// WaitService implements raygatev2.ServeServiceServer.
func (s *Services) WaitService(ctx context.Context, req *raygatev2.WaitServiceRequest) (*raygatev2.WaitServiceResponse, error) {
	resp := &raygatev2.WaitServiceResponse{}
	return resp, s.Wait(ctx, req, resp)
}

// SuspendService implements raygatev2.ServeServiceServer.
func (s *Services) SuspendService(ctx context.Context, req *raygatev2.SuspendServiceRequest) (*raygatev2.SuspendServiceResponse, error) {
	resp := &raygatev2.SuspendServiceResponse{}
	return resp, s.Suspend(ctx, req, resp, true)
}

// ResumeService implements raygatev2.ServeServiceServer.
func (s *Services) ResumeService(ctx context.Context, req *raygatev2.ResumeServiceRequest) (*raygatev2.ResumeServiceResponse, error) {
	resp := &raygatev2.ResumeServiceResponse{}
	return resp, s.Suspend(ctx, req, resp, false)
}

// ScaleService implements raygatev2.ServeServiceServer.
func (s *Services) ScaleService(ctx context.Context, req *raygatev2.ScaleServiceRequest) (*raygatev2.ScaleServiceResponse, error) {
	resp := &raygatev2.ScaleServiceResponse{}
	return resp, s.Scale(ctx, req, req.Replicas, req.MinReplicas, req.MaxReplicas, resp)
}

// DeleteService implements raygatev2.ServeServiceServer.
func (s *Services) DeleteService(ctx context.Context, req *raygatev2.DeleteServiceRequest) (*raygatev2.DeleteServiceResponse, error) {
	uid, err := s.Delete(ctx, req)
	return &raygatev2.DeleteServiceResponse{Uid: uid}, err
}

// WatchServices implements raygatev2.ServeServiceServer.
func (s *Services) WatchServices(req *raygatev2.WatchServicesRequest, stream grpc.ServerStreamingServer[raygatev2.WatchServicesResponse]) error {
	return s.Watch(stream.Context(), req, &raygatev2.WatchServicesResponse{}, func(m proto.Message) error { return stream.SendMsg(m) })
}

// ListServiceEvents implements raygatev2.ServeServiceServer.
func (s *Services) ListServiceEvents(ctx context.Context, req *raygatev2.ListServiceEventsRequest) (*raygatev2.ListServiceEventsResponse, error) {
	events, err := s.Events(ctx, req)
	return &raygatev2.ListServiceEventsResponse{Events: events}, err
}
