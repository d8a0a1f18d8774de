package interceptor

import (
	"context"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"
	"k8s.io/klog/v2"
)

// slowCall is from where on a unary call is worth a line at any verbosity.
const slowCall = 5 * time.Second

// AccessLog writes one line per call: never a payload, never a token.
func AccessLog() Interceptor {
	return Interceptor{
		Unary: func(ctx context.Context, req any, info *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
			start := time.Now() //nolint:forbidigo // a duration for the log, on which nothing depends
			resp, err := next(ctx, req)
			logCall(ctx, info.FullMethod, req, start, err, time.Since(start) > slowCall)
			return resp, err
		},
		Stream: func(srv any, s grpc.ServerStream, info *grpc.StreamServerInfo, next grpc.StreamHandler) error {
			start := time.Now() //nolint:forbidigo // a duration for the log, on which nothing depends
			err := next(srv, s)
			logCall(s.Context(), info.FullMethod, nil, start, err, false)
			return err
		},
	}
}

func logCall(ctx context.Context, method string, req any, start time.Time, err error, always bool) {
	log := klog.FromContext(ctx)
	if !always && !log.V(2).Enabled() {
		return
	}
	fields := []any{"method", method, "code", status.Code(err).String(), "duration", time.Since(start), "requestID", RequestIDFrom(ctx)}
	if r, ok := req.(interface{ GetNamespace() string }); ok {
		fields = append(fields, "namespace", r.GetNamespace())
	}
	if r, ok := req.(interface{ GetName() string }); ok {
		fields = append(fields, "name", r.GetName())
	}
	if p, ok := peer.FromContext(ctx); ok {
		fields = append(fields, "peer", p.Addr.String())
	}
	if err != nil {
		fields = append(fields, "error", status.Convert(err).Message())
	}
	log.Info("Served", fields...)
}
