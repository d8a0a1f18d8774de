package flowcontrol

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/raygate/raygate/apiserver/internal/rpcstatus"
)

// Errors that end streams.
var (
	// ErrStalled is for a client that does not read.
	ErrStalled = &rpcstatus.Error{Code: codes.ResourceExhausted, Reason: "SLOW_CLIENT", Message: "the client has taken nothing for too long: connect again and resume with the last resume_token"}
	// ErrStreamAge is for a stream that is as old as it may be.
	ErrStreamAge = &rpcstatus.Error{Code: codes.Unavailable, Reason: "STREAM_AGE", Message: "the stream is as old as it may be: connect again and resume with the last resume_token", RetryAfter: time.Second}
)

// requestIDKey is the metadata key of a request's id.
const requestIDKey = "x-request-id"

// ServerOptions are what a grpc.Server needs for services that are registered with Registrar.
func (e *Controller) ServerOptions() []grpc.ServerOption {
	return []grpc.ServerOption{grpc.UnknownServiceHandler(e.unknownMethod), grpc.ForceServerCodecV2(rawCodec{}), grpc.MaxRecvMsgSize(e.MaxBody)}
}

// unknownMethod ends a call of a method that does not exist. Callers without credentials do not learn that.
func (e *Controller) unknownMethod(_ any, s grpc.ServerStream) error {
	method, _ := grpc.MethodFromServerStream(s)
	_, visit, err := e.enter(s.Context(), method)
	if err != nil {
		return e.refuse(s.Context(), err)
	}
	visit.Leave()
	return status.Errorf(codes.Unimplemented, "unknown method %s", method)
}

// isOpen reports whether a method needs no credentials: health checks and reflection.
func isOpen(fullMethod string) bool {
	return strings.HasPrefix(fullMethod, "/grpc.health.") || strings.HasPrefix(fullMethod, "/grpc.reflection.")
}

// refuse translates an error that occurs before the interceptors are called, and counts it.
func (e *Controller) refuse(ctx context.Context, err error) error {
	id := ""
	if ids := metadata.ValueFromIncomingContext(ctx, requestIDKey); len(ids) > 0 {
		id = ids[0]
	}
	st, _ := e.Table.Status(err, id)
	e.Refused("grpc", st.Code())
	return st.Err()
}

// headerOf converts a gRPC call to an HTTP request for identifiers.
func headerOf(ctx context.Context, method string, md metadata.MD) *http.Request {
	r := &http.Request{URL: &url.URL{Path: method}, Header: make(http.Header, len(md))}
	for key, values := range md {
		r.Header[http.CanonicalHeaderKey(key)] = values
	}
	if p, ok := peer.FromContext(ctx); ok {
		r.RemoteAddr = p.Addr.String()
		if info, ok := p.AuthInfo.(credentials.TLSInfo); ok {
			r.TLS = &info.State
		}
	}
	return r
}

// Registrar returns a registrar whose services are called through flow control and then the interceptors. The server itself must have no interceptors.
func (e *Controller) Registrar(s grpc.ServiceRegistrar, unary grpc.UnaryServerInterceptor, stream grpc.StreamServerInterceptor) grpc.ServiceRegistrar {
	return registrar{e, s, unary, stream}
}

type registrar struct {
	flow   *Controller
	server grpc.ServiceRegistrar
	unary  grpc.UnaryServerInterceptor
	stream grpc.StreamServerInterceptor
}

// RegisterService implements grpc.ServiceRegistrar.
func (r registrar) RegisterService(desc *grpc.ServiceDesc, impl any) {
	wrapped := *desc
	wrapped.Methods, wrapped.Streams = nil, nil
	for _, m := range desc.Methods {
		wrapped.Streams = append(wrapped.Streams, grpc.StreamDesc{StreamName: m.MethodName, Handler: r.unaryHandler(m)})
	}
	for _, s := range desc.Streams {
		s.Handler = r.streamHandler("/"+desc.ServiceName+"/"+s.StreamName, s)
		wrapped.Streams = append(wrapped.Streams, s)
	}
	r.server.RegisterService(&wrapped, impl)
}

// enter is Enter for a gRPC call.
func (e *Controller) enter(ctx context.Context, method string) (context.Context, *Visit, error) {
	long := MethodOf(method).Long
	if isOpen(method) {
		from := ""
		if p, ok := peer.FromContext(ctx); ok {
			from = p.Addr.String()
		}
		return enter(ctx, e.open, host(from), long)
	}
	md, _ := metadata.FromIncomingContext(ctx)
	return e.Enter(ctx, headerOf(ctx, method, md), long)
}

