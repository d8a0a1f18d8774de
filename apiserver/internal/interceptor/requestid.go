package interceptor

import (
	"context"

	"github.com/google/uuid"
	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
)

// RequestIDKey is the metadata key, and as X-Request-Id the header, of the id of a request.
const RequestIDKey = "x-request-id"

const maxRequestID = 128

type requestIDKey struct{}

// RequestID gives every call an id: the client's when it sent a usable one. It is echoed, logged, and part of every error.
func RequestID() Interceptor {
	return Interceptor{
		Unary: func(ctx context.Context, req any, _ *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
			ctx, id := withRequestID(ctx)
			_ = grpc.SetHeader(ctx, metadata.Pairs(RequestIDKey, id))
			return next(ctx, req)
		},
		Stream: func(srv any, s grpc.ServerStream, _ *grpc.StreamServerInfo, next grpc.StreamHandler) error {
			ctx, id := withRequestID(s.Context())
			_ = s.SetHeader(metadata.Pairs(RequestIDKey, id))
			return next(srv, withContext(ctx, s))
		},
	}
}

// RequestIDFrom returns the id of the call, or nothing outside of one.
func RequestIDFrom(ctx context.Context) string {
	id, _ := ctx.Value(requestIDKey{}).(string)
	return id
}

func withRequestID(ctx context.Context) (context.Context, string) {
	id := incoming(ctx, RequestIDKey)
	if !UsableRequestID(id) {
		id = uuid.NewString()
	}
	return context.WithValue(ctx, requestIDKey{}, id), id
}

// UsableRequestID tells whether an id from a client may be logged and echoed.
func UsableRequestID(id string) bool {
	if id == "" || len(id) > maxRequestID {
		return false
	}
	for i := range len(id) {
		if id[i] <= ' ' || id[i] > '~' {
			return false
		}
	}
	return true
}
