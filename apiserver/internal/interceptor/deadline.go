package interceptor

import (
	"context"
	"time"

	"google.golang.org/grpc"
)

// Deadline bounds unary calls whose client sets no deadline. Streams, and unary calls that are long, live as long as their client.
func Deadline(d time.Duration, long func(method string) bool) Interceptor {
	return Interceptor{
		Unary: func(ctx context.Context, req any, info *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
			if _, ok := ctx.Deadline(); ok || long(info.FullMethod) {
				return next(ctx, req)
			}
			ctx, cancel := context.WithTimeout(ctx, d)
			defer cancel()
			return next(ctx, req)
		},
	}
}
