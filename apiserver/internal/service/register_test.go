package service

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"google.golang.org/grpc"

	"github.com/raygate/raygate/apiserver/internal/resource"
	raygatev2 "github.com/raygate/raygate/proto/gen/go/raygate/v2"
)

// registered are the services that were registered, with what implements them.
type registered map[*grpc.ServiceDesc]any

func (r registered) RegisterService(desc *grpc.ServiceDesc, impl any) { r[desc] = impl }

func TestRegisterServesEveryMethod(t *testing.T) {
	for _, kind := range []resource.Kind{Clusters, Jobs, Services, CronJobs} {
		server := registered{}
		Register(server, resource.New(kind, resource.Options{}), nil)
		for desc := range server {
			var got, want []string
			for _, m := range desc.Methods {
				got = append(got, m.MethodName)
			}
			for _, m := range kind.Service.Methods {
				want = append(want, m.MethodName)
			}
			if desc == kind.Service || desc.ServiceName != kind.Service.ServiceName || !slices.Equal(got, want) || len(desc.Streams) != len(kind.Service.Streams) {
				t.Errorf("%s serves %v, want %v", desc.ServiceName, got, want)
			}
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
