package interceptor

import (
	"context"
	"time"
)

// Deadline bounds unary calls whose client sets no deadline. Streams, and unary calls that are long, live as long as their client.
func Deadline(d time.Duration, long func(method string) bool) Interceptor {
	return func(ctx context.Context, c *Call, next func(context.Context) error) error {
		if _, ok := ctx.Deadline(); ok || c.stream != nil || long(c.Method) {
			return next(ctx)
		}
		ctx, cancel := context.WithTimeout(ctx, d)
		defer cancel()
		return next(ctx)
	}
}
