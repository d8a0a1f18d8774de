package service

import (
	"context"

	"github.com/raygate/raygate/apiserver/internal/profile"
	"github.com/raygate/raygate/apiserver/internal/resource"
	"github.com/raygate/raygate/pkg/manifest"
	raygatev2 "github.com/raygate/raygate/proto/gen/go/raygate/v2"
)

// profileServer implements ProfileService.
type profileServer struct {
	raygatev2.UnsafeProfileServiceServer // so that a new method in the proto is a compile error here
	reader                               *profile.Reader
}

// ListProfiles implements raygatev2.ProfileServiceServer.
func (s *profileServer) ListProfiles(ctx context.Context, req *raygatev2.ListProfilesRequest) (*raygatev2.ListProfilesResponse, error) {
	if err := resource.CheckNamespace(req.GetNamespace()); err != nil {
		return nil, err
	}
	all, err := s.reader.List(ctx, req.GetNamespace())
	if err != nil {
		return nil, err
	}
	resp := &raygatev2.ListProfilesResponse{}
	for i := range all {
		p := &all[i]
		resp.Profiles = append(resp.Profiles, &raygatev2.Profile{
			Name: p.Name, Namespace: p.Namespace, Description: p.Description, Template: manifest.FromJSON(p.Tree), Locked: p.Locked, Mistake: p.Mistake,
		})
	}
	return resp, nil
}

// ListQueues implements raygatev2.ProfileServiceServer.
func (s *profileServer) ListQueues(ctx context.Context, req *raygatev2.ListQueuesRequest) (*raygatev2.ListQueuesResponse, error) {
	if err := resource.CheckNamespace(req.GetNamespace()); err != nil {
		return nil, err
	}
	names, err := resource.Queues(ctx, s.reader.Core, req.GetNamespace())
	if err != nil {
		return nil, err
	}
	resp := &raygatev2.ListQueuesResponse{}
	for _, name := range names {
		resp.Queues = append(resp.Queues, &raygatev2.Queue{Name: name})
	}
	return resp, nil
}
