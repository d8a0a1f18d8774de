package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"k8s.io/client-go/rest"

	"github.com/raygate/raygate/apiserver/internal/authn"
	"github.com/raygate/raygate/internal/testing/await"
	"github.com/raygate/raygate/internal/testing/programs"
	raygatev2 "github.com/raygate/raygate/proto/gen/go/raygate/v2"
	"github.com/raygate/raygate/test/controlplane"
)

// process is a running gateway.
type process struct {
	grpc, http, health string
	stop               func() error
	ended              chan error // has the result once the process has ended
}

func startProcess(t *testing.T, config *rest.Config, mode authn.Mode, edits ...func(*Options)) *process {
	t.Helper()
	p := launch(t, config, mode, edits...)
	await.True(t, "the gateway to be ready", func() bool {
		code, _ := p.ready(t)
		if code != http.StatusOK && len(p.ended) > 0 {
			t.Fatalf("the gateway ended: %v", p.stop())
		}
		return code == http.StatusOK
	})
	return p
}

// ready returns the answer of /readyz?verbose, 0 when there is none.
func (p *process) ready(t *testing.T) (int, string) {
	t.Helper()
	resp, err := http.Get("http://" + p.health + "/readyz?verbose")
	if err != nil {
		return 0, ""
	}
	defer resp.Body.Close()
	text, _ := io.ReadAll(resp.Body)
	return resp.StatusCode, string(text)
}

// launch starts a gateway and does not wait for it.
func launch(t *testing.T, config *rest.Config, mode authn.Mode, edits ...func(*Options)) *process {
	t.Helper()
	o := NewOptions()
	o.Authentication, o.restConfig = string(mode), rest.CopyConfig(config)
	o.restConfig.QPS = -1
	p := &process{ended: make(chan error, 1)}
	ports, err := programs.FreePorts(3)
	if err != nil {
		t.Fatal(err)
	}
	for i, a := range []struct{ option, address *string }{{&o.GRPCAddress, &p.grpc}, {&o.HTTPAddress, &p.http}, {&o.MetricsAddress, &p.health}} {
		*a.address = net.JoinHostPort("127.0.0.1", strconv.Itoa(ports[i]))
		*a.option = *a.address
	}
	for _, edit := range edits {
		edit(o)
	}
	if err := o.Validate(); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	go func() { p.ended <- run(ctx, o) }()
	p.stop = func() error {
		cancel()
		select {
		case err := <-p.ended:
			p.ended <- err
			return err
		case <-time.After(controlplane.WaitTimeout):
			return errors.New("the process did not end")
		}
	}
	t.Cleanup(func() { _ = p.stop() })
	return p
}

// restEntry sends requests as they are.
type restEntry struct {
	base, token, contentType string
}

func (d restEntry) send(ctx context.Context, method, path string, content []byte) (*http.Response, error) {
	r, err := http.NewRequestWithContext(ctx, method, "http://"+d.base+path, bytes.NewReader(content))
	if err != nil {
		return nil, err
	}
	r.Header.Set("Content-Type", d.contentType)
	r.Header.Set("Accept", d.contentType)
	if d.token != "" {
		r.Header.Set("Authorization", "Bearer "+d.token)
	}
	return http.DefaultClient.Do(r)
}

func collection(namespace string) string {
	if namespace == "" {
		return "/apis/v2/clusters"
	}
	return "/apis/v2/namespaces/" + namespace + "/clusters"
}

// watchClusters watches the clusters of the namespace default, and calls each with the types of messages until it returns false.
func watchClusters(ctx context.Context, c grpcCaller, each func(what string) bool) error {
	if c.token != "" {
		ctx = metadata.AppendToOutgoingContext(ctx, "authorization", "Bearer "+c.token)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stream, err := raygatev2.NewClusterServiceClient(c.conn).WatchClusters(ctx, &raygatev2.WatchClustersRequest{Namespace: "default"})
	if err != nil {
		return err
	}
	for {
		e, err := stream.Recv()
		if err != nil {
			return err
		}
		if !each(e.GetType()) {
			return nil
		}
	}
}

func TestDrain(t *testing.T) {
	p := startProcess(t, shared.Env(t).Config, authn.None)
	err := watchClusters(t.Context(), newGRPCCaller(t, p.grpc, ""), func(what string) bool {
		if what == "SYNCED" {
			go func() { _ = p.stop() }()
		}
		return true
	})
	if status.Code(err) != codes.Unavailable || !strings.Contains(err.Error(), "resume_token") {
		t.Errorf("the watch ended with %v, want Unavailable and a hint", err)
	}
	if err := p.stop(); err != nil {
		t.Errorf("the process ended with %v", err)
	}
}

func wantCode(t *testing.T, what string, err error, want codes.Code) {
	t.Helper()
	if status.Code(err) != want {
		t.Errorf("%s: %v, want %v", what, err, want)
	}
}
