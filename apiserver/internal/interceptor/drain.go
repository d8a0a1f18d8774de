package interceptor

import (
	"context"
	"errors"

	"google.golang.org/grpc"
)

// ErrDraining ends the calls that stay open of a server that is going away.
var ErrDraining = errors.New("the gateway is shutting down: connect again and resume with the last resume_token")

// Drain ends streams, and unary calls that are long, with ErrDraining when stop is done; short calls finish by themselves.
func Drain(stop context.Context, long func(method string) bool) Interceptor {
	during := func(ctx context.Context, call func(context.Context) error) error {
		ctx, cancel := context.WithCancelCause(ctx)
		defer cancel(nil)
		defer context.AfterFunc(stop, func() { cancel(ErrDraining) })()
		err := call(ctx)
		if err != nil && errors.Is(context.Cause(ctx), ErrDraining) {
			return ErrDraining
		}
		return err
	}
	return Interceptor{
		Unary: func(ctx context.Context, req any, info *grpc.UnaryServerInfo, next grpc.UnaryHandler) (resp any, err error) {
			if !long(info.FullMethod) {
				return next(ctx, req)
			}
			err = during(ctx, func(ctx context.Context) error { resp, err = next(ctx, req); return err })
			return resp, err
		},
		Stream: func(srv any, s grpc.ServerStream, _ *grpc.StreamServerInfo, next grpc.StreamHandler) error {
			return during(s.Context(), func(ctx context.Context) error { return next(srv, withContext(ctx, s)) })
		},
	}
}
