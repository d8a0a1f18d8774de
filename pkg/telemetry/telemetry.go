package telemetry

import (
	"context"
	"fmt"
	"os"

	"github.com/prometheus/client_golang/prometheus"
	prometheusbridge "go.opentelemetry.io/contrib/bridges/prometheus"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlpmetric/otlpmetricgrpc"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracegrpc"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"k8s.io/component-base/tracing"
	"k8s.io/klog/v2"
)

// LogErrors logs that traces or metrics could not be sent. Without it, the library prints them in a format of its own.
func LogErrors(log klog.Logger) {
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) { log.Error(err, "Sending traces or metrics") }))
}

// Tracer returns a provider whose spans go to the collector, under the name of the service. It is nil if traces are off. Spans have no attributes
// that may contain credentials. Shutdown of the provider sends the remaining spans.
func (o *Options) Tracer(ctx context.Context, service string) (tracing.TracerProvider, error) {
	if o.Traces.Endpoint == "" {
		return nil, nil
	}
	endpoint, trusted, err := o.Traces.dial()
	if err != nil {
		return nil, fmt.Errorf("starting tracing: %w", err)
	}
	options := []otlptracegrpc.Option{otlptracegrpc.WithEndpointURL(endpoint)}
	if trusted != nil {
		options = append(options, otlptracegrpc.WithTLSCredentials(trusted))
	}
	exporter, err := otlptracegrpc.New(ctx, options...)
	if err != nil {
		return nil, fmt.Errorf("starting tracing: %w", err)
	}
	sampler := sdktrace.ParentBased(sdktrace.TraceIDRatioBased(float64(o.SamplingRatePerMillion) / 1_000_000))
	return sdktrace.NewTracerProvider(sdktrace.WithSampler(sampler), sdktrace.WithResource(named(service)), sdktrace.WithBatcher(withoutSecrets{exporter})), nil
}

// Export sends the metrics of a registry to the collector at each interval. stop sends them once more, and ends. It does nothing if metrics are off.
func (o *Options) Export(ctx context.Context, service string, from prometheus.Gatherer) (stop func(context.Context) error, err error) {
	if o.Metrics.Endpoint == "" {
		return func(context.Context) error { return nil }, nil
	}
	endpoint, trusted, err := o.Metrics.dial()
	if err != nil {
		return nil, fmt.Errorf("starting the export of metrics: %w", err)
	}
	options := []otlpmetricgrpc.Option{otlpmetricgrpc.WithEndpointURL(endpoint)}
	if trusted != nil {
		options = append(options, otlpmetricgrpc.WithTLSCredentials(trusted))
	}
	exporter, err := otlpmetricgrpc.New(ctx, options...)
	if err != nil {
		return nil, fmt.Errorf("starting the export of metrics: %w", err)
	}
	registry := prometheusbridge.NewMetricProducer(prometheusbridge.WithGatherer(from))
	reader := sdkmetric.NewPeriodicReader(exporter, sdkmetric.WithInterval(o.MetricsInterval), sdkmetric.WithProducer(registry))
	return sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader), sdkmetric.WithResource(named(service))).Shutdown, nil
}

// named describes this process. Its replicas differ by the name of the host, which is that of the Pod.
func named(service string) *resource.Resource {
	host, err := os.Hostname()
	if err != nil {
		host = ""
	}
	return resource.NewSchemaless(attribute.String("service.name", service), attribute.String("service.instance.id", host))
}
