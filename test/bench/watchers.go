package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
	"google.golang.org/grpc"
	"google.golang.org/grpc/mem"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	raygatev2 "github.com/raygate/raygate/proto/gen/go/raygate/v2"
)

const (
	watchers           = 1000
	watcherConnections = 10
	watcherEvents      = 100
	// watchMethod is called by watchers, at the gateway and at the bare server.
	watchMethod = "/raygate.v2.ClusterService/WatchClusters"
)

// sequence is the label by which watchers recognize a change.
const sequence = "bench-sequence"

// change writes a label to a cluster, directly.
func (s *session) change(ctx context.Context, t target, n int) error {
	patch := client.RawPatch("application/merge-patch+json", fmt.Appendf(nil, `{"metadata":{"labels":{%q:"n%d"}}}`, sequence, n))
	return s.client.Patch(ctx, &rayv1.RayCluster{ObjectMeta: metav1.ObjectMeta{Namespace: t.namespace, Name: t.name}}, patch)
}

// writesToWatchers measures the time from the start of a write until a watcher has it. The watchers are one of the API server and, for the
// same writes, one of the gateway by REST and one by gRPC.
func (s *session) writesToWatchers(ctx context.Context, ends *ends) error {
	s.logf("measuring how long writes take to watchers")
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	at := target{"bench-100", clusterName(0, 7)}
	g, ctx := errgroup.WithContext(ctx)
	var seen [3]chan time.Time
	for i := range seen {
		seen[i] = make(chan time.Time, 1)
	}
	// All watchers wait for the next change only.
	var wanted atomic.Pointer[[]byte]
	want := func(n int) { wanted.Store(new(fmt.Appendf(nil, `"n%d"`, n))) }
	want(0)
	for i, watch := range []func() error{
		func() error {
			return watchLines(ctx, ends.raw, ends.directURL(at.namespace)+"?watch=1&fieldSelector=metadata.name%3D"+at.name, &wanted, seen[0])
		},
		func() error {
			return watchLines(ctx, ends.rest, ends.gatewayURL(at.namespace)+":watch?skipInitial=true&filter=name%20%3D%20"+at.name, &wanted, seen[1])
		},
		func() error { return watchMessages(ctx, ends.grpc, at, &wanted, seen[2]) },
	} {
		g.Go(func() error {
			if err := watch(); ctx.Err() == nil {
				return fmt.Errorf("watcher %d: %w", i, err)
			}
			return nil
		})
	}
	var ms [3][]float64
	g.Go(func() error {
		defer cancel()
		if err := pause(ctx, 2*time.Second); err != nil { // until all watch
			return err
		}
		warmUp := s.opts.Calls / 10
		for n := range warmUp + s.opts.Calls {
			want(n)
			begin := time.Now()
			if err := s.change(ctx, at, n); err != nil {
				return err
			}
			for i := range seen {
				when, err := awaitChange(ctx, seen[i])
				if err != nil {
					return fmt.Errorf("change %d to watcher %d: %w", n, i, err)
				}
				if n >= warmUp {
					ms[i] = append(ms[i], float64(when.Sub(begin))/float64(time.Millisecond))
				}
			}
		}
		return nil
	})
	if err := g.Wait(); err != nil {
		return err
	}
	for _, p := range []int{50, 99} {
		direct := []float64{percentile(ms[0], p)}
		s.add(fmt.Sprintf("write to REST watcher, p%d", p), "ms", []float64{percentile(ms[1], p)}, direct, nil)
		s.add(fmt.Sprintf("write to gRPC watcher, p%d", p), "ms", []float64{percentile(ms[2], p)}, direct, nil)
	}
	return nil
}

func awaitChange(ctx context.Context, seen <-chan time.Time) (time.Time, error) {
	select {
	case when := <-seen:
		return when, nil
	case <-ctx.Done():
		return time.Time{}, ctx.Err()
	case <-time.After(callLimit):
		return time.Time{}, errors.New("it did not come")
	}
}

// watchMessages reads a watch by gRPC and sends the time when the wanted change arrives.
func watchMessages(ctx context.Context, c raygatev2.ClusterServiceClient, t target, wanted *atomic.Pointer[[]byte], seen chan<- time.Time) error {
	stream, err := c.WatchClusters(ctx, &raygatev2.WatchClustersRequest{Namespace: t.namespace, SkipInitial: true, Filter: "name = " + t.name})
	if err != nil {
		return err
	}
	for {
		event, err := stream.Recv()
		if err != nil {
			return err
		}
		if `"`+event.GetCluster().GetMetadata().GetLabels()[sequence]+`"` == string(*wanted.Load()) {
			seen <- time.Now()
		}
	}
}

// watchLines reads a watch by HTTP and sends the time when the line with the wanted text arrives.
func watchLines(ctx context.Context, c *http.Client, url string, wanted *atomic.Pointer[[]byte], seen chan<- time.Time) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	resp, err := c.Do(req)
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("%s answered %s", url, resp.Status)
	}
	lines := bufio.NewScanner(resp.Body)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		if bytes.Contains(lines.Bytes(), *wanted.Load()) {
			seen <- time.Now()
		}
	}
	return errors.Join(lines.Err(), errors.New("the watch has ended"))
}

