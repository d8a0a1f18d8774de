package encoding

import (
	"context"

	"google.golang.org/protobuf/reflect/protoreflect"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Exchange has the JSON of a REST request and its answer beside the messages of a service. A message cannot represent unknown fields, or
// the difference between null and absent. The JSON of stored objects is sent unchanged.
type Exchange struct {
	// Tree is the JSON of the body, also when it was sent as YAML, for the service to change. Nil when there was none.
	Tree map[string]any
	// Mistakes are those in the text of the body.
	Mistakes field.ErrorList
	// Text means that the answer is converted to YAML or indented, which takes many times its length of memory.
	Text bool

	// Objects are the JSON of the objects in the answer, which are not in its message. The bytes are shared.
	Objects [][]byte
	// Field of the answer for the objects. Nil in V1.
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

// ExchangeOf returns the Exchange of a call by REST; nil for a call by gRPC.
func ExchangeOf(ctx context.Context) *Exchange {
	x, _ := ctx.Value(exchangeKey{}).(*Exchange)
	return x
}
