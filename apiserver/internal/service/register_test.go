package service

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"google.golang.org/grpc"

	"github.com/raygate/raygate/apiserver/internal/resource"
	"github.com/raygate/raygate/apiserver/internal/store"
	raygatev2 "github.com/raygate/raygate/proto/gen/go/raygate/v2"
)

// registered are the services that were registered, with what implements them.
type registered map[*grpc.ServiceDesc]any

func (r registered) RegisterService(desc *grpc.ServiceDesc, impl any) { r[desc] = impl }

func TestRegisterServesEveryMethod(t *testing.T) {
	var all []*resource.Resource
	for _, kind := range Kinds {
		all = append(all, resource.New(kind, resource.Options{}))
	}
	slices.Reverse(all) // kinds are found by their names
	server := registered{}
	RegisterAll(server, Resources{Kinds: all}, nil, store.NewTokens(nil, nil))
	services := []*grpc.ServiceDesc{&raygatev2.SubmissionService_ServiceDesc, &raygatev2.HistoryService_ServiceDesc, &raygatev2.ProfileService_ServiceDesc}
	for _, kind := range Kinds {
		services = append(services, kind.Service)
	}
	if len(server) != len(services) {
		t.Errorf("want %d services, got %d", len(services), len(server))
	}
	for _, want := range services {
		found := false
		for desc := range server {
			if desc.ServiceName != want.ServiceName {
				continue
			}
			found = true
			same := func(a, b grpc.MethodDesc) bool { return a.MethodName == b.MethodName }
			if !slices.EqualFunc(desc.Methods, want.Methods, same) || len(desc.Streams) != len(want.Streams) {
				t.Errorf("%s serves %v, want %v", desc.ServiceName, desc.Methods, want.Methods)
			}
		}
		if !found {
			t.Errorf("%s is not registered", want.ServiceName)
		}
	}
}

// A method that is new in a proto is noticed when the gateway starts.
func TestRegisterWantsAnImplementation(t *testing.T) {
	more := *Clusters.Service
	more.Methods = append(slices.Clone(more.Methods), grpc.MethodDesc{MethodName: "ReadJobLogs"})
	kind := Clusters
	kind.Service = &more
	for name, tc := range map[string]struct {
		kind    resource.Kind
		special any
		want    string
	}{
		"nothing implements it":      {kind, nil, "nothing implements /raygate.v2.ClusterService/ReadJobLogs"},
		"it is in no proto":          {kind, raygatev2.UnimplementedClusterServiceServer{}, "not found"},
		"the service of other kinds": {resource.Kind{Checks: Jobs.Checks, Message: Jobs.Message, Service: Clusters.Service}, nil, "nothing implements"},
	} {
		t.Run(name, func(t *testing.T) {
			defer func() {
				if got := fmt.Sprint(recover()); !strings.Contains(got, tc.want) {
					t.Errorf("got %s, want %s", got, tc.want)
				}
			}()
			Register(registered{}, resource.New(tc.kind, resource.Options{}), tc.special)
		})
	}
}
