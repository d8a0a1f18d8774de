package flowcontrol

import (
	"bytes"
	"context"
	"net"
	"sync"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	_ "google.golang.org/grpc/encoding/gzip" // for streams that are compressed
	"google.golang.org/grpc/mem"

	raygatev2 "github.com/raygate/raygate/proto/gen/go/raygate/v2"
)

// One event is sent to many streams at once, many times: to some compressed, to some that are broken off while it is sent. gRPC frees what it has sent, so that
// bytes from a pool would be given to others.
func TestSharedEventsStayWhole(t *testing.T) {
	const streams, sends = 16, 20
	want := bytes.Repeat([]byte("event "), 20000)
	event := &mem.BufferSlice{mem.SliceBuffer(bytes.Clone(want))}
	server := grpc.NewServer(grpc.ForceServerCodecV2(rawCodec{}))
	server.RegisterService(&grpc.ServiceDesc{ServiceName: "test", Streams: []grpc.StreamDesc{{StreamName: "Watch", ServerStreams: true, Handler: func(_ any, s grpc.ServerStream) error {
		for range sends {
			if err := s.SendMsg(event); err != nil {
				return err
			}
		}
		return nil
	}}}}, nil)
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go func() { _ = server.Serve(l) }()
	defer server.Stop()
	conn, err := grpc.NewClient(l.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithDefaultCallOptions(grpc.ForceCodecV2(rawCodec{})))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	var done sync.WaitGroup
	for n := range streams {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		var options []grpc.CallOption
		if n%2 == 0 {
			options = append(options, grpc.UseCompressor("gzip"))
		}
		s, err := conn.NewStream(ctx, &grpc.StreamDesc{ServerStreams: true}, "/test/Watch", options...)
		if err != nil {
			t.Fatal(err)
		}
		if err := s.SendMsg(&raygatev2.WatchClustersRequest{}); err != nil {
			t.Fatal(err)
		}
		done.Go(func() {
			for got := range sends {
				if n%4 > 1 && got == sends/2 {
					cancel()
					return
				}
				m := &rawBody{}
				if err := s.RecvMsg(m); err != nil || !bytes.Equal(m.data, want) {
					t.Errorf("stream %d got %d bytes, error %v", n, len(m.data), err)
					return
				}
			}
		})
	}
	done.Wait()
	if !bytes.Equal(event.Materialize(), want) {
		t.Error("the event has changed")
	}
}
