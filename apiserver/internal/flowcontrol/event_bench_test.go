package flowcontrol

import (
	"context"
	"net"
	"sync"
	"sync/atomic"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/mem"

	raygatev2 "github.com/raygate/raygate/proto/gen/go/raygate/v2"
)

// counting counts the writes of the connections that it accepts.
type counting struct {
	net.Listener
	writes *atomic.Int64
}

type countingConn struct {
	net.Conn
	writes *atomic.Int64
}

func (l counting) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	return countingConn{c, l.writes}, err
}

func (c countingConn) Write(p []byte) (int, error) {
	c.writes.Add(1)
	return c.Conn.Write(p)
}

// BenchmarkEventToWatchers sends an event of a kilobyte to a hundred streams of one connection. The number of writes says whether they go out together.
func BenchmarkEventToWatchers(b *testing.B) {
	const watchers, method = 100, "/bench/Watch"
	var mu sync.Mutex
	next := make(chan struct{})
	wait := func() <-chan struct{} { mu.Lock(); defer mu.Unlock(); return next }
	emit := func() { mu.Lock(); defer mu.Unlock(); close(next); next = make(chan struct{}) }
	event := &mem.BufferSlice{mem.SliceBuffer(make([]byte, 1024))}
	server := grpc.NewServer(grpc.ForceServerCodecV2(rawCodec{}))
	server.RegisterService(&grpc.ServiceDesc{ServiceName: "bench", Streams: []grpc.StreamDesc{{StreamName: "Watch", ServerStreams: true, Handler: func(_ any, s grpc.ServerStream) error {
		for {
			woken := wait()
			if err := s.SendMsg(event); err != nil {
				return err
			}
			select {
			case <-woken:
			case <-s.Context().Done():
				return nil
			}
		}
	}}}}, nil)
	l, err := (&net.ListenConfig{}).Listen(b.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	var writes atomic.Int64
	go func() { _ = server.Serve(New(Options{}).Listener(counting{l, &writes})) }()
	defer server.Stop()
	conn, err := grpc.NewClient(l.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithDefaultCallOptions(grpc.ForceCodecV2(rawCodec{})))
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	ctx, cancel := context.WithCancel(b.Context())
	defer cancel()
	got := make(chan error, watchers)
	for range watchers {
		s, err := conn.NewStream(ctx, &grpc.StreamDesc{ServerStreams: true}, method)
		if err != nil {
			b.Fatal(err)
		}
		if err := s.SendMsg(&raygatev2.WatchClustersRequest{}); err != nil {
			b.Fatal(err)
		}
		go func() {
			for ctx.Err() == nil {
				got <- s.RecvMsg(&rawBody{})
			}
		}()
	}
	all := func() {
		for range watchers {
			if err := <-got; err != nil {
				b.Fatal(err)
			}
		}
	}
	all()
	begin := writes.Load()
	for b.Loop() {
		emit()
		all()
	}
	b.ReportMetric(float64(writes.Load()-begin)/float64(b.N), "writes/op")
}
