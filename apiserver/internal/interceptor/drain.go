package interceptor

import (
	"context"
	"errors"

	"google.golang.org/grpc"
)

// ErrDraining ends the streams of a server that is going away.
var ErrDraining = errors.New("the gateway is shutting down: connect again and resume with the last resume_token")

// Drain ends streams with ErrDraining when stop is done; unary calls finish by themselves.
func Drain(stop context.Context) Interceptor {
	return Interceptor{
		Stream: func(srv any, s grpc.ServerStream, _ *grpc.StreamServerInfo, next grpc.StreamHandler) error {
			ctx, cancel := context.WithCancelCause(s.Context())
			defer cancel(nil)
			defer context.AfterFunc(stop, func() { cancel(ErrDraining) })()
			err := next(srv, withContext(ctx, s))
			if err != nil && errors.Is(context.Cause(ctx), ErrDraining) {
				return ErrDraining
			}
			return err
		},
	}
}