// manyWatchers compares the CPU cost of an event for a thousand watchers on ten connections with that of a bare grpc-go server that sends
// the same encoded bytes to as many streams.
func (s *session) manyWatchers(ctx context.Context, ends *ends) error {
	s.logf("comparing the CPU of events to %d watchers", watchers)
	at := target{"bench-100", clusterName(0, 11)}
	request := &raygatev2.WatchClustersRequest{Namespace: at.namespace, SkipInitial: true}
	of := audience{ends.process, ends.grpcAddress, ends.grpcOptions, request}
	event, gateway, err := of.eventsTo(ctx, func(n int) error { return s.change(ctx, at, n) })
	if err != nil {
		return fmt.Errorf("the gateway: %w", err)
	}
	bare, err := s.startBare(ctx, ends, event)
	if err != nil {
		return err
	}
	defer s.stop(bare.process)
	conn, err := grpc.NewClient(bare.address, ends.grpcOptions...)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	of.process, of.address = bare.process, bare.address
	_, direct, err := of.eventsTo(ctx, func(int) error {
		return conn.Invoke(ctx, bareEmit, &raygatev2.GetClusterRequest{}, &raygatev2.GetClusterResponse{})
	})
	if err != nil {
		return fmt.Errorf("the bare server: %w", err)
	}
	s.add(fmt.Sprintf("CPU of an event to %d watchers; direct is a bare grpc-go server", watchers), "ms", gateway, direct, ratioAtMost(1.5))
	return nil
}

// raw keeps messages encoded, so that the benchmark does not decode each a thousand times.
type raw struct{ grpcCodec }

// Unmarshal implements encoding.CodecV2.
func (r raw) Unmarshal(data mem.BufferSlice, v any) error {
	if into, ok := v.(*[]byte); ok {
		*into = append((*into)[:0], data.Materialize()...)
		return nil
	}
	return r.grpcCodec.Unmarshal(data, v)
}

// audience are the watchers of one process.
type audience struct {
	process *process
	address string
	options []grpc.DialOption
	request *raygatev2.WatchClustersRequest
}

// eventsTo opens the watchers and sends events one by one, each when the one before has come to all. It returns the bytes of the last one and the
// milliseconds of CPU that each took in the process.
func (a audience) eventsTo(ctx context.Context, send func(n int) error) (event []byte, ms []float64, err error) {
	ctx, cancel := context.WithTimeout(ctx, 3*time.Minute)
	defer cancel()
	g, ctx := errgroup.WithContext(ctx)
	defer func() {
		cancel()
		_ = g.Wait()
	}()
	began, got := make(chan []byte, watchers), make(chan []byte, watchers)
	for range watcherConnections {
		conn, err := grpc.NewClient(a.address, append(a.options, grpc.WithDefaultCallOptions(grpc.ForceCodecV2(raw{})))...)
		if err != nil {
			return nil, nil, err
		}
		defer func() { _ = conn.Close() }()
		for range watchers / watcherConnections {
			g.Go(func() error { return receive(ctx, conn, a.request, began, got) })
		}
	}
	if _, err := collect(ctx, g, began); err != nil {
		return nil, nil, err
	}
	const warmUp = 5
	var before float64
	for n := range warmUp + watcherEvents {
		if n == warmUp {
			if before, err = a.process.cpu(); err != nil {
				return nil, nil, err
			}
		}
		if err := send(n); err != nil {
			return nil, nil, err
		}
		if event, err = collect(ctx, g, got); err != nil {
			return nil, nil, err
		}
	}
	after, err := a.process.cpu()
	return event, []float64{(after - before) / watcherEvents * 1000}, err
}

// collect takes one message of each watcher, and returns the last. It fails with the watchers.
func collect(ctx context.Context, g *errgroup.Group, from <-chan []byte) (last []byte, err error) {
	for range watchers {
		select {
		case last = <-from:
		case <-ctx.Done():
			return nil, errors.Join(ctx.Err(), g.Wait())
		}
	}
	return last, nil
}

// receive sends the first message of a stream to began, and all others to got.
func receive(ctx context.Context, conn *grpc.ClientConn, request *raygatev2.WatchClustersRequest, began, got chan<- []byte) error {
	stream, err := conn.NewStream(ctx, &grpc.StreamDesc{ServerStreams: true}, watchMethod)
	if err != nil {
		return err
	}
	if err := errors.Join(stream.SendMsg(request), stream.CloseSend()); err != nil {
		return err
	}
	for into := began; ; into = got {
		var message []byte
		if err := stream.RecvMsg(&message); err != nil {
			return err
		}
		if into == got && len(message) < 100 {
			continue // a heartbeat
		}
		into <- message
	}
}
