package interceptor

import (
	"context"

	middleware "github.com/grpc-ecosystem/go-grpc-middleware/v2"
	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
)

// withContext returns a server stream that shows another context.
func withContext(ctx context.Context, s grpc.ServerStream) grpc.ServerStream {
	return &middleware.WrappedServerStream{ServerStream: s, WrappedContext: ctx}
}

// incoming returns the first value of a metadata key, or nothing.
func incoming(ctx context.Context, key string) string {
	if values := metadata.ValueFromIncomingContext(ctx, key); len(values) > 0 {
		return values[0]
	}
	return ""
}
