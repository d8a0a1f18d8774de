// Package otlp has a collector of OpenTelemetry for tests: it takes traces and metrics by gRPC over TLS, and keeps them.
package otlp

import (
	"context"
	"crypto/tls"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	collectormetrics "go.opentelemetry.io/proto/otlp/collector/metrics/v1"
	collectortrace "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	metricspb "go.opentelemetry.io/proto/otlp/metrics/v1"
	resource "go.opentelemetry.io/proto/otlp/resource/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/metadata"
	"k8s.io/client-go/util/cert"
)

// Collector keeps what it gets.
type Collector struct {
	// Endpoint is its URL, CAFile a file with its CA.
	Endpoint, CAFile string

	mu      sync.Mutex
	spans   []*tracepb.Span
	metrics []*metricspb.Metric
	// services are the names of the senders, headers what they send beside.
	services map[string]bool
	headers  metadata.MD
}

// Start runs a collector until the end of the test.
func Start(t *testing.T) *Collector {
	t.Helper()
	certificate, key, err := cert.GenerateSelfSignedCertKey("127.0.0.1", []net.IP{net.IPv4(127, 0, 0, 1)}, nil)
	if err != nil {
		t.Fatal(err)
	}
	pair, err := tls.X509KeyPair(certificate, key)
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	c := &Collector{Endpoint: "https://" + l.Addr().String(), CAFile: filepath.Join(t.TempDir(), "ca.crt"), services: map[string]bool{}}
	if err := os.WriteFile(c.CAFile, certificate, 0o600); err != nil {
		t.Fatal(err)
	}
	server := grpc.NewServer(grpc.Creds(credentials.NewServerTLSFromCert(&pair)))
	collectortrace.RegisterTraceServiceServer(server, traces{c: c})
	collectormetrics.RegisterMetricsServiceServer(server, metrics{c: c})
	go func() { _ = server.Serve(l) }()
	t.Cleanup(server.Stop)
	return c
}

// Spans are the spans so far.
func (c *Collector) Spans() []*tracepb.Span {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]*tracepb.Span(nil), c.spans...)
}

// Metrics are the metrics so far, one for each report.
func (c *Collector) Metrics() []*metricspb.Metric {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]*metricspb.Metric(nil), c.metrics...)
}

// From reports whether a service has sent anything.
func (c *Collector) From(service string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.services[service]
}

// Header is the last value of a header that came with spans or metrics.
func (c *Collector) Header(name string) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return strings.Join(c.headers.Get(name), ",")
}

// note records who sends, and the headers that come with it. The caller holds the lock.
func (c *Collector) note(ctx context.Context, sender *resource.Resource) {
	c.headers, _ = metadata.FromIncomingContext(ctx)
	for _, a := range sender.GetAttributes() {
		c.services[a.GetValue().GetStringValue()] = true
	}
}

type traces struct {
	collectortrace.UnimplementedTraceServiceServer
	c *Collector
}

// Export implements TraceServiceServer.
func (s traces) Export(ctx context.Context, req *collectortrace.ExportTraceServiceRequest) (*collectortrace.ExportTraceServiceResponse, error) {
	s.c.mu.Lock()
	defer s.c.mu.Unlock()
	for _, r := range req.GetResourceSpans() {
		s.c.note(ctx, r.GetResource())
		for _, scope := range r.GetScopeSpans() {
			s.c.spans = append(s.c.spans, scope.GetSpans()...)
		}
	}
	return &collectortrace.ExportTraceServiceResponse{}, nil
}

type metrics struct {
	collectormetrics.UnimplementedMetricsServiceServer
	c *Collector
}

// Export implements MetricsServiceServer.
func (s metrics) Export(ctx context.Context, req *collectormetrics.ExportMetricsServiceRequest) (*collectormetrics.ExportMetricsServiceResponse, error) {
	s.c.mu.Lock()
	defer s.c.mu.Unlock()
	for _, r := range req.GetResourceMetrics() {
		s.c.note(ctx, r.GetResource())
		for _, scope := range r.GetScopeMetrics() {
			s.c.metrics = append(s.c.metrics, scope.GetMetrics()...)
		}
	}
	return &collectormetrics.ExportMetricsServiceResponse{}, nil
}
