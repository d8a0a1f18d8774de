package interceptor

import (
	"context"
	"fmt"
	"slices"

	"github.com/fullstorydev/grpchan/inprocgrpc"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// Channel returns a connection to services of this process, which are registered with it, on which calls pass a list of interceptors,
// outermost first. Calls cost neither a socket nor the encoding of messages: both sides see the same values, so that neither may change what
// it was given or has handed over.
func Channel(chain []Interceptor) *inprocgrpc.Channel {
	return new(inprocgrpc.Channel).
		WithCloner(inprocgrpc.CopyFunc(share)).
		WithServerUnaryInterceptor(chainUnary(chain)).
		WithServerStreamInterceptor(chainStream(chain))
}

// share makes out a message with the fields of in, and not with copies of them.
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
	return nil
}

// chainUnary is what grpc.ChainUnaryInterceptor does, for a server that takes one interceptor only.
func chainUnary(chain []Interceptor) grpc.UnaryServerInterceptor {
	return func(ctx context.Context, req any, info *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (any, error) {
		for _, i := range slices.Backward(chain) {
			if step := i.Unary; step != nil {
				next := handler
				handler = func(ctx context.Context, req any) (any, error) { return step(ctx, req, info, next) }
			}
		}
		return handler(ctx, req)
	}
}

// chainStream is what grpc.ChainStreamInterceptor does.
func chainStream(chain []Interceptor) grpc.StreamServerInterceptor {
	return func(srv any, stream grpc.ServerStream, info *grpc.StreamServerInfo, handler grpc.StreamHandler) error {
		for _, i := range slices.Backward(chain) {
			if step := i.Stream; step != nil {
				next := handler
				handler = func(srv any, stream grpc.ServerStream) error { return step(srv, stream, info, next) }
			}
		}
		return handler(srv, stream)
	}
}
