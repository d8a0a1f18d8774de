package service

import (
	"context"

	"github.com/raygate/raygate/apiserver/internal/resource"
	raygatev2 "github.com/raygate/raygate/proto/gen/go/raygate/v2"
)

// serveServer has the method of ServeService that other kinds do not have.
type serveServer struct {
	raygatev2.UnimplementedServeServiceServer
	*resource.Resource
	clusters *resource.Resource
}

// DiagnoseService implements raygatev2.ServeServiceServer.
func (s *serveServer) DiagnoseService(ctx context.Context, req *raygatev2.DiagnoseServiceRequest) (*raygatev2.DiagnoseServiceResponse, error) {
	ready, findings, err := s.Resource.DiagnoseService(ctx, req, s.clusters)
	return &raygatev2.DiagnoseServiceResponse{Ready: ready, Findings: findings}, err
}
