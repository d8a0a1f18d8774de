package interceptor

import (
	"context"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"k8s.io/klog/v2"

	"github.com/raygate/raygate/apiserver/internal/authn"
	raygatev2 "github.com/raygate/raygate/proto/gen/go/raygate/v2"
)

// slowCall is from where on a unary call is worth a line at any verbosity.
const slowCall = 5 * time.Second

// AccessLog writes a line per call at verbosity 2, and at any verbosity for a slow call. A call of a method that mutates gets an audit line, always,
// which says who it was. Neither has a payload or a token.
func AccessLog(mutates, long func(method string) bool) Interceptor {
	return Interceptor{
		Unary: func(ctx context.Context, req any, info *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
			start := time.Now() //nolint:forbidigo // a duration for the log, on which nothing depends
			resp, err := next(ctx, req)
			if mutates(info.FullMethod) {
				logCall(ctx, klog.FromContext(ctx).WithName("audit"), "Mutation", info.FullMethod, req, start, err)
			}
			if log := klog.FromContext(ctx); log.V(2).Enabled() || time.Since(start) > slowCall && !long(info.FullMethod) {
				logCall(ctx, log, "Served", info.FullMethod, req, start, err)
			}
			return resp, err
		},
		Stream: func(srv any, s grpc.ServerStream, info *grpc.StreamServerInfo, next grpc.StreamHandler) error {
			start := time.Now() //nolint:forbidigo // a duration for the log, on which nothing depends
			err := next(srv, s)
			if log := klog.FromContext(s.Context()); log.V(2).Enabled() {
				logCall(s.Context(), log, "Served", info.FullMethod, nil, start, err)
			}
			return err
		},
	}
}

func logCall(ctx context.Context, log klog.Logger, message, method string, req any, start time.Time, err error) {
	fields := []any{"method", method, "code", status.Code(err).String(), "duration", time.Since(start), "requestID", RequestIDFrom(ctx)}
	if c := authn.CallerFrom(ctx); c != nil {
		fields = append(fields, "user", c.Name(), "groups", c.Groups())
	}
	if r, ok := req.(interface{ GetNamespace() string }); ok {
		fields = append(fields, "namespace", r.GetNamespace())
	}
	if r, ok := req.(interface{ GetCluster() string }); ok {
		fields = append(fields, "cluster", r.GetCluster())
	}
	if name := objectName(req); name != "" {
		fields = append(fields, "name", name)
	}
	if r, ok := req.(interface{ GetValidateOnly() bool }); ok && r.GetValidateOnly() {
		fields = append(fields, "validateOnly", true)
	}
	if p, ok := peer.FromContext(ctx); ok {
		fields = append(fields, "peer", p.Addr.String())
	}
	if err != nil {
		fields = append(fields, "error", status.Convert(err).Message())
	}
	log.Info(message, fields...)
}

// objectName returns the name in a request, or in the metadata of the object that it carries.
func objectName(req any) string {
	switch r := req.(type) {
	case interface{ GetName() string }:
		return r.GetName()
	case interface{ GetSubmissionId() string }:
		return r.GetSubmissionId()
	}
	m, ok := req.(proto.Message)
	if !ok {
		return ""
	}
	var name string
	m.ProtoReflect().Range(func(f protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		if f.Message() == nil || f.IsList() || f.IsMap() {
			return true
		}
		if object, ok := v.Message().Interface().(interface{ GetMetadata() *raygatev2.ObjectMeta }); ok {
			name = object.GetMetadata().GetName()
		}
		return name == ""
	})
	return name
}
