package interceptor

import (
	"context"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/durationpb"
)

// Deadline bounds unary calls whose client sets no deadline. Streams live as long as their client.
func Deadline(d time.Duration) Interceptor {
	return Interceptor{
		Unary: func(ctx context.Context, req any, _ *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
			if _, ok := ctx.Deadline(); ok {
				return next(ctx, req)
			}
			limit := d
			if w, ok := req.(interface{ GetTimeout() *durationpb.Duration }); ok {
				limit += w.GetTimeout().AsDuration() // what it is asked to wait is no reason to end it
			}
			ctx, cancel := context.WithTimeout(ctx, limit)
			defer cancel()
			return next(ctx, req)
		},
	}
}
