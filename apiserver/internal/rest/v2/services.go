package v2

import (
	"context"

	"github.com/grpc-ecosystem/grpc-gateway/v2/runtime"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/reflect/protoreflect"

	raygatev2 "github.com/raygate/raygate/proto/gen/go/raygate/v2"
)

// Service is a gRPC service that is also served by REST.
type Service struct {
	Descriptor protoreflect.ServiceDescriptor
	// Register is the generated RegisterXHandlerClient with its client.
	Register func(ctx context.Context, mux *runtime.ServeMux, conn grpc.ClientConnInterface) error
}

// The services of this version: one per kind, and one for what runs on clusters.
var (
	// Clusters is ClusterService.
	Clusters = service(raygatev2.File_raygate_v2_cluster_service_proto, raygatev2.NewClusterServiceClient, raygatev2.RegisterClusterServiceHandlerClient)
	// Jobs is JobService.
	Jobs = service(raygatev2.File_raygate_v2_job_service_proto, raygatev2.NewJobServiceClient, raygatev2.RegisterJobServiceHandlerClient)
	// RayServices is ServeService.
	RayServices = service(raygatev2.File_raygate_v2_serve_service_proto, raygatev2.NewServeServiceClient, raygatev2.RegisterServeServiceHandlerClient)
	// CronJobs is CronJobService.
	CronJobs = service(raygatev2.File_raygate_v2_cronjob_service_proto, raygatev2.NewCronJobServiceClient, raygatev2.RegisterCronJobServiceHandlerClient)
	// Submissions is SubmissionService.
	Submissions = service(raygatev2.File_raygate_v2_submission_service_proto, raygatev2.NewSubmissionServiceClient, raygatev2.RegisterSubmissionServiceHandlerClient)
)

// service describes the one service of a file.
func service[C any](
	file protoreflect.FileDescriptor, client func(grpc.ClientConnInterface) C, register func(context.Context, *runtime.ServeMux, C) error,
) Service {
	return Service{
		Descriptor: file.Services().Get(0),
		Register: func(ctx context.Context, mux *runtime.ServeMux, conn grpc.ClientConnInterface) error {
			return register(ctx, mux, client(conn))
		},
	}
}
