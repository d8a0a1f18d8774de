package interceptor

import (
	"context"
	"io"

	"github.com/grpc-ecosystem/grpc-gateway/v2/runtime"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
)

// Channel calls services of this process, through interceptors, as a server of gRPC does. A call costs neither a socket nor the encoding of messages, and
// runs in the goroutine of its caller, with the caller's context.
type Channel struct {
	chain   Interceptor
	methods map[string]channelMethod // by full name
}

type channelMethod struct {
	service any
	unary   func(service any, ctx context.Context, decode func(any) error, interceptor grpc.UnaryServerInterceptor) (any, error)
	stream  grpc.StreamHandler
}

// NewChannel returns a Channel without services.
func NewChannel(chain Interceptor) *Channel {
	return &Channel{chain: chain, methods: map[string]channelMethod{}}
}

// RegisterService implements grpc.ServiceRegistrar. It must not be called beside calls.
func (c *Channel) RegisterService(desc *grpc.ServiceDesc, service any) {
	for _, m := range desc.Methods {
		c.methods["/"+desc.ServiceName+"/"+m.MethodName] = channelMethod{service: service, unary: m.Handler}
	}
	for _, m := range desc.Streams {
		c.methods["/"+desc.ServiceName+"/"+m.StreamName] = channelMethod{service: service, stream: m.Handler}
	}
}

// Call calls a unary method; decode fills in its request. It returns the answer, and the header that the service sends.
func (c *Channel) Call(ctx context.Context, method string, decode func(request any) error) (answer any, header metadata.MD, err error) {
	m := c.methods[method]
	if m.unary == nil {
		return nil, nil, status.Errorf(codes.Unimplemented, "there is no method %s", method)
	}
	sent := &runtime.ServerTransportStream{}
	ctx = grpc.NewContextWithServerTransportStream(ctx, sent)
	var malformed error
	var request any
	answer, err = m.unary(m.service, ctx, func(into any) error {
		request, malformed = into, decode(into)
		return malformed
	}, c.chain.Unary)
	if malformed != nil { // a call like others for the log and the metrics; the handler returns before the interceptors
		info := &grpc.UnaryServerInfo{Server: m.service, FullMethod: method}
		answer, err = c.chain.Unary(ctx, request, info, func(context.Context, any) (any, error) { return nil, malformed })
	}
	return answer, sent.Header(), err
}

// Stream calls a streaming method: decode fills in the request, and send gets the messages of the service.
func (c *Channel) Stream(ctx context.Context, method string, decode, send func(any) error) error {
	m := c.methods[method]
	if m.stream == nil {
		return status.Errorf(codes.Unimplemented, "there is no stream %s", method)
	}
	s := &channelStream{decode: decode, send: send}
	s.ctx = grpc.NewContextWithServerTransportStream(ctx, &s.ServerTransportStream)
	return c.chain.Stream(m.service, s, &grpc.StreamServerInfo{FullMethod: method, IsServerStream: true}, m.stream)
}

// channelStream is the server side of a stream.
type channelStream struct {
	runtime.ServerTransportStream
	ctx    context.Context
	decode func(any) error
	send   func(any) error
}

// SetTrailer implements grpc.ServerStream.
func (*channelStream) SetTrailer(metadata.MD) {}

// Context implements grpc.ServerStream.
func (s *channelStream) Context() context.Context { return s.ctx }

// SendMsg implements grpc.ServerStream.
func (s *channelStream) SendMsg(m any) error { return s.send(m) }

// RecvMsg implements grpc.ServerStream: there is one request.
func (s *channelStream) RecvMsg(m any) error {
	if s.decode == nil {
		return io.EOF
	}
	decode := s.decode
	s.decode = nil
	return decode(m)
}
