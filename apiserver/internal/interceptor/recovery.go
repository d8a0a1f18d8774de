package interceptor

import (
	"context"
	"fmt"
	"runtime/debug"

	"google.golang.org/grpc"
	"k8s.io/klog/v2"
)

// Recovery turns a panic into an error, which becomes INTERNAL. It stands in the chain twice: outermost so that nothing ends the process, and
// innermost so that a panic of a service is counted and logged as the failed call it is.
func Recovery() Interceptor {
	return Interceptor{
		Unary: func(ctx context.Context, req any, info *grpc.UnaryServerInfo, next grpc.UnaryHandler) (resp any, err error) {
			defer func() { err = recovered(ctx, recover(), info.FullMethod, err) }()
			return next(ctx, req)
		},
		Stream: func(srv any, s grpc.ServerStream, info *grpc.StreamServerInfo, next grpc.StreamHandler) (err error) {
			defer func() { err = recovered(s.Context(), recover(), info.FullMethod, err) }()
			return next(srv, s)
		},
	}
}

// PanicError is a panic as an error.
type PanicError struct{ Value any }

// Error implements error.
func (e *PanicError) Error() string { return fmt.Sprintf("panic: %v", e.Value) }

func recovered(ctx context.Context, value any, method string, err error) error {
	if value == nil {
		return err
	}
	failure := &PanicError{Value: value}
	klog.FromContext(ctx).Error(failure, "Recovered from a panic", "method", method, "requestID", RequestIDFrom(ctx), "stack", string(debug.Stack()))
	return failure
}
