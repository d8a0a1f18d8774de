package v1

import (
	"context"
	"strings"

	"github.com/grpc-ecosystem/grpc-gateway/v2/runtime"
	"google.golang.org/genproto/googleapis/api/annotations"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/raygate/raygate/apiserver/internal/edge"
	"github.com/raygate/raygate/proto/gen/go/kuberay"
)

// service is a gRPC service that is served by REST.
type service struct {
	descriptor protoreflect.ServiceDescriptor
	register   func(ctx context.Context, mux *runtime.ServeMux, conn grpc.ClientConnInterface) error
}

var services = []service{
	serviceOf(kuberay.File_kuberay_cluster_proto, kuberay.NewClusterServiceClient, kuberay.RegisterClusterServiceHandlerClient),
	serviceOf(kuberay.File_kuberay_config_proto, kuberay.NewComputeTemplateServiceClient, kuberay.RegisterComputeTemplateServiceHandlerClient),
	serviceOf(kuberay.File_kuberay_job_proto, kuberay.NewRayJobServiceClient, kuberay.RegisterRayJobServiceHandlerClient),
	serviceOf(kuberay.File_kuberay_serve_proto, kuberay.NewRayServeServiceClient, kuberay.RegisterRayServeServiceHandlerClient),
	serviceOf(kuberay.File_kuberay_job_submission_proto, kuberay.NewRayJobSubmissionServiceClient, kuberay.RegisterRayJobSubmissionServiceHandlerClient),
}

// serviceOf describes the first service of a file.
func serviceOf[C any](
	file protoreflect.FileDescriptor, client func(grpc.ClientConnInterface) C, register func(context.Context, *runtime.ServeMux, C) error,
) service {
	return service{
		descriptor: file.Services().Get(0),
		register: func(ctx context.Context, mux *runtime.ServeMux, conn grpc.ClientConnInterface) error {
			return register(ctx, mux, client(conn))
		},
	}
}

// routes knows which HTTP method goes with which path, for metrics and for what is allowed where.
type routes []route

type route struct {
	method, pattern string
	segments        []string
	// body is the message that a body holds; nil where none is read.
	body protoreflect.MessageDescriptor
	mux  *runtime.ServeMux
}

func routesOf(service protoreflect.ServiceDescriptor, mux *runtime.ServeMux) routes {
	var all routes
	for i := range service.Methods().Len() {
		rpc := service.Methods().Get(i)
		rule, ok := proto.GetExtension(rpc.Options(), annotations.E_Http).(*annotations.HttpRule)
		if !ok || rule == nil {
			continue
		}
		method, pattern := edge.HTTPRule(rule)
		r := route{method: method, pattern: pattern, segments: strings.Split(pattern, "/"), mux: mux}
		if rule.GetBody() != "" {
			r.body = rpc.Input().Fields().ByName(protoreflect.Name(rule.GetBody())).Message()
		}
		all = append(all, r)
	}
	return all
}

// match returns the route of a request, nil if there is none. A variable may be empty: that of a path that ends with a slash is.
func (all routes) match(method, path string) *route {
	parts := strings.Split(path, "/")
	for i := range all {
		if all[i].method == method && all[i].matches(parts) {
			return &all[i]
		}
	}
	return nil
}

func (r *route) matches(parts []string) bool {
	if len(parts) != len(r.segments) {
		return false
	}
	for i, s := range r.segments {
		if !strings.HasPrefix(s, "{") && s != parts[i] {
			return false
		}
	}
	return true
}
