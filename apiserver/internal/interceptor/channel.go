package interceptor

import (
	"context"
	"fmt"
	"sync"

	"github.com/fullstorydev/grpchan/inprocgrpc"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// Channel is a connection to services of this process, on which calls pass interceptors. Calls cost neither a socket nor the encoding of messages: both
// sides see the same values, so that neither may change what it was given or has handed over.
//
// Services see the values of the caller's context, the incoming metadata of gRPC included; what it has of outgoing metadata is nobody's.
//
// A unary call runs in the goroutine of its caller, with the caller's context: it waits for the service even if that context ends, as services watch it too.
type Channel struct {
	chain   Interceptor
	streams *inprocgrpc.Channel
	unary   map[string]unaryMethod // by full name
}

type unaryMethod struct {
	service any
	handler func(service any, ctx context.Context, decode func(any) error, interceptor grpc.UnaryServerInterceptor) (any, error)
}

var (
	_ grpc.ClientConnInterface = (*Channel)(nil)
	_ grpc.ServiceRegistrar    = (*Channel)(nil)
)

// NewChannel returns a Channel without services.
func NewChannel(chain Interceptor) *Channel {
	streams := new(inprocgrpc.Channel).WithCloner(inprocgrpc.CopyFunc(share)).
		WithServerStreamInterceptor(func(srv any, s grpc.ServerStream, info *grpc.StreamServerInfo, next grpc.StreamHandler) error {
			return chain.Stream(srv, withContext(inherited{s.Context()}, s), info, next)
		})
	return &Channel{chain: chain, streams: streams, unary: map[string]unaryMethod{}}
}

// RegisterService implements grpc.ServiceRegistrar. It must not be called beside calls.
func (c *Channel) RegisterService(desc *grpc.ServiceDesc, service any) {
	c.streams.RegisterService(desc, service)
	for _, m := range desc.Methods {
		c.unary["/"+desc.ServiceName+"/"+m.MethodName] = unaryMethod{service, m.Handler}
	}
}

// Call calls a unary method, whose request decode fills in, as a server of gRPC does. It returns the service's own answer, and the header that it sends
// besides.
func (c *Channel) Call(ctx context.Context, method string, decode func(request any) error) (answer any, header metadata.MD, err error) {
	answer, sent, err := c.call(ctx, method, decode)
	return answer, sent.header, err
}

func (c *Channel) call(ctx context.Context, method string, decode func(any) error) (any, *sentMetadata, error) {
	sent := &sentMetadata{method: method}
	m, ok := c.unary[method]
	if !ok {
		return nil, sent, status.Errorf(codes.Unimplemented, "there is no method %s", method)
	}
	ctx = grpc.NewContextWithServerTransportStream(ctx, sent)
	var malformed error
	var request any
	answer, err := m.handler(m.service, ctx, func(into any) error {
		request, malformed = into, decode(into)
		return malformed
	}, c.chain.Unary)
	if malformed != nil { // a call like others for the log and the metrics; the handler returns before the interceptors
		answer, err = c.chain.Unary(ctx, request, &grpc.UnaryServerInfo{Server: m.service, FullMethod: method}, func(context.Context, any) (any, error) { return nil, malformed })
	}
	return answer, sent, err
}

// Invoke implements grpc.ClientConnInterface. Of the options it knows grpc.Header and grpc.Trailer.
func (c *Channel) Invoke(ctx context.Context, method string, in, out any, options ...grpc.CallOption) error {
	answer, sent, err := c.call(ctx, method, func(request any) error { return share(request, in) })
	for _, o := range options {
		switch o := o.(type) {
		case grpc.HeaderCallOption:
			*o.HeaderAddr = sent.header
		case grpc.TrailerCallOption:
			*o.TrailerAddr = sent.trailer
		}
	}
	if err != nil {
		return err
	}
	return share(out, answer)
}

// NewStream implements grpc.ClientConnInterface.
func (c *Channel) NewStream(ctx context.Context, desc *grpc.StreamDesc, method string, options ...grpc.CallOption) (grpc.ClientStream, error) {
	return c.streams.NewStream(ctx, desc, method, options...)
}

// sentMetadata keeps what a service sends besides its answer.
type sentMetadata struct {
	method          string
	mu              sync.Mutex
	header, trailer metadata.MD
}

var _ grpc.ServerTransportStream = (*sentMetadata)(nil)

// Method implements grpc.ServerTransportStream.
func (s *sentMetadata) Method() string { return s.method }

// SetHeader implements grpc.ServerTransportStream.
func (s *sentMetadata) SetHeader(md metadata.MD) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.header = join(s.header, md)
	return nil
}

// SendHeader implements grpc.ServerTransportStream.
func (s *sentMetadata) SendHeader(md metadata.MD) error { return s.SetHeader(md) }

// SetTrailer implements grpc.ServerTransportStream.
func (s *sentMetadata) SetTrailer(md metadata.MD) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.trailer = join(s.trailer, md)
	return nil
}

// join is metadata.Join without a copy of the first, which most calls have only one of.
func join(sent, md metadata.MD) metadata.MD {
	if sent == nil {
		return md
	}
	return metadata.Join(sent, md)
}

// inherited is the context of a stream's server with the values of its client, which here is the REST edge: whose call it is, from where, and in which trace.
type inherited struct{ context.Context }

// Value implements context.Context.
func (c inherited) Value(key any) any {
	if client := inprocgrpc.ClientContext(c.Context); client != nil {
		if v := client.Value(key); v != nil {
			return v
		}
	}
	return c.Context.Value(key)
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
