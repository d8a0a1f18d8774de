package interceptor

import (
	"context"
	"strings"

	"google.golang.org/grpc"
)

// Authenticate returns a context that carries the caller named by an Authorization header, which may be empty.
type Authenticate func(ctx context.Context, authorization string) (context.Context, error)

// Authentication lets in only calls that authenticate accepts. Health checks and reflection tell nothing about objects and are open.
func Authentication(authenticate Authenticate) Interceptor {
	enter := func(ctx context.Context, method string) (context.Context, error) {
		if strings.HasPrefix(method, "/grpc.health.") || strings.HasPrefix(method, "/grpc.reflection.") {
			return ctx, nil
		}
		return authenticate(ctx, incoming(ctx, "authorization"))
	}
	return Interceptor{
		Unary: func(ctx context.Context, req any, info *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
			ctx, err := enter(ctx, info.FullMethod)
			if err != nil {
				return nil, err
			}
			return next(ctx, req)
		},
		Stream: func(srv any, s grpc.ServerStream, info *grpc.StreamServerInfo, next grpc.StreamHandler) error {
			ctx, err := enter(s.Context(), info.FullMethod)
			if err != nil {
				return err
			}
			return next(srv, streamWithContext{s, ctx})
		},
	}
}
