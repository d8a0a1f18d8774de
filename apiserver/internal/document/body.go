package document

import (
	"context"

	"github.com/fullstorydev/grpchan/inprocgrpc"
)

// Body is the body of a REST request. It reaches the service beside the message decoded from it, which cannot hold fields that the message does
// not have, nor tell null from absent.
type Body struct {
	// JSON of the body, also when it was sent as YAML. Empty when there was none.
	JSON []byte
}

type bodyKey struct{}

// WithBody returns a context for a call of the services of this process on behalf of a REST request.
func WithBody(ctx context.Context, b *Body) context.Context {
	return context.WithValue(ctx, bodyKey{}, b)
}

// BodyOf returns the body of the REST request that a service serves; nil when the call came by gRPC.
func BodyOf(ctx context.Context) *Body {
	client := inprocgrpc.ClientContext(ctx)
	if client == nil {
		return nil
	}
	b, _ := client.Value(bodyKey{}).(*Body)
	return b
}