// unaryHandler reads the request of a unary method once the call has a caller and room.
func (r registrar) unaryHandler(m grpc.MethodDesc) grpc.StreamHandler {
	return func(impl any, s grpc.ServerStream) error {
		method, _ := grpc.MethodFromServerStream(s)
		ctx, visit, err := r.flow.enter(s.Context(), method)
		if err != nil {
			return r.flow.refuse(s.Context(), err)
		}
		answer, err := r.call(ctx, m, impl, s, visit)
		if err != nil {
			visit.Leave()
			return err
		}
		return send(s, answer, visit.Leave)
	}
}

func (r registrar) call(ctx context.Context, m grpc.MethodDesc, impl any, s grpc.ServerStream, visit *Visit) (any, error) {
	body, err := r.flow.receive(s, visit)
	if err != nil {
		return nil, r.flow.refuse(ctx, err)
	}
	var badBody error // the interceptors do not see it
	answer, err := m.Handler(impl, ctx, func(into any) error { badBody = body.decode(ctx, into); return badBody }, r.unary)
	if badBody != nil {
		return nil, r.flow.refuse(ctx, badBody)
	}
	return answer, err
}

// receive reads the message of a unary call, with a time limit and with room for it. Its length is known only afterwards. Where there is no room for
// the longest message, a few calls at once may receive theirs within a shorter time, and count its length then.
func (e *Controller) receive(s grpc.ServerStream, v *Visit) (*rawBody, error) {
	if v.try(int64(e.MaxBody)) {
		body, err := receiveWithin(s, e.BodyTime)
		v.Shrink(int64(len(body.data)))
		return body, err
	}
	select {
	case e.cramped <- struct{}{}:
	case <-s.Context().Done():
		return nil, s.Context().Err()
	}
	body, err := receiveWithin(s, min(e.BodyTime, crampedTime))
	<-e.cramped
	if err != nil {
		return nil, err
	}
	return body, v.Body(s.Context(), int64(len(body.data)))
}

func receiveWithin(s grpc.ServerStream, patience time.Duration) (*rawBody, error) {
	body, got := &rawBody{}, make(chan error, 1)
	go func() { got <- s.RecvMsg(body) }()
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case err := <-got:
		return body, err
	case <-timer.C: // returning from the handler ends the stream, and with it the RecvMsg
		return &rawBody{}, errIncomplete
	}
}

// errIncomplete is for a client that does not send what it has begun.
var errIncomplete = &rpcstatus.Error{Code: codes.DeadlineExceeded, Reason: "BODY_INCOMPLETE", Message: "the request did not arrive in time"}

// streamHandler ends a stream whose client stops reading: a send waits for flow control, and only the end of the handler ends it. It also ends
// an upload whose client stops sending.
func (r registrar) streamHandler(method string, desc grpc.StreamDesc) grpc.StreamHandler {
	info := &grpc.StreamServerInfo{FullMethod: method, IsClientStream: desc.ClientStreams, IsServerStream: desc.ServerStreams}
	return func(impl any, s grpc.ServerStream) error {
		ctx, visit, err := r.flow.enter(s.Context(), method)
		if err != nil {
			return r.flow.refuse(s.Context(), err)
		}
		watched := &watchedStream{ServerStream: s, ctx: ctx, flow: r.flow, visit: visit, upload: desc.ClientStreams && !desc.ServerStreams, start: time.Now()} //nolint:forbidigo // durations only
		done := make(chan error, 1)
		go func() {
			defer visit.Leave()
			done <- r.stream(impl, watched, info, desc.Handler)
		}()
		ticker := time.NewTicker(r.flow.StallTime / 4)
		defer ticker.Stop()
		var old <-chan time.Time
		if age := r.flow.StreamAge; age > 0 {
			timer := time.NewTimer(age - age/10 + rand.N(age/5+1))
			defer timer.Stop()
			old = timer.C
		}
		for {
			select {
			case err := <-done:
				return err
			case <-old:
				return r.flow.refuse(ctx, ErrStreamAge)
			case <-ticker.C:
				if err := watched.stalled(); err != nil {
					return r.flow.refuse(ctx, err)
				}
			}
		}
	}
}

