package edge

import (
	"context"
	"net"
	"runtime"
	"sync"
	"sync/atomic"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
)

// send sends the answer of a unary call, and calls leave when gRPC has written all of it or the connection has ended. Until then gRPC holds the answer in
// a queue, maybe long after the handler has returned. The answer is not compressed: gRPC would hold a copy that nobody counts.
func send(s grpc.ServerStream, answer any, leave func()) error {
	m, ok := answer.(proto.Message)
	if !ok {
		leave()
		return s.SendMsg(answer)
	}
	_ = grpc.SetSendCompressor(s.Context(), encoding.Identity)
	ready := m.ProtoReflect().GetUnknown() // encoded already, and sent without a copy
	m.ProtoReflect().SetUnknown(nil)
	head := mem.DefaultBufferPool().Get(proto.Size(m))
	encoded, err := proto.MarshalOptions{UseCachedSize: true}.MarshalAppend((*head)[:0], m)
	if err != nil {
		leave()
		return status.Error(codes.Internal, "the answer cannot be encoded")
	}
	*head = encoded
	f := &flight{leave: sync.OnceFunc(leave)}
	f.parts.Store(1) // of this function
	parts := f.add(f.add(nil, head, reused{f}), (*[]byte)(&ready), f)
	f.stop = context.AfterFunc(ended(s.Context()), f.leave)
	err = s.SendMsg(parts)
	if err != nil {
		f.parts.Store(1)
	}
	f.Put(nil)
	return err
}

// flight is an answer on its way: the pool that its parts go back to once they have been written.
type flight struct {
	parts atomic.Int32
	leave func() // called once, however often it is called
	stop  func() bool
}

// add adds a part. Short ones do not go back to a pool, and are not waited for.
func (f *flight) add(parts mem.BufferSlice, data *[]byte, pool mem.BufferPool) mem.BufferSlice {
	if len(*data) == 0 {
		return parts
	}
	if !mem.IsBelowBufferPoolingThreshold(cap(*data)) {
		f.parts.Add(1)
	}
	return append(parts, mem.NewBuffer(data, pool))
}

// Get implements mem.BufferPool. Nobody takes from it.
func (*flight) Get(length int) *[]byte { return new(make([]byte, length)) }

// Put implements mem.BufferPool.
func (f *flight) Put(*[]byte) {
	if f.parts.Add(-1) == 0 {
		f.stop()
		f.leave()
	}
}

// reused is a flight whose part comes from gRPC's pool.
type reused struct{ *flight }

// Put implements mem.BufferPool.
func (r reused) Put(data *[]byte) {
	mem.DefaultBufferPool().Put(data)
	r.flight.Put(nil)
}

// Listener returns l with connections of which the edge knows when they end.
func (e *Edge) Listener(l net.Listener) net.Listener { return listener{l} }

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

// addr is the address of a client, by which its calls find out that the connection has ended.
type addr struct {
	net.Addr
	ended context.Context
}

// ended is done when the connection of a gRPC call has ended; of a connection that is not the edge's, when the call has ended.
func ended(ctx context.Context) context.Context {
	if p, ok := peer.FromContext(ctx); ok {
		if a, ok := p.Addr.(addr); ok {
			return a.ended
		}
	}
	return ctx
}

// Write implements net.Conn. It lets others go first: gRPC writes as soon as it has a thousand bytes, and so once for each of many watchers that an event
// has just woken. What they send meanwhile goes out together with the next write.
func (c conn) Write(p []byte) (int, error) {
	runtime.Gosched()
	return c.Conn.Write(p)
}
