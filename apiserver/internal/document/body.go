package document

import (
	"context"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Body is the body of a REST request that holds an object. The service reads it and not the message that comes with it, which cannot hold fields
// that it does not have, nor tell null from absent.
type Body struct {
	// Tree is the JSON of the body, also when it was sent as YAML, for the service to change. Nil when there was none.
	Tree map[string]any
	// Mistakes are those in its text.
	Mistakes field.ErrorList

	// InParts says that the answer may be left in parts: a page of a thousand objects is never put together in memory.
	InParts bool
	// Tail is then what follows the JSON of the message, in place of its closing brace. Nil when the message is all.
	Tail [][]byte
	// Object is then the JSON of the object that is the answer, of which the message has what headers are made of. Nil when the message has all of it.
	Object []byte
}

type bodyKey struct{}

// WithBody returns a context for a call of the services of this process on behalf of a REST request.
func WithBody(ctx context.Context, b *Body) context.Context {
	return context.WithValue(ctx, bodyKey{}, b)
}

// BodyOf returns the body of the REST request that a service serves; nil when the call came by gRPC.
func BodyOf(ctx context.Context) *Body {
	b, _ := ctx.Value(bodyKey{}).(*Body)
	return b
}
