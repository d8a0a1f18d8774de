// Package interceptor holds what every call passes through once the edge has let it in, one file each. Calls by gRPC and by REST take the same way.
// The order is written in one place, in the wiring of the process.
package interceptor

import (
	"context"
	"slices"

	"google.golang.org/grpc"
)

// Interceptor is one step of the chain, for both kinds of calls.
type Interceptor struct {
	Unary  grpc.UnaryServerInterceptor
	Stream grpc.StreamServerInterceptor
}

// Chain makes one step of a list, outermost first. It is what grpc.ChainUnaryInterceptor does, for those that take one interceptor only.
func Chain(list []Interceptor) Interceptor {
	return Interceptor{
		Unary: func(ctx context.Context, req any, info *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (any, error) {
			for _, i := range slices.Backward(list) {
				if step := i.Unary; step != nil {
					next := handler
					handler = func(ctx context.Context, req any) (any, error) { return step(ctx, req, info, next) }
				}
			}
			return handler(ctx, req)
		},
		Stream: func(srv any, stream grpc.ServerStream, info *grpc.StreamServerInfo, handler grpc.StreamHandler) error {
			for _, i := range slices.Backward(list) {
				if step := i.Stream; step != nil {
					next := handler
					handler = func(srv any, stream grpc.ServerStream) error { return step(srv, stream, info, next) }
				}
			}
			return handler(srv, stream)
		},
	}
}
