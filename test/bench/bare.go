package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/encoding"
	_ "google.golang.org/grpc/encoding/proto" // the codec that grpcCodec is
	"google.golang.org/grpc/mem"

	raygatev2 "github.com/raygate/raygate/proto/gen/go/raygate/v2"
)

// bareCommand as the first argument makes the program be the bare server.
const bareCommand = "bare-server"

// bareEmit makes the bare server send the event to all streams.
const bareEmit = "/raygate.bench.Bare/Emit"

// grpcCodec is gRPC's own for protobuf.
type grpcCodec struct{}

// Name implements encoding.CodecV2.
func (grpcCodec) Name() string { return "proto" }

// Marshal implements encoding.CodecV2.
func (grpcCodec) Marshal(v any) (mem.BufferSlice, error) {
	return encoding.GetCodecV2("proto").Marshal(v)
}

// Unmarshal implements encoding.CodecV2.
func (grpcCodec) Unmarshal(data mem.BufferSlice, v any) error {
	return encoding.GetCodecV2("proto").Unmarshal(data, v)
}

// ready sends bytes as they are.
type ready struct{ grpcCodec }

// Marshal implements encoding.CodecV2.
func (r ready) Marshal(v any) (mem.BufferSlice, error) {
	if data, ok := v.([]byte); ok {
		return mem.BufferSlice{mem.SliceBuffer(data)}, nil
	}
	return r.grpcCodec.Marshal(v)
}

type bareServer struct {
	process *process
	address string
}

// startBare starts this program as the bare server, with the certificate of the gateway.
func (s *session) startBare(ctx context.Context, ends *ends, event []byte) (*bareServer, error) {
	file := filepath.Join(s.dir, "event")
	if err := os.WriteFile(file, event, 0o600); err != nil {
		return nil, err
	}
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("finding this program: %w", err)
	}
	ports, err := freePorts(1)
	if err != nil {
		return nil, err
	}
	p, err := startProcess(s.dir, bareCommand, self, bareCommand, ports[0], ends.cert, file)
	if err != nil {
		return nil, err
	}
	s.processes = append(s.processes, p)
	return &bareServer{p, ports[0]}, p.await(ctx, "the bare server", 30*time.Second, func(ctx context.Context) error {
		conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", ports[0])
		if err != nil {
			return err
		}
		return conn.Close()
	})
}

// serveBare is a minimal gRPC server: each watcher gets one short message, and the event whenever Emit is called. It ends with its parent,
// when its standard input is closed.
func serveBare(args []string) error {
	if len(args) != 3 {
		return errors.New("usage: bare-server ADDRESS CERTIFICATES EVENT")
	}
	event, err := os.ReadFile(args[2])
	if err != nil {
		return err
	}
	cert, err := tls.LoadX509KeyPair(filepath.Join(args[1], "tls.crt"), filepath.Join(args[1], "tls.key"))
	if err != nil {
		return err
	}
	l, err := net.Listen("tcp", args[0])
	if err != nil {
		return err
	}
	go func() {
		_, _ = os.Stdin.Read(make([]byte, 1))
		os.Exit(0)
	}()
	b := &bare{next: make(chan struct{})}
	server := grpc.NewServer(grpc.Creds(credentials.NewTLS(&tls.Config{Certificates: []tls.Certificate{cert}})), grpc.ForceServerCodecV2(ready{}))
	server.RegisterService(&grpc.ServiceDesc{ServiceName: "raygate.v2.ClusterService", Streams: []grpc.StreamDesc{{
		StreamName: "WatchClusters", ServerStreams: true,
		Handler: func(_ any, stream grpc.ServerStream) error { return b.watch(stream, event) },
	}}}, nil)
	server.RegisterService(&grpc.ServiceDesc{ServiceName: "raygate.bench.Bare", Methods: []grpc.MethodDesc{{
		MethodName: "Emit",
		Handler: func(_ any, _ context.Context, decode func(any) error, _ grpc.UnaryServerInterceptor) (any, error) {
			b.emit()
			return &raygatev2.GetClusterResponse{}, decode(&raygatev2.GetClusterRequest{})
		},
	}}}, nil)
	return server.Serve(l)
}

// bare wakes all watchers at each event.
type bare struct {
	mu   sync.Mutex
	next chan struct{}
}

func (b *bare) emit() {
	b.mu.Lock()
	defer b.mu.Unlock()
	close(b.next)
	b.next = make(chan struct{})
}

func (b *bare) wait() <-chan struct{} {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.next
}

func (b *bare) watch(stream grpc.ServerStream, event []byte) error {
	if err := stream.RecvMsg(&raygatev2.WatchClustersRequest{}); err != nil {
		return err
	}
	next := b.wait()
	if err := stream.SendMsg([]byte{}); err != nil {
		return err
	}
	for {
		select {
		case <-stream.Context().Done():
			return stream.Context().Err()
		case <-next:
		}
		next = b.wait()
		if err := stream.SendMsg(event); err != nil {
			return err
		}
	}
}