type watchedStream struct {
	grpc.ServerStream
	ctx    context.Context
	flow   *Controller
	visit  *Visit
	upload bool // a stream of the client only
	start  time.Time
	// waiting is when the send in progress began, or the receive of an upload, in nanoseconds since start and one; 0 when there is none.
	waiting atomic.Int64
}

// Context implements grpc.ServerStream.
func (w *watchedStream) Context() context.Context { return w.ctx }

// SendMsg implements grpc.ServerStream.
func (w *watchedStream) SendMsg(m any) error {
	defer w.await()()
	return w.ServerStream.SendMsg(m)
}

// await notes that the client is waited for, until the returned function is called.
func (w *watchedStream) await() (done func()) {
	w.waiting.Store(int64(time.Since(w.start)) + 1)
	return func() { w.waiting.Store(0) }
}

// RecvMsg implements grpc.ServerStream.
func (w *watchedStream) RecvMsg(into any) error {
	body := &rawBody{}
	if err := w.visit.Body(w.ctx, int64(w.flow.MaxBody)); err != nil {
		return w.flow.refuse(w.ctx, err)
	}
	defer w.visit.Shrink(0)
	if w.upload {
		defer w.await()()
	}
	if err := w.ServerStream.RecvMsg(body); err != nil {
		return err
	}
	if err := body.decode(w.ctx, into); err != nil {
		return w.flow.refuse(w.ctx, err)
	}
	return nil
}

// stalled returns the error that ends the stream if the client has been waited for too long.
func (w *watchedStream) stalled() error {
	since := w.waiting.Load()
	switch {
	case since == 0 || time.Since(w.start)-time.Duration(since) <= w.flow.StallTime:
		return nil
	case w.upload:
		return errIncomplete
	}
	return ErrStalled
}

// rawBody is a request as it came.
type rawBody struct{ data []byte }

// decode refuses malformed messages and unknown fields: to ignore a field would be to do something other than requested. Only V1 ignores them, as its
// clients expect.
func (b *rawBody) decode(ctx context.Context, into any) error {
	m, ok := into.(proto.Message)
	if !ok {
		return &rpcstatus.Error{Code: codes.Internal, Reason: "INTERNAL", Message: "not a message"}
	}
	data := b.data
	b.data = nil
	n := values(data, m.ProtoReflect().Descriptor(), maxValues+1)
	if n > maxValues {
		return malformed("the request has more than %d values", maxValues)
	}
	if err := Hold(ctx, int64(n)*valueSize); err != nil {
		return err
	}
	if err := proto.Unmarshal(data, m); err != nil {
		return malformed("the request is not a %s", m.ProtoReflect().Descriptor().FullName())
	}
	if m.ProtoReflect().Descriptor().ParentFile().Package() == "proto" { // KubeRay's V1 API, whose server ignores unknown fields
		return nil
	}
	if unknown := unknownFields(m.ProtoReflect(), "", nil); len(unknown) > 0 {
		return &rpcstatus.InvalidError{Reason: "MALFORMED_BODY", Violations: unknown}
	}
	return nil
}

func malformed(format string, args ...any) error {
	return &rpcstatus.InvalidError{Reason: "MALFORMED_BODY", Violations: []rpcstatus.Violation{{Description: fmt.Sprintf(format, args...), Reason: "MALFORMED_BODY"}}}
}

// rawCodec passes on undecoded requests, for decode, and encoded answers. gRPC's own protobuf codec handles all other messages.
type rawCodec struct{}

// Name implements encoding.CodecV2.
func (rawCodec) Name() string { return "proto" }

// Marshal implements encoding.CodecV2. A message that has only encoded bytes is sent without a copy, since all receivers share the bytes.
func (rawCodec) Marshal(v any) (mem.BufferSlice, error) {
	switch parts := v.(type) {
	case mem.BufferSlice:
		return parts, nil
	case *mem.BufferSlice: // see encoding.Cache
		return *parts, nil
	}
	if m, ok := v.(proto.Message); ok {
		if ready := m.ProtoReflect().GetUnknown(); len(ready) > 0 && proto.Size(m) == len(ready) {
			return mem.BufferSlice{mem.SliceBuffer(ready)}, nil
		}
	}
	return encoding.GetCodecV2("proto").Marshal(v)
}

// Unmarshal implements encoding.CodecV2.
func (rawCodec) Unmarshal(data mem.BufferSlice, v any) error {
	if raw, ok := v.(*rawBody); ok {
		raw.data = data.Materialize()
		return nil
	}
	return encoding.GetCodecV2("proto").Unmarshal(data, v)
}
