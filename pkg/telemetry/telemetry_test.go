package telemetry

import (
	"errors"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"
	metricspb "go.opentelemetry.io/proto/otlp/metrics/v1"
	"google.golang.org/protobuf/encoding/prototext"

	"github.com/raygate/raygate/internal/testing/otlp"
)

// Spans reach a collector over TLS, with credentials for it and without those of others.
func TestTraces(t *testing.T) {
	t.Setenv("OTEL_EXPORTER_OTLP_HEADERS", "x-api-key=mine")
	collector := otlp.Start(t)
	o := NewOptions()
	o.SamplingRatePerMillion, o.Traces = 1_000_000, Collector{Endpoint: collector.Endpoint, CAFile: collector.CAFile}
	provider, err := o.Tracer(t.Context(), "service")
	if err != nil {
		t.Fatal(err)
	}
	_, span := provider.Tracer("test").Start(t.Context(), "work", trace.WithAttributes(
		attribute.String("k8s.namespace.name", "team-a"), attribute.String("url.full", "https://me:s3cret@host/a?token=s3cret"), attribute.String("http.request.header.authorization", "s3cret"), attribute.String("url.query", "s3cret"),
	))
	span.End()
	if err := provider.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
	spans := collector.Spans()
	if len(spans) != 1 || !collector.From("service") || collector.Header("x-api-key") != "mine" {
		t.Fatalf("spans %v of service: %t, key %q", spans, collector.From("service"), collector.Header("x-api-key"))
	}
	if text := prototext.Format(spans[0]); strings.Contains(text, "s3cret") || !strings.Contains(text, "team-a") || !strings.Contains(text, "https://host/a") {
		t.Errorf("the span is %s", text)
	}
}

// The metrics of a registry reach a collector over TLS at each interval, and at the end.
func TestMetrics(t *testing.T) {
	collector := otlp.Start(t)
	registry := prometheus.NewRegistry()
	jobs := prometheus.NewCounterVec(prometheus.CounterOpts{Name: "jobs_total", Help: "Jobs."}, []string{"result"})
	registry.MustRegister(jobs)
	jobs.WithLabelValues("Failed").Add(2)
	o := NewOptions()
	o.Metrics, o.MetricsInterval = Collector{Endpoint: collector.Endpoint, CAFile: collector.CAFile}, 50*time.Millisecond
	stop, err := o.Export(t.Context(), "service", registry)
	if err != nil {
		t.Fatal(err)
	}
	for len(collector.Metrics()) == 0 {
		time.Sleep(10 * time.Millisecond)
	}
	jobs.WithLabelValues("Failed").Inc()
	if err := stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	values := func(m *metricspb.Metric) float64 { return m.GetSum().GetDataPoints()[0].GetAsDouble() }
	all := collector.Metrics()
	if first, last := all[0], all[len(all)-1]; first.GetName() != "jobs_total" || values(first) != 2 || values(last) != 3 || !collector.From("service") {
		t.Errorf("metrics %v", all)
	}
}

// A collector with a certificate of another CA gets nothing.
func TestUntrustedCollector(t *testing.T) {
	collector, other := otlp.Start(t), otlp.Start(t)
	o := NewOptions()
	o.Metrics = Collector{Endpoint: collector.Endpoint, CAFile: other.CAFile}
	stop, err := o.Export(t.Context(), "service", prometheus.NewRegistry())
	if err != nil {
		t.Fatal(err)
	}
	if err := stop(t.Context()); err == nil || len(collector.Metrics()) > 0 {
		t.Errorf("error %v, metrics %v", err, collector.Metrics())
	}
	o.Metrics.CAFile = filepath.Join(t.TempDir(), "missing")
	if _, err := o.Export(t.Context(), "service", prometheus.NewRegistry()); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("without the file of CAs: %v", err)
	}
}

func TestEndpoints(t *testing.T) {
	for endpoint, want := range map[string]struct{ wrong, clear bool }{
		"": {}, "collector:4317": {clear: true}, "http://collector:4317": {clear: true}, "127.0.0.1:4317": {}, "http://localhost:4317": {}, "https://collector:4317": {},
		"ftp://collector": {wrong: true}, "https://": {wrong: true}, "https://collector/v1/traces": {wrong: true}, ":": {wrong: true},
	} {
		o := NewOptions()
		o.Traces.Endpoint, o.Metrics.Endpoint = endpoint, endpoint
		flags := o.InTheClear()
		if err := o.Validate(); (err != nil) != want.wrong || (len(flags) == 2) != want.clear {
			t.Errorf("%q: error %v, in the clear %q", endpoint, err, flags)
		}
	}
}

func TestRefused(t *testing.T) {
	for want, o := range map[string]Options{
		"--tracing-ca-file needs --tracing-endpoint":               {Traces: Collector{CAFile: "a"}},
		"begins with https://":                                     {Metrics: Collector{Endpoint: "a:1", CAFile: "a"}, MetricsInterval: 1},
		"--metrics-export-interval must be positive":               {Metrics: Collector{Endpoint: "https://a:1"}},
		"--metrics-export-ca-file needs --metrics-export-endpoint": {Metrics: Collector{CAFile: "a"}},
		"--metrics-export-endpoint is not https://host:port":       {Metrics: Collector{Endpoint: "ftp://a"}, MetricsInterval: 1},
	} {
		if err := o.Validate(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want one with %q", err, want)
		}
	}
	if o := NewOptions(); o.Validate() != nil {
		t.Errorf("the defaults are refused: %v", o.Validate())
	}
}
