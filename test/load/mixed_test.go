package load

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protojson"

	raygatev2 "github.com/raygate/raygate/proto/gen/go/raygate/v2"
)

const (
	clients = 200
	users   = 10
	// memoryLimit is that of the Deployment in apiserver/config.
	memoryLimit = 1 << 30
)

// TestMixedLoad has 200 clients get, list, watch and create at once, by gRPC and REST. Nothing fails but with 429 and a hint when to try again, also while
// the certificate is replaced, and memory stays within what the Deployment gives.
func TestMixedLoad(t *testing.T) {
	c := controlPlane(t)
	ns := c.namespace(t)
	const present = 200
	c.create(t, many(ns, "c", present)...)
	g := c.gateway(t, "")
	next := g.newCertificate(t) // trusted by all clients
	tokens := make([]string, users)
	for i := range users {
		tokens[i] = c.user(t, ns, fmt.Sprintf("user-%d", i))
	}

	ctx, cancel := context.WithTimeout(t.Context(), pick(15*time.Second, 2*time.Minute))
	defer cancel()
	var all sync.WaitGroup
	tally := &tally{}
	for i := range clients {
		token := tokens[i%users]
		var call calls
		if i%2 == 0 {
			call = byGRPC{g.dial(t, token), ns}
		} else {
			call = byREST{g, g.http(), token, ns}
		}
		all.Go(func() {
			for n := 0; ctx.Err() == nil; n++ {
				tally.add(ctx, one(ctx, call, fmt.Sprintf("made-%d-%d", i, n), fmt.Sprintf("c%d", rand.N(present))))
			}
		})
	}
	rotated := make(chan error, 1)
	time.AfterFunc(5*time.Second, func() { rotated <- next.install() })
	var most float64
	for ctx.Err() == nil {
		most = max(most, g.metric(t, "process_resident_memory_bytes"))
		time.Sleep(250 * time.Millisecond)
	}
	all.Wait()
	t.Logf("%d calls were answered, %d with 429; at most %.0f MiB of memory", tally.good.Load(), tally.later.Load(), most/(1<<20))
	if len(tally.bad) > 0 {
		t.Errorf("%d calls failed, such as %v", tally.failed.Load(), tally.bad)
	}
	if tally.good.Load() < clients {
		t.Errorf("only %d calls were answered", tally.good.Load())
	}
	if most > memoryLimit {
		t.Errorf("%.0f MiB of memory, want at most %d", most/(1<<20), memoryLimit>>20)
	}
	if err := <-rotated; err != nil {
		t.Fatal(err)
	}
	eventually(t, "the new certificate", func() error {
		got, err := g.presented()
		if err == nil && !got.Equal(next.Certificate) {
			err = errors.New("it is still the old one")
		}
		return err
	})
	eventually(t, "the streams have ended", func() error {
		if n := g.metric(t, "go_goroutines"); n > 2*clients+500 {
			return fmt.Errorf("%.0f goroutines", n)
		}
		return nil
	})
}

// tally counts answers.
type tally struct {
	good, later, failed atomic.Int64
	mu                  sync.Mutex
	bad                 []error // the first few
}

func (a *tally) add(ctx context.Context, err error) {
	var wait retryLater
	switch {
	case err == nil:
		a.good.Add(1)
	case ctx.Err() != nil, ends(ctx): // the end of the test, in the middle of a call
	case errors.As(err, &wait):
		a.later.Add(1)
		select {
		case <-ctx.Done():
		case <-time.After(time.Duration(wait)):
		}
	default:
		a.failed.Add(1)
		a.mu.Lock()
		defer a.mu.Unlock()
		if len(a.bad) < 5 {
			a.bad = append(a.bad, err)
		}
	}
}

// ends reports whether the deadline of the test is there: the gateway, which is told of it, may see it first.
func ends(ctx context.Context) bool {
	at, ok := ctx.Deadline()
	return ok && time.Until(at) < time.Second
}

// retryLater is 429 with the time after which to try again.
type retryLater time.Duration

// Error implements error.
func (r retryLater) Error() string { return "try again after " + time.Duration(r).String() }

// calls are those that clients mix.
type calls interface {
	get(ctx context.Context, name string) error
	list(ctx context.Context) error
	create(ctx context.Context, name string) error
	remove(ctx context.Context, name string) error
	watch(ctx context.Context) error
}

