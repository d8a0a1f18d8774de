package interceptor

import (
	"context"
	"fmt"

	"github.com/fullstorydev/grpchan/inprocgrpc"
	"go.opentelemetry.io/otel/trace"
	"google.golang.org/grpc"
	"google.golang.org/grpc/peer"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/raygate/raygate/apiserver/internal/authn"
)

// Channel returns a connection to services of this process, which are registered with it, on which calls pass interceptors.
// Calls cost neither a socket nor the encoding of messages: both sides see the same values, so that neither may change what
// it was given or has handed over.
func Channel(chain Interceptor) *inprocgrpc.Channel {
	return new(inprocgrpc.Channel).
		WithCloner(inprocgrpc.CopyFunc(share)).
		WithServerUnaryInterceptor(func(ctx context.Context, req any, info *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
			return chain.Unary(inherit(ctx), req, info, next)
		}).
		WithServerStreamInterceptor(func(srv any, s grpc.ServerStream, info *grpc.StreamServerInfo, next grpc.StreamHandler) error {
			return chain.Stream(srv, withContext(inherit(s.Context()), s), info, next)
		})
}

// inherit adds to the context of a server what its client, which here is the REST edge, has found out: whose call it is, from where, and in which trace.
func inherit(ctx context.Context) context.Context {
	from := inprocgrpc.ClientContext(ctx)
	if from == nil {
		return ctx
	}
	if c := authn.CallerFrom(from); c != nil {
		ctx = authn.WithCaller(ctx, c)
	}
	if p, ok := peer.FromContext(from); ok {
		ctx = peer.NewContext(ctx, p)
	}
	return trace.ContextWithSpan(ctx, trace.SpanFromContext(from))
}

// share makes out a message with the fields of in, and not with copies of them, and with what a message may carry besides.
func share(out, in any) error {
	to, ok := out.(proto.Message)
	from, okFrom := in.(proto.Message)
	if !ok || !okFrom || to.ProtoReflect().Descriptor() != from.ProtoReflect().Descriptor() {
		return fmt.Errorf("a %T cannot be passed as a %T", in, out)
	}
	proto.Reset(to)
	from.ProtoReflect().Range(func(f protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		to.ProtoReflect().Set(f, v)
		return true
	})
	to.ProtoReflect().SetUnknown(from.ProtoReflect().GetUnknown())
	return nil
}
