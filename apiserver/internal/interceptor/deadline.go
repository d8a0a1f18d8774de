package interceptor

import (
	"context"
	"time"

	"google.golang.org/grpc"
)

// Deadline bounds unary calls whose client sets no deadline. Streams live as long as their client.
func Deadline(d time.Duration) Interceptor {
	return Interceptor{
		Unary: func(ctx context.Context, req any, _ *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
			if _, ok := ctx.Deadline(); ok {
				return next(ctx, req)
			}
			ctx, cancel := context.WithTimeout(ctx, d)
			defer cancel()
			return next(ctx, req)
		},
	}
}
