package realray

import (
	"context"
	"fmt"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/protobuf/types/known/emptypb"
	corev1 "k8s.io/api/core/v1"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
)

// grpcPort is the port of Serve's proxies, and of the Gateway, for gRPC.
const grpcPort = 9000

// grpcOptions is the part of a configuration of Serve that starts gRPC proxies. They need a service besides that of Serve, which no request uses.
var grpcOptions = fmt.Sprintf(`grpc_options:
  port: %d
  grpc_servicer_functions: [ray.serve.generated.serve_pb2_grpc.add_UserDefinedServiceServicer_to_server]
`, grpcPort)

// portsWithGRPC returns the ports of a head with one for gRPC.
func portsWithGRPC() []corev1.ContainerPort {
	return []corev1.ContainerPort{
		{Name: rayv1.PortGCSServer, ContainerPort: rayv1.DefaultGCSServerPort},
		{Name: rayv1.PortDashboard, ContainerPort: rayv1.DefaultDashboardPort},
		{Name: rayv1.PortClient, ContainerPort: rayv1.DefaultClientPort},
		{Name: rayv1.PortServe, ContainerPort: rayv1.DefaultServePort},
		{Name: rayv1.PortServeGRPC, ContainerPort: grpcPort},
	}
}

// healthy is recorded for each answer of a gRPC proxy, which does not have the release.
var healthy = said{Words: "healthy"}

// loadGRPC asks the gRPC proxies at an address for their health, over one connection, until it is stopped.
func (w *world) loadGRPC(address string) *load {
	w.t.Helper()
	conn, err := grpc.NewClient("passthrough:///"+address, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { _ = conn.Close() })
	return w.loadBy(func(ctx context.Context) (said, error) { return healthy, healthByGRPC(ctx, conn) })
}

// healthByGRPC calls a method that each gRPC proxy of Serve has. Its request is empty, and an error is the only answer that matters.
func healthByGRPC(ctx context.Context, conn *grpc.ClientConn) error {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	return conn.Invoke(ctx, "/ray.serve.RayServeAPIService/Healthz", &emptypb.Empty{}, &emptypb.Empty{})
}
