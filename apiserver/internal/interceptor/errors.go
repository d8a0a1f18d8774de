package interceptor

import (
	"context"

	"google.golang.org/grpc"
	"google.golang.org/grpc/status"
	"k8s.io/klog/v2"
)

// Translator makes a status of an error; masked says that the status hides what went wrong. It is rpcstatus.Table's Status.
type Translator func(err error, requestID string) (st *status.Status, masked bool)

// Errors translates the errors of everything further in. What the client is not shown is logged here.
func Errors(translate Translator) Interceptor {
	convert := func(ctx context.Context, method string, err error) error {
		if err == nil {
			return nil
		}
		id := RequestIDFrom(ctx)
		st, masked := translate(err, id)
		if masked {
			klog.FromContext(ctx).Error(err, "Masked an internal error", "method", method, "requestID", id)
		}
		return st.Err()
	}
	return Interceptor{
		Unary: func(ctx context.Context, req any, info *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
			resp, err := next(ctx, req)
			return resp, convert(ctx, info.FullMethod, err)
		},
		Stream: func(srv any, s grpc.ServerStream, info *grpc.StreamServerInfo, next grpc.StreamHandler) error {
			return convert(s.Context(), info.FullMethod, next(srv, s))
		},
	}
}