// one makes one call, as clients do: mostly reads.
func one(ctx context.Context, call calls, fresh, present string) error {
	switch n := rand.N(100); {
	case n < 60:
		return call.get(ctx, present)
	case n < 80:
		return call.list(ctx)
	case n < 90:
		if err := call.create(ctx, fresh); err != nil {
			return err
		}
		for { // so that there are never many
			err := call.remove(ctx, fresh)
			wait, ok := errors.AsType[retryLater](err)
			if !ok || ctx.Err() != nil {
				return err
			}
			time.Sleep(time.Duration(wait))
		}
	default:
		ctx, cancel := context.WithTimeout(ctx, settle)
		defer cancel()
		return call.watch(ctx)
	}
}

type byGRPC struct {
	client raygatev2.ClusterServiceClient
	ns     string
}

// translate keeps the one refusal that there may be apart.
func translate(err error) error {
	st := status.Convert(err)
	if st.Code() != codes.ResourceExhausted {
		return err
	}
	for _, d := range st.Details() {
		if hint, ok := d.(*errdetails.RetryInfo); ok {
			return retryLater(hint.GetRetryDelay().AsDuration())
		}
	}
	return err
}

func (b byGRPC) get(ctx context.Context, name string) error {
	_, err := b.client.GetCluster(ctx, &raygatev2.GetClusterRequest{Namespace: b.ns, Name: name})
	return translate(err)
}

func (b byGRPC) list(ctx context.Context) error {
	_, err := b.client.ListClusters(ctx, &raygatev2.ListClustersRequest{Namespace: b.ns})
	return translate(err)
}

func (b byGRPC) create(ctx context.Context, name string) error {
	_, err := b.client.CreateCluster(ctx, &raygatev2.CreateClusterRequest{Namespace: b.ns, Cluster: message(b.ns, name)})
	return translate(err)
}

func (b byGRPC) remove(ctx context.Context, name string) error {
	_, err := b.client.DeleteCluster(ctx, &raygatev2.DeleteClusterRequest{Namespace: b.ns, Name: name})
	return translate(err)
}

// watch reads until all that there is has been sent.
func (b byGRPC) watch(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stream, err := b.client.WatchClusters(ctx, &raygatev2.WatchClustersRequest{Namespace: b.ns})
	if err != nil {
		return translate(err)
	}
	for {
		event, err := stream.Recv()
		if err != nil || event.GetType() == "SYNCED" {
			return translate(err)
		}
	}
}

// marshal returns a cluster as REST takes it.
func marshal(ns, name string) ([]byte, error) { return json.Marshal(cluster(ns, name)) }

// message is a cluster as gRPC takes it.
func message(ns, name string) *raygatev2.RayCluster {
	data, err := marshal(ns, name)
	if err != nil {
		panic(err)
	}
	m := &raygatev2.RayCluster{}
	if err := protojson.Unmarshal(data, m); err != nil {
		panic(err)
	}
	return m
}

type byREST struct {
	g     *gateway
	http  *http.Client
	token string
	ns    string
}

func (b byREST) send(ctx context.Context, method, more string, body []byte) error {
	got, err := send(ctx, b.http, b.token, method, b.g.url(b.ns, more), body)
	if err != nil {
		return err
	}
	after, err := strconv.Atoi(got.header.Get("Retry-After"))
	switch {
	case got.code == http.StatusTooManyRequests && err == nil:
		return retryLater(time.Duration(after) * time.Second)
	case got.code/100 != 2:
		return fmt.Errorf("%s %s: %d %s", method, more, got.code, got.body)
	}
	return nil
}

func (b byREST) get(ctx context.Context, name string) error {
	return b.send(ctx, http.MethodGet, "/"+name, nil)
}

func (b byREST) list(ctx context.Context) error { return b.send(ctx, http.MethodGet, "", nil) }

func (b byREST) create(ctx context.Context, name string) error {
	body, err := marshal(b.ns, name)
	if err != nil {
		return err
	}
	return b.send(ctx, http.MethodPost, "", body)
}

func (b byREST) remove(ctx context.Context, name string) error {
	return b.send(ctx, http.MethodDelete, "/"+name, nil)
}

func (b byREST) watch(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, b.g.url(b.ns, ":watch"), nil)
	if err != nil {
		return err
	}
	r.Header.Set("Authorization", "Bearer "+b.token)
	resp, err := b.http.Do(r)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	lines := json.NewDecoder(resp.Body)
	for {
		var event struct {
			Type  string
			Error json.RawMessage
		}
		if err := lines.Decode(&event); err != nil {
			return fmt.Errorf("watch: %d: %w", resp.StatusCode, err)
		}
		if event.Type == "SYNCED" {
			return nil
		}
		if event.Type == "" {
			return fmt.Errorf("watch: %d: %s", resp.StatusCode, event.Error)
		}
	}
}
