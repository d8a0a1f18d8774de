package main

import (
	"context"
	"net"
	"slices"
	"sync"
	"testing"

	collectorpb "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	"google.golang.org/grpc"

	"github.com/raygate/raygate/apiserver/internal/authn"
	raygatev2 "github.com/raygate/raygate/proto/gen/go/raygate/v2"
)

// collector keeps the names of spans.
type collector struct {
	collectorpb.UnimplementedTraceServiceServer
	mu     sync.Mutex
	spans  []string
	traces map[string][]string // by id
}

func (c *collector) Export(_ context.Context, req *collectorpb.ExportTraceServiceRequest) (*collectorpb.ExportTraceServiceResponse, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, r := range req.GetResourceSpans() {
		for _, s := range r.GetScopeSpans() {
			for _, span := range s.GetSpans() {
				c.spans = append(c.spans, span.GetName())
				c.traces[string(span.GetTraceId())] = append(c.traces[string(span.GetTraceId())], span.GetName())
			}
		}
	}
	return &collectorpb.ExportTraceServiceResponse{}, nil
}

// A call by REST and its request to Kubernetes are spans of one trace; a call by gRPC is one as well.
func TestTracing(t *testing.T) {
	if testing.Short() {
		t.Skip("needs a control plane")
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	c, server := &collector{traces: map[string][]string{}}, grpc.NewServer()
	collectorpb.RegisterTraceServiceServer(server, c)
	go func() { _ = server.Serve(l) }()
	defer server.Stop()
	p := startProcess(t, shared.Env(t).Config, authn.None, func(o *Options) {
		o.TracingEndpoint, o.TracingSamplingRatePerMillion = l.Addr().String(), 1_000_000
	})
	if _, err := (restEntry{p.http, "", typeJSON}).create(t.Context(), &raygatev2.CreateClusterRequest{Namespace: "default", Cluster: demo(t, "traced"), ValidateOnly: true}); err != nil {
		t.Fatal(err)
	}
	if _, err := newGRPCEntry(t, p.grpc, "").list(t.Context(), &raygatev2.ListClustersRequest{}); err != nil {
		t.Fatal(err)
	}
	if err := p.stop(); err != nil { // which sends the rest
		t.Fatal(err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if !slices.Contains(c.spans, "raygate.v2.ClusterService/ListClusters") {
		t.Errorf("there is no span of the gRPC call among %q", c.spans)
	}
	for _, trace := range c.traces {
		if slices.Contains(trace, "POST") && slices.Contains(trace, "HTTP POST") { // as otelhttp names what comes in and what goes out
			return
		}
	}
	t.Errorf("no trace joins the REST call and the request to Kubernetes: %q", c.traces)
}
