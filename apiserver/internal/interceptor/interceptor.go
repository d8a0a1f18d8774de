package interceptor

import (
	"context"
	"slices"
	"time"

	middleware "github.com/grpc-ecosystem/go-grpc-middleware/v2"
	"github.com/grpc-ecosystem/go-grpc-middleware/v2/interceptors/recovery"
	"google.golang.org/grpc"
	"google.golang.org/grpc/status"
	"k8s.io/klog/v2"
)

// Call is one call, unary or a stream.
type Call struct {
	// Method is its full name.
	Method string
	// Request is the request of a unary call, or the first message of a stream once it has come; nil before.
	Request any
	// stream is nil for a unary call.
	stream grpc.ServerStream
	info   *grpc.StreamServerInfo
}

// Interceptor is one step of the chain, for both kinds of calls. It calls next with the context for the inner steps.
type Interceptor func(ctx context.Context, c *Call, next func(context.Context) error) error

// Chain joins a list of steps into one, outermost first.
func Chain(list []Interceptor) Interceptor {
	return func(ctx context.Context, c *Call, next func(context.Context) error) error {
		for _, step := range slices.Backward(list) {
			inner := next
			next = func(ctx context.Context) error { return step(ctx, c, inner) }
		}
		return next(ctx)
	}
}

// Unary is a grpc.UnaryServerInterceptor.
func (i Interceptor) Unary(ctx context.Context, req any, info *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (resp any, err error) {
	err = i(ctx, &Call{Method: info.FullMethod, Request: req}, func(ctx context.Context) (err error) {
		resp, err = handler(ctx, req)
		return err
	})
	return resp, err
}

// Stream is a grpc.StreamServerInterceptor.
func (i Interceptor) Stream(srv any, s grpc.ServerStream, info *grpc.StreamServerInfo, handler grpc.StreamHandler) error {
	c := &Call{Method: info.FullMethod, info: info}
	c.stream = &notedStream{s, c}
	return i(s.Context(), c, func(ctx context.Context) error { return handler(srv, withContext(ctx, c.stream)) })
}

// notedStream notes the first message of a stream, for the log.
type notedStream struct {
	grpc.ServerStream
	call *Call
}

// RecvMsg implements grpc.ServerStream.
func (s *notedStream) RecvMsg(m any) error {
	err := s.ServerStream.RecvMsg(m)
	if err == nil && s.call.Request == nil {
		s.call.Request = m
	}
	return err
}

// Of makes a step of a pair of gRPC's, which do not see the responses of unary calls.
func Of(unary grpc.UnaryServerInterceptor, stream grpc.StreamServerInterceptor) Interceptor {
	return func(ctx context.Context, c *Call, next func(context.Context) error) error {
		if c.stream == nil {
			_, err := unary(ctx, c.Request, &grpc.UnaryServerInfo{FullMethod: c.Method}, func(ctx context.Context, _ any) (any, error) { return nil, next(ctx) })
			return err
		}
		return stream(nil, withContext(ctx, c.stream), c.info, func(_ any, s grpc.ServerStream) error {
			c.stream = s
			return next(s.Context())
		})
	}
}

// withContext returns a server stream that shows another context.
func withContext(ctx context.Context, s grpc.ServerStream) grpc.ServerStream {
	return &middleware.WrappedServerStream{ServerStream: s, WrappedContext: ctx}
}

// Recovery turns a panic into an error, which Errors logs and shows as INTERNAL. It is in the chain twice: outermost so that no panic ends
// the process, and innermost so that a panic of a service is counted and logged as a failed call.
func Recovery() Interceptor {
	return Of(recovery.UnaryServerInterceptor(), recovery.StreamServerInterceptor())
}

// Deadline limits unary calls, whose clients may set an earlier deadline. Streams and long unary calls live as long as their client.
func Deadline(d time.Duration, long func(method string) bool) Interceptor {
	return func(ctx context.Context, c *Call, next func(context.Context) error) error {
		if c.stream != nil || long(c.Method) {
			return next(ctx)
		}
		ctx, cancel := context.WithTimeout(ctx, d)
		defer cancel()
		return next(ctx)
	}
}

// Translator converts an error to a status; masked means that the status hides the error. It is rpcstatus.Table's Status.
type Translator func(err error, requestID string) (st *status.Status, masked bool)

// Errors translates the errors of the inner steps. It logs errors whose text is not returned to the client.
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
