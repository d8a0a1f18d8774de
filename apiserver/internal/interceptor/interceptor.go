package interceptor

import (
	"context"
	"errors"
	"slices"
	"time"

	middleware "github.com/grpc-ecosystem/go-grpc-middleware/v2"
	"github.com/grpc-ecosystem/go-grpc-middleware/v2/interceptors/recovery"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"k8s.io/klog/v2"

	"github.com/raygate/raygate/apiserver/internal/rpcstatus"
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

// Errors translates the errors of the inner steps. It logs errors whose text is not returned to the client.
func Errors(table *rpcstatus.Table) Interceptor {
	return func(ctx context.Context, c *Call, next func(context.Context) error) error {
		id := RequestIDFrom(ctx)
		err := next(ctx)
		st, masked := table.Status(err, id)
		if masked {
			klog.FromContext(ctx).Error(err, "Masked an internal error", "method", c.Method, "requestID", id)
		}
		return st.Err() // nil for nil
	}
}

// ErrDraining ends the calls that stay open of a server that is going away.
var ErrDraining = &rpcstatus.Error{
	Code: codes.Unavailable, Reason: "DRAINING", Message: "the gateway is shutting down: connect again and resume with the last resume_token", RetryAfter: time.Second,
}

// Drain ends streams, and unary calls that are long, with ErrDraining when stop is done; short calls finish by themselves.
func Drain(stop context.Context, long func(method string) bool) Interceptor {
	return func(ctx context.Context, c *Call, next func(context.Context) error) error {
		if c.stream == nil && !long(c.Method) {
			return next(ctx)
		}
		ctx, cancel := context.WithCancelCause(ctx)
		defer cancel(nil)
		defer context.AfterFunc(stop, func() { cancel(ErrDraining) })()
		err := next(ctx)
		if err != nil && errors.Is(context.Cause(ctx), ErrDraining) {
			return ErrDraining
		}
		return err
	}
}
