package main

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	collectorpb "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	metricspb "go.opentelemetry.io/proto/otlp/metrics/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/encoding/prototext"

	"github.com/raygate/raygate/apiserver/internal/authn"
	"github.com/raygate/raygate/internal/testing/otlp"
	"github.com/raygate/raygate/pkg/telemetry"
)

// collector keeps the names of spans.
type collector struct {
	collectorpb.UnimplementedTraceServiceServer
	mu     sync.Mutex
	spans  []string
	traces map[string][]string // by id
	whole  []string            // all that was sent
	key    string              // the credential for the collector
}

func (c *collector) Export(ctx context.Context, req *collectorpb.ExportTraceServiceRequest) (*collectorpb.ExportTraceServiceResponse, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	md, _ := metadata.FromIncomingContext(ctx)
	c.key = strings.Join(md.Get("x-api-key"), "")
	c.whole = append(c.whole, prototext.Format(req))
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
		o.Telemetry.Traces.Endpoint, o.Telemetry.SamplingRatePerMillion = l.Addr().String(), 1_000_000
	})
	wantCode(t, "create", onClusters(t, restCaller{base: p.http}, "Create", "traced"), codes.OK)
	wantCode(t, "list", onClusters(t, newGRPCCaller(t, p.grpc, ""), "List", ""), codes.OK)
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

// Traces go to a collector over TLS, with credentials for it, and have none of the callers': neither paths nor queries leave the gateway. Callers do not decide
// what is traced.
func TestTracingKeepsSecrets(t *testing.T) {
	if testing.Short() {
		t.Skip("needs a control plane")
	}
	const secret = "s3cret"
	ca, dir := newAuthority(t, "collectors"), files{t.TempDir()}
	cert, key := ca.issue(t, "collector")
	pair, err := tls.X509KeyPair(cert, key)
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("OTEL_EXPORTER_OTLP_HEADERS", "x-api-key=mine")
	for name, rate := range map[string]int32{"all": 1_000_000, "none": 0} {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		c, server := &collector{traces: map[string][]string{}}, grpc.NewServer(grpc.Creds(credentials.NewServerTLSFromCert(&pair)))
		collectorpb.RegisterTraceServiceServer(server, c)
		go func() { _ = server.Serve(l) }()
		defer server.Stop()
		p := startProcess(t, shared.Env(t).Config, authn.None, func(o *Options) {
			o.Telemetry.SamplingRatePerMillion = rate
			o.Telemetry.Traces = telemetry.Collector{Endpoint: "https://" + l.Addr().String(), CAFile: dir.write(t, "ca.crt", ca.pem)}
		})
		for _, path := range []string{"/dashboards/" + secret + "/api", "/apis/v2/clusters?pageToken=" + secret, "/apis/v2/namespaces/default/clusters/" + secret + "/dashboard/x?token=" + secret, "/apis/v1/namespaces/" + secret + "/clusters"} {
			r, err := http.NewRequestWithContext(t.Context(), "GET", "http://"+p.http+path, nil)
			if err != nil {
				t.Fatal(err)
			}
			r.Header.Set("Traceparent", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01") // sampled
			resp, err := http.DefaultTransport.RoundTrip(r)
			if err != nil {
				t.Fatal(err)
			}
			_ = resp.Body.Close()
		}
		if err := p.stop(); err != nil {
			t.Fatal(err)
		}
		c.mu.Lock()
		text := strings.Join(c.whole, "\n")
		if strings.Contains(text, secret) {
			t.Errorf("%s: a span has the secret: %s", name, text)
		}
		if got := strings.Contains(text, "/dashboards/{handle}/{path}") && c.key == "mine"; got != (name == "all") {
			t.Errorf("%s: sent with the key %q: %.2000s", name, c.key, text)
		}
		if _, ok := c.traces["\x0a\xf7\x65\x19\x16\xcd\x43\xdd\x84\x48\xeb\x21\x1c\x80\x31\x9c"]; ok || name == "none" && len(c.spans) > 0 {
			t.Errorf("%s: a caller decides what is traced: %q", name, c.spans)
		}
		c.mu.Unlock()
	}
}

// The metrics of the gateway go to a collector over TLS, at the latest when it ends.
func TestMetricsExport(t *testing.T) {
	if testing.Short() {
		t.Skip("needs a control plane")
	}
	collector := otlp.Start(t)
	p := startProcess(t, shared.Env(t).Config, authn.None, func(o *Options) {
		o.Telemetry.Metrics = telemetry.Collector{Endpoint: collector.Endpoint, CAFile: collector.CAFile}
	})
	wantCode(t, "list", onClusters(t, newGRPCCaller(t, p.grpc, ""), "List", ""), codes.OK)
	if err := p.stop(); err != nil {
		t.Fatal(err)
	}
	calls := func(m *metricspb.Metric) bool { return m.GetName() == "grpc_server_handled_total" }
	if all := collector.Metrics(); !slices.ContainsFunc(all, calls) || !collector.From(serviceName) {
		t.Errorf("%d metrics were sent, and none about calls", len(all))
	}
}
