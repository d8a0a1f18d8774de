package interceptor

import (
	"context"
	"strings"

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
	return func(ctx context.Context, _ *Call, next func(context.Context) error) error {
		id := ""
		if ids := metadata.ValueFromIncomingContext(ctx, RequestIDKey); len(ids) > 0 {
			id = ids[0]
		}
		if !UsableRequestID(id) {
			id = uuid.NewString()
		}
		_ = grpc.SetHeader(ctx, metadata.Pairs(RequestIDKey, id))
		return next(context.WithValue(ctx, requestIDKey{}, id))
	}
}

// RequestIDFrom returns the id of the call, or nothing outside of one.
func RequestIDFrom(ctx context.Context) string {
	id, _ := ctx.Value(requestIDKey{}).(string)
	return id
}

// UsableRequestID reports whether an id from a client may be logged and echoed.
func UsableRequestID(id string) bool {
	return id != "" && len(id) <= maxRequestID && !strings.ContainsFunc(id, func(c rune) bool { return c <= ' ' || c > '~' })
}
