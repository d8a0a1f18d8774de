package service

import (
	"context"
	"fmt"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/apiserver/internal/resource"
	"github.com/raygate/raygate/apiserver/internal/store"
	raygatev2 "github.com/raygate/raygate/proto/gen/go/raygate/v2"
)

// Clusters implements ClusterService.
type Clusters struct {
	raygatev2.UnsafeClusterServiceServer // so that a new method in the proto is a compile error here
	*resource.Resource
}

var _ raygatev2.ClusterServiceServer = (*Clusters)(nil)

// ClusterKind is what ClusterService serves.
var ClusterKind = resource.Kind{
	Checks: checksOf("RayCluster"), Message: &raygatev2.RayCluster{}, Resource: "rayclusters", MaxNameLength: 53,
	State: "status.state", Basic: groupBasic("", "suspend", "managedBy"), Groups: "spec.workerGroupSpecs",
	States: map[string]func(*store.Item) resource.Progress{
		"ready": func(item *store.Item) resource.Progress {
			state := item.At("status.state").Str
			return resource.Progress{Done: state == string(rayv1.ClusterStateReady) && resource.Observed(item), Now: clusterState(item)}
		},
		"suspended": byCondition(rayv1.RayClusterSuspended),
	},
}

// NewClusters returns the ClusterService.
func NewClusters(o resource.Options) *Clusters {
	return &Clusters{Resource: resource.New(ClusterKind, o)}
}

// CreateCluster implements raygatev2.ClusterServiceServer.
func (s *Clusters) CreateCluster(ctx context.Context, req *raygatev2.CreateClusterRequest) (*raygatev2.CreateClusterResponse, error) {
	resp := &raygatev2.CreateClusterResponse{}
	return resp, s.Create(ctx, req, req.GetCluster(), resp)
}

// GetCluster implements raygatev2.ClusterServiceServer.
func (s *Clusters) GetCluster(ctx context.Context, req *raygatev2.GetClusterRequest) (*raygatev2.GetClusterResponse, error) {
	resp := &raygatev2.GetClusterResponse{}
	return resp, s.Get(ctx, req, resp)
}

// ListClusters implements raygatev2.ClusterServiceServer.
func (s *Clusters) ListClusters(ctx context.Context, req *raygatev2.ListClustersRequest) (*raygatev2.ListClustersResponse, error) {
	resp := &raygatev2.ListClustersResponse{}
	return resp, s.List(ctx, req, resp)
}

// UpdateCluster implements raygatev2.ClusterServiceServer.
func (s *Clusters) UpdateCluster(ctx context.Context, req *raygatev2.UpdateClusterRequest) (*raygatev2.UpdateClusterResponse, error) {
	resp := &raygatev2.UpdateClusterResponse{}
	return resp, s.Update(ctx, req, req.GetCluster(), resp)
}

// ReplaceCluster implements raygatev2.ClusterServiceServer.
func (s *Clusters) ReplaceCluster(ctx context.Context, req *raygatev2.ReplaceClusterRequest) (*raygatev2.ReplaceClusterResponse, error) {
	resp := &raygatev2.ReplaceClusterResponse{}
	return resp, s.Replace(ctx, req, req.GetCluster(), resp)
}

// ApplyCluster implements raygatev2.ClusterServiceServer.
func (s *Clusters) ApplyCluster(ctx context.Context, req *raygatev2.ApplyClusterRequest) (*raygatev2.ApplyClusterResponse, error) {
	resp := &raygatev2.ApplyClusterResponse{}
	return resp, s.Apply(ctx, req, req.GetCluster(), resp)
}

// WaitCluster implements raygatev2.ClusterServiceServer.
func (s *Clusters) WaitCluster(ctx context.Context, req *raygatev2.WaitClusterRequest) (*raygatev2.WaitClusterResponse, error) {
	resp := &raygatev2.WaitClusterResponse{}
	return resp, s.Wait(ctx, req, resp)
}

// SuspendCluster implements raygatev2.ClusterServiceServer.
func (s *Clusters) SuspendCluster(ctx context.Context, req *raygatev2.SuspendClusterRequest) (*raygatev2.SuspendClusterResponse, error) {
	resp := &raygatev2.SuspendClusterResponse{}
	return resp, s.Suspend(ctx, req, resp, true)
}

// ResumeCluster implements raygatev2.ClusterServiceServer.
func (s *Clusters) ResumeCluster(ctx context.Context, req *raygatev2.ResumeClusterRequest) (*raygatev2.ResumeClusterResponse, error) {
	resp := &raygatev2.ResumeClusterResponse{}
	return resp, s.Suspend(ctx, req, resp, false)
}

// ScaleCluster implements raygatev2.ClusterServiceServer.
func (s *Clusters) ScaleCluster(ctx context.Context, req *raygatev2.ScaleClusterRequest) (*raygatev2.ScaleClusterResponse, error) {
	resp := &raygatev2.ScaleClusterResponse{}
	return resp, s.Scale(ctx, req, req.Replicas, req.MinReplicas, req.MaxReplicas, resp)
}

// DeleteCluster implements raygatev2.ClusterServiceServer.
func (s *Clusters) DeleteCluster(ctx context.Context, req *raygatev2.DeleteClusterRequest) (*raygatev2.DeleteClusterResponse, error) {
	uid, err := s.Delete(ctx, req)
	return &raygatev2.DeleteClusterResponse{Uid: uid}, err
}

// WatchClusters implements raygatev2.ClusterServiceServer.
func (s *Clusters) WatchClusters(req *raygatev2.WatchClustersRequest, stream grpc.ServerStreamingServer[raygatev2.WatchClustersResponse]) error {
	return s.Watch(stream.Context(), req, &raygatev2.WatchClustersResponse{}, func(m proto.Message) error { return stream.SendMsg(m) })
}

// ListClusterEvents implements raygatev2.ClusterServiceServer.
func (s *Clusters) ListClusterEvents(ctx context.Context, req *raygatev2.ListClusterEventsRequest) (*raygatev2.ListClusterEventsResponse, error) {
	events, err := s.Events(ctx, req)
	return &raygatev2.ListClusterEventsResponse{Events: events}, err
}

// DiagnoseCluster implements raygatev2.ClusterServiceServer.
func (s *Clusters) DiagnoseCluster(ctx context.Context, req *raygatev2.DiagnoseClusterRequest) (*raygatev2.DiagnoseClusterResponse, error) {
	ready, findings, err := s.Diagnose(ctx, req)
	return &raygatev2.DiagnoseClusterResponse{Ready: ready, Findings: findings}, err
}

// clusterState says where a cluster is on the way to ready.
func clusterState(item *store.Item) string {
	if !resource.Observed(item) {
		return "the operator has not yet seen the present spec"
	}
	text := fmt.Sprintf("state %q, %d of %d workers ready", item.At("status.state").Str, item.At("status.readyWorkerReplicas").Int(), item.At("status.desiredWorkerReplicas").Int())
	if status, reason, message := resource.ConditionOf(item, rayv1.HeadPodReady); status != "True" {
		text += fmt.Sprintf("; the head Pod is not ready: %s %s", reason, message)
	}
	return text
}
