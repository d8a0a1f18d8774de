package edge

import (
	"context"
	"net"
	"runtime"
	"slices"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
)

// answerPart is how much of an answer a client has Options.StallTime for. A shorter one is left to the connection: clients take as much at once.
const answerPart = 64 << 10

// deliver sends the answer of a unary call. A long one is in flight, with its bytes, until the client has taken it: to gRPC it is sent once it stands in
// a queue, where it would stay for as long as the connection. A client that takes nothing for too long loses its connection, since nothing less empties
// the queue. Of an answer that is compressed it is not known what is taken.
func (e *Edge) deliver(ctx context.Context, s grpc.ServerStream, v *Visit, answer any) error {
	m, ok := answer.(proto.Message)
	if !ok || proto.Size(m) <= answerPart {
		return s.SendMsg(answer)
	}
	if err := v.Body(ctx, int64(proto.Size(m))); err != nil {
		return e.refuse(ctx, err)
	}
	data, err := proto.Marshal(m)
	if err != nil {
		return status.Error(codes.Internal, "the answer cannot be encoded")
	}
	var parts mem.BufferSlice
	whole := len(data) / answerPart // what is behind is a shorter answer again
	taken := make(taking, whole+1)
	for part := range slices.Chunk(data, answerPart) {
		parts = append(parts, mem.NewBuffer(&part, taken))
	}
	if err := s.SendMsg(parts); err != nil {
		return err
	}
	for range whole {
		select {
		case <-taken:
		case <-s.Context().Done():
			return s.Context().Err()
		case <-time.After(e.StallTime):
			e.closeConn(ctx)
			return e.refuse(ctx, ErrNotTaken)
		}
	}
	return nil
}

// taking is the pool that buffers of an answer go to once they have been written, and tells of each.
type taking chan struct{}

// Get implements mem.BufferPool. Nobody takes from it.
func (taking) Get(length int) *[]byte { return new(make([]byte, length)) }

// Put implements mem.BufferPool.
func (t taking) Put(*[]byte) {
	select {
	case t <- struct{}{}:
	default: // all have been told of
	}
}

// Listener returns l with connections that the edge can close.
func (e *Edge) Listener(l net.Listener) net.Listener { return listener{l, &e.conns} }

func (e *Edge) closeConn(ctx context.Context) {
	if p, ok := peer.FromContext(ctx); ok {
		if c, ok := e.conns.Load(p.Addr.String()); ok {
			_ = c.(net.Conn).Close()
		}
	}
}

type listener struct {
	net.Listener
	conns *sync.Map // net.Conn by remote address
}

// Accept implements net.Listener.
func (l listener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	own := conn{c, l.conns}
	l.conns.Store(c.RemoteAddr().String(), own)
	return own, nil
}

type conn struct {
	net.Conn
	conns *sync.Map
}

// Write implements net.Conn. It lets others go first: gRPC writes as soon as it has a thousand bytes, and so once for each of many watchers that an event
// has just woken. What they send meanwhile goes out together with the next write.
func (c conn) Write(p []byte) (int, error) {
	runtime.Gosched()
	return c.Conn.Write(p)
}

// Close implements net.Conn.
func (c conn) Close() error {
	c.conns.CompareAndDelete(c.RemoteAddr().String(), c)
	return c.Conn.Close()
}
