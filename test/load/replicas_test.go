package load

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"google.golang.org/grpc"
	"google.golang.org/grpc/resolver"
	"google.golang.org/grpc/resolver/manual"

	"github.com/raygate/raygate/internal/testing/await"
	raygatev2 "github.com/raygate/raygate/proto/gen/go/raygate/v2"
)

// retries is what a client sets that lets gRPC retry; creates carry a request id.
const retries = `{"loadBalancingConfig":[{"round_robin":{}}],"methodConfig":[{"name":[{}],"retryPolicy":{
	"maxAttempts":5,"initialBackoff":"0.2s","maxBackoff":"2s","backoffMultiplier":2,"retryableStatusCodes":["UNAVAILABLE"]}}]}`

// TestRollingRestart restarts two replicas in turns while clients that retry work with them. None of their calls fails, each create makes
// one object, and watches continue after their last message.
func TestRollingRestart(t *testing.T) {
	c := controlPlane(t)
	ns := c.namespace(t)
	token := c.user(t, ns, "user")
	flags := []string{"--drain-delay=1s", "--drain-timeout=15s"}
	replicas := []*gateway{c.gateway(t, "", flags...), c.gateway(t, "", flags...)}
	roots, addresses := x509.NewCertPool(), resolver.State{}
	for _, g := range replicas {
		addresses.Endpoints = append(addresses.Endpoints, resolver.Endpoint{Addresses: []resolver.Address{{Addr: g.grpc, ServerName: "127.0.0.1"}}})
		for _, cert := range g.trusted {
			roots.AddCert(cert)
		}
	}
	both := manual.NewBuilderWithScheme("both")
	both.InitialState(addresses)
	client := dial(t, "both:///", roots, token, grpc.WithResolvers(both), grpc.WithDefaultServiceConfig(retries))
	web := &http.Client{Transport: &http.Transport{TLSClientConfig: tlsOf(roots), MaxIdleConnsPerHost: 64}, Timeout: await.Limit}

	ctx, cancel := context.WithTimeout(t.Context(), await.Limit)
	defer cancel()
	watch := follow(ctx, client, ns)
	working, stop := context.WithCancel(ctx)
	defer stop()
	var all sync.WaitGroup
	var calls atomic.Int64
	names := make([][]string, 8)
	failed := make(chan error, len(names))
	for i := range names {
		all.Go(func() {
			for n := 0; working.Err() == nil; n++ {
				name := fmt.Sprintf("r-%d-%d", i, n)
				work := workByGRPC(client, ns)
				if i%2 == 1 {
					work = workByREST(web, token, ns, replicas)
				}
				if err := work(ctx, name); err != nil {
					failed <- fmt.Errorf("%s: %w", name, err)
					return
				}
				names[i] = append(names[i], name)
				calls.Add(1)
			}
		})
	}
	for range pick(1, 4) {
		for _, g := range replicas {
			before := calls.Load()
			await.NoError(t, "work with both", func() error {
				if calls.Load() < before+5 {
					return errors.New("too little was done")
				}
				return nil
			})
			g.Stop()
			if err := g.Start(); err != nil {
				t.Fatal(err)
			}
		}
	}
	stop()
	all.Wait()
	close(failed)
	for err := range failed {
		t.Error(err)
	}
	t.Logf("%d objects were created, read and listed", calls.Load())
	await.NoError(t, "all objects in the watch", func() error {
		state := watch.state(ctx)
		made := 0
		for _, list := range names {
			for _, name := range list {
				if made++; state[name] == nil {
					return fmt.Errorf("%s is missing", name)
				}
			}
		}
		if len(state) != made {
			return fmt.Errorf("%d objects, want %d", len(state), made)
		}
		return nil
	})
	cancel()
	if err := <-watch.ended; err != nil {
		t.Errorf("the watch ended with %v", err)
	}
}

// workByGRPC creates, reads and lists; gRPC retries by itself.
func workByGRPC(client raygatev2.ClusterServiceClient, ns string) func(context.Context, string) error {
	return func(ctx context.Context, name string) error {
		created, err := client.CreateCluster(ctx, &raygatev2.CreateClusterRequest{Namespace: ns, Cluster: message(ns, name), RequestId: uuid.NewString()})
		if err != nil {
			return err
		}
		// Another replica may return an older version, unless the request gives the version that the client has seen.
		ctx = minVersion(ctx, created.GetCluster().GetMetadata().GetResourceVersion())
		if _, err := client.GetCluster(ctx, &raygatev2.GetClusterRequest{Namespace: ns, Name: name}); err != nil {
			return err
		}
		_, err = client.ListClusters(ctx, &raygatev2.ListClustersRequest{Namespace: ns, PageSize: 10})
		return err
	}
}

// workByREST does the same and retries at the other replica.
func workByREST(web *http.Client, token, ns string, replicas []*gateway) func(context.Context, string) error {
	next := 0
	try := func(ctx context.Context, method, more string, body []byte) error {
		var last error
		for attempt := range 10 {
			next++
			got, err := send(ctx, web, token, method, replicas[next%len(replicas)].url(ns, more), body)
			switch {
			case err != nil:
				last = err
			case got.code/100 == 2:
				return nil
			case got.code != http.StatusServiceUnavailable && got.code != http.StatusTooManyRequests:
				return fmt.Errorf("%s %s: %d %s", method, more, got.code, got.body)
			default:
				last = fmt.Errorf("%s %s: %d %s", method, more, got.code, got.body)
			}
			time.Sleep(time.Duration(attempt+1) * 100 * time.Millisecond)
		}
		return last
	}
	return func(ctx context.Context, name string) error {
		data, err := marshal(ns, name)
		if err != nil {
			return err
		}
		if err := try(ctx, http.MethodPost, "?requestId="+uuid.NewString(), data); err != nil {
			return err
		}
		return try(ctx, http.MethodGet, "", nil)
	}
}
