package flowcontrol

import (
	"context"
	"net"
	"runtime"
	"sync"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
)

// send sends the answer of a unary call. It calls leave when gRPC has written the answer or the connection has ended: gRPC may queue the answer for
// long after the handler has returned. The answer is not compressed, since gRPC would hold a copy that is not counted.
func send(s grpc.ServerStream, answer any, leave func()) error {
	leave = sync.OnceFunc(leave)
	m, ok := answer.(proto.Message)
	if !ok {
		leave()
		return s.SendMsg(answer)
	}
	_ = grpc.SetSendCompressor(s.Context(), encoding.Identity)
	ready := []byte(m.ProtoReflect().GetUnknown()) // encoded already, and sent without a copy
	m.ProtoReflect().SetUnknown(nil)
	head, err := proto.Marshal(m)
	if err != nil {
		leave()
		return status.Error(codes.Internal, "the answer cannot be encoded")
	}
	stop := context.AfterFunc(ended(s.Context()), leave)
	written := func() {
		stop()
		leave()
	}
	parts := mem.BufferSlice{mem.SliceBuffer(head), mem.SliceBuffer(ready)}
	part, longest := 0, &head
	if len(ready) > len(head) {
		part, longest = 1, &ready
	}
	short := mem.IsBelowBufferPoolingThreshold(cap(*longest))
	if !short {
		parts[part] = mem.NewBuffer(longest, queue(written))
	}
	if err = s.SendMsg(parts); short || err != nil {
		written()
	}
	return err
}

// queue is the pool to which gRPC returns the longest part of an answer when it has written it.
type queue func()

// Get implements mem.BufferPool. Nothing is taken from this pool.
func (queue) Get(length int) *[]byte { return new(make([]byte, length)) }

// Put implements mem.BufferPool.
func (q queue) Put(*[]byte) { q() }

// Listener returns l with connections that report their end to flow control.
func (e *Controller) Listener(l net.Listener) net.Listener { return listener{l} }

type listener struct{ net.Listener }

// Accept implements net.Listener.
func (l listener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	ctx, end := context.WithCancel(context.Background())
	return conn{c, addr{c.RemoteAddr(), ctx}, end}, nil
}

type conn struct {
	net.Conn
	remote addr
	end    func()
}

// RemoteAddr implements net.Conn.
func (c conn) RemoteAddr() net.Addr { return c.remote }

// Close implements net.Conn.
func (c conn) Close() error {
	c.end()
	return c.Conn.Close()
}

// addr is the address of a client. Its context ends with the connection.
type addr struct {
	net.Addr
	ended context.Context
}

// ended returns a context that ends with the connection of a gRPC call, or with the call if the connection is not from Listener.
func ended(ctx context.Context) context.Context {
	if p, ok := peer.FromContext(ctx); ok {
		if a, ok := p.Addr.(addr); ok {
			return a.ended
		}
	}
	return ctx
}

// Write implements net.Conn. It yields first, which merges small writes: gRPC writes as soon as it has a thousand bytes, so one event for many
// watchers would cause a write for each of them.
func (c conn) Write(p []byte) (int, error) {
	runtime.Gosched()
	return c.Conn.Write(p)
}
