package document

import (
	"context"

	"google.golang.org/protobuf/reflect/protoreflect"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Exchange is what a REST request and its answer have beside the messages of a service. A message cannot hold fields that it does not have, nor tell null from
// absent; and the JSON of stored objects is sent as it is.
type Exchange struct {
	// Tree is the JSON of the body, also when it was sent as YAML, for the service to change. Nil when there was none.
	Tree map[string]any
	// Mistakes are those in its text.
	Mistakes field.ErrorList
	// Text says that the answer is made YAML, or indented, which takes many times its length of memory.
	Text bool

	// Objects are the JSON of the objects in the answer, which its message does not have. The bytes are shared.
	Objects [][]byte
	// Field of the answer that they are for. Nil in V1.
	Field protoreflect.FieldDescriptor
	// Name and Version of the object when there is one.
	Name, Version string
}

// Event is a message of a watch by REST.
type Event struct {
	Type, ResumeToken string
	// JSON is all of the message. The bytes are shared.
	JSON []byte
}

type exchangeKey struct{}

// WithExchange returns a context for a call of the services of this process on behalf of a REST request.
func WithExchange(ctx context.Context, x *Exchange) context.Context {
	return context.WithValue(ctx, exchangeKey{}, x)
}

// ExchangeOf returns that of the REST request that a service serves; nil when the call came by gRPC.
func ExchangeOf(ctx context.Context) *Exchange {
	x, _ := ctx.Value(exchangeKey{}).(*Exchange)
	return x
}
