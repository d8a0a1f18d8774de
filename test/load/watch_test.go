package load

import (
	"context"
	"fmt"
	"maps"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/raygate/raygate/internal/testing/await"
	raygatev2 "github.com/raygate/raygate/proto/gen/go/raygate/v2"
)

// TestWatchers has a thousand watchers on ten connections, and one that takes nothing: each of the others sees every change in order, for one watch of
// the API server per kind.
func TestWatchers(t *testing.T) {
	c := controlPlane(t)
	ns := c.namespace(t)
	c.create(t, many(ns, "c", 300)...) // more bytes than a connection takes whose client does not read
	upstream := c.proxy(t)
	g, token := c.gateway(t, upstream.kubeconfig), c.user(t, ns, "watcher")
	const connections = 10
	watchers, changes := pick(300, 1000), pick(10, 100)

	ctx, cancel := context.WithTimeout(t.Context(), await.Limit)
	defer cancel()
	stalled, err := g.dial(t, token, grpc.WithInitialWindowSize(64<<10), grpc.WithInitialConnWindowSize(64<<10)).WatchClusters(ctx, &raygatev2.WatchClustersRequest{Namespace: ns})
	if err != nil {
		t.Fatal(err)
	}
	synced, done := make(chan error, watchers), make(chan error, watchers)
	for range connections {
		client := g.dial(t, token)
		for range watchers / connections {
			go func() { done <- seesInOrder(ctx, client, ns, "c0", changes, synced) }()
		}
	}
	for range watchers {
		if err := <-synced; err != nil {
			t.Fatal(err)
		}
	}
	want := map[string]int{"rayclusters": 1, "rayjobs": 1, "rayservices": 1, "raycronjobs": 1}
	if diff := cmp.Diff(want, upstream.openWatches()); diff != "" {
		t.Errorf("watches of the API server (-want +got):\n%s", diff)
	}
	for i := range changes {
		if err := c.label(ctx, ns, "c0", strconv.Itoa(i)); err != nil {
			t.Fatal(err)
		}
	}
	for range watchers {
		if err := <-done; err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(want, upstream.openWatches()); diff != "" {
		t.Errorf("watches of the API server afterwards (-want +got):\n%s", diff)
	}
	if !*long {
		return // that it is cut off after 30 s is a unit test with less patience, too
	}
	time.Sleep(35 * time.Second)
	for err = nil; err == nil; _, err = stalled.Recv() {
		if ctx.Err() != nil {
			t.Fatal("the one that took nothing was not cut off")
		}
	}
	if status.Code(err) != codes.ResourceExhausted {
		t.Errorf("the one that took nothing got %v, want ResourceExhausted", err)
	}
}

// seesInOrder returns once a watcher has seen n changes of a cluster, numbered by a label.
func seesInOrder(ctx context.Context, client raygatev2.ClusterServiceClient, ns, name string, n int, synced chan<- error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stream, err := client.WatchClusters(ctx, &raygatev2.WatchClustersRequest{Namespace: ns, SkipInitial: true})
	if err != nil {
		synced <- err
		return err
	}
	for next := 0; next < n; {
		event, err := stream.Recv()
		switch {
		case err != nil:
			select { // before or after
			case synced <- err:
			default:
			}
			return err
		case event.GetType() == "SYNCED":
			synced <- nil
		case event.GetCluster().GetMetadata().GetName() == name:
			if got := event.GetCluster().GetMetadata().GetLabels()["load"]; got != strconv.Itoa(next) {
				return fmt.Errorf("change %q, want %d", got, next)
			}
			next++
		}
	}
	return nil
}

// follower is a client that watches correctly: when the stream ends it continues after the last message.
type follower struct {
	client raygatev2.ClusterServiceClient
	ns     string
	token  string
	seen   map[string]*raygatev2.RayCluster
	resets int
	// stale is the longest time without contact in a heartbeat.
	stale int64
	ask   chan chan map[string]*raygatev2.RayCluster
	ended chan error
}

// follow begins to watch a namespace; the watch ends with ctx.
func follow(ctx context.Context, client raygatev2.ClusterServiceClient, ns string) *follower {
	f := &follower{client: client, ns: ns, seen: map[string]*raygatev2.RayCluster{}, ask: make(chan chan map[string]*raygatev2.RayCluster), ended: make(chan error, 1)}
	go func() { f.ended <- f.run(ctx) }()
	return f
}

func (f *follower) run(ctx context.Context) error {
	for ctx.Err() == nil {
		err := f.once(ctx)
		if code := status.Code(err); ctx.Err() == nil && code != codes.Unavailable && code != codes.ResourceExhausted {
			return err
		}
		select {
		case <-ctx.Done():
		case <-time.After(50 * time.Millisecond):
		}
	}
	return nil
}

func (f *follower) once(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stream, err := f.client.WatchClusters(ctx, &raygatev2.WatchClustersRequest{Namespace: f.ns, ResumeToken: f.token})
	if err != nil {
		return err
	}
	events, failed := make(chan *raygatev2.WatchClustersResponse), make(chan error, 1)
	go func() {
		for {
			event, err := stream.Recv()
			if err != nil {
				failed <- err
				return
			}
			select {
			case events <- event:
			case <-ctx.Done():
				failed <- ctx.Err()
				return
			}
		}
	}()
	for {
		select {
		case answer := <-f.ask:
			answer <- maps.Clone(f.seen)
		case err := <-failed:
			return err
		case event := <-events:
			f.take(event)
		}
	}
}

func (f *follower) take(event *raygatev2.WatchClustersResponse) {
	f.token = event.GetResumeToken()
	name := event.GetCluster().GetMetadata().GetName()
	switch event.GetType() {
	case "ADDED", "MODIFIED":
		f.seen[name] = event.GetCluster()
	case "DELETED":
		delete(f.seen, name)
	case "RESET":
		f.resets++
		clear(f.seen)
	case "HEARTBEAT":
		f.stale = max(f.stale, event.GetStaleSeconds())
	}
}

// state is what the watch says there is.
func (f *follower) state(ctx context.Context) map[string]*raygatev2.RayCluster {
	answer := make(chan map[string]*raygatev2.RayCluster, 1)
	select {
	case f.ask <- answer:
		return <-answer
	case <-ctx.Done():
		return nil
	}
}
