package interceptor

import (
	"context"

	"google.golang.org/grpc/status"
	"k8s.io/klog/v2"
)

// Translator makes a status of an error; masked says that the status hides what went wrong. It is rpcstatus.Table's Status.
type Translator func(err error, requestID string) (st *status.Status, masked bool)

// Errors translates the errors of everything further in. What the client is not shown is logged here.
func Errors(translate Translator) Interceptor {
	return func(ctx context.Context, c *Call, next func(context.Context) error) error {
		id := RequestIDFrom(ctx)
		err := next(ctx)
		st, masked := translate(err, id)
		if masked {
			klog.FromContext(ctx).Error(err, "Masked an internal error", "method", c.Method, "requestID", id)
		}
		return st.Err() // nil for nil
	}
}
