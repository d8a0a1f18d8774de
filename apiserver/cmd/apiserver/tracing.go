package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/spf13/pflag"
	"go.opentelemetry.io/contrib/instrumentation/net/http/otelhttp"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracegrpc"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"google.golang.org/grpc/credentials"
	"k8s.io/component-base/tracing"

	"github.com/raygate/raygate/apiserver/internal/rest"
)

// newTracing returns nil when tracing is off. The OTEL_EXPORTER_OTLP_HEADERS of the environment are sent along, for collectors that want credentials.
func newTracing(ctx context.Context, o *Options) (tracing.TracerProvider, error) {
	if o.Tracing.Endpoint == "" {
		return nil, nil
	}
	to, err := o.Tracing.exporterOptions()
	if err != nil {
		return nil, err
	}
	exporter, err := otlptracegrpc.New(ctx, to...)
	if err != nil {
		return nil, fmt.Errorf("starting tracing: %w", err)
	}
	sampler := sdktrace.ParentBased(sdktrace.TraceIDRatioBased(float64(o.Tracing.SamplingRatePerMillion) / 1_000_000))
	service := resource.NewSchemaless(attribute.String("service.name", "raygate-apiserver"))
	return sdktrace.NewTracerProvider(sdktrace.WithSampler(sampler), sdktrace.WithResource(service), sdktrace.WithBatcher(withoutSecrets{exporter})), nil
}

// TracingOptions are where traces go, and which.
type TracingOptions struct {
	Endpoint               string
	CAFile                 string
	SamplingRatePerMillion int32
}

func (o *TracingOptions) addFlags(fs *pflag.FlagSet) {
	fs.StringVar(&o.Endpoint, "tracing-endpoint", o.Endpoint, "OpenTelemetry collector (OTLP over gRPC), for example https://collector:4317, or http://collector:4317 without TLS; host:port also means without TLS. Empty switches tracing off. Credentials are in the environment variable OTEL_EXPORTER_OTLP_HEADERS, as name=value pairs, separated by commas.")
	fs.StringVar(&o.CAFile, "tracing-ca-file", o.CAFile, "PEM bundle of the CAs of the collector; those of the system if it is empty.")
	fs.Int32Var(&o.SamplingRatePerMillion, "tracing-sampling-rate-per-million", o.SamplingRatePerMillion, "How many of a million calls are traced. A trace that a caller sends is linked and does not decide.")
}

// url is the endpoint. One without a scheme, as flags before had it, is without TLS.
func (o TracingOptions) url() (*url.URL, error) {
	text := o.Endpoint
	if !strings.Contains(text, "://") {
		text = "http://" + text
	}
	u, err := url.Parse(text)
	if err != nil || u.Hostname() == "" || u.Scheme != "http" && u.Scheme != "https" || strings.Trim(u.Path, "/") != "" {
		return nil, errors.New("--tracing-endpoint is not https://host:port, http://host:port or host:port")
	}
	return u, nil
}

func (o TracingOptions) exporterOptions() ([]otlptracegrpc.Option, error) {
	u, err := o.url()
	if err != nil {
		return nil, err
	}
	options := []otlptracegrpc.Option{otlptracegrpc.WithEndpointURL(u.String())} // without TLS for http
	if u.Scheme == "https" && o.CAFile != "" {
		trusted, err := credentials.NewClientTLSFromFile(o.CAFile, "")
		if err != nil {
			return nil, fmt.Errorf("reading --tracing-ca-file: %w", err)
		}
		options = append(options, otlptracegrpc.WithTLSCredentials(trusted))
	}
	return options, nil
}

// validate reports invalid flags.
func (o TracingOptions) validate(check func(wrong bool, format string, args ...any)) {
	if o.Endpoint == "" {
		check(o.CAFile != "", "--tracing-ca-file needs --tracing-endpoint")
		return
	}
	u, err := o.url()
	check(err != nil, "%v", err)
	check(err == nil && u.Scheme != "https" && o.CAFile != "", "--tracing-ca-file needs an --tracing-endpoint that begins with https://")
}

// inTheClear reports whether traces leave this machine without TLS.
func (o TracingOptions) inTheClear() bool {
	u, err := o.url()
	return o.Endpoint != "" && err == nil && u.Scheme == "http" && !rest.IsLoopback(u.Host)
}

// traced makes a span of each request. Callers do not control sampling: their span is a link of a new trace of the gateway.
func traced(h http.Handler, provider tracing.TracerProvider) http.Handler {
	return otelhttp.NewHandler(h, "rest", otelhttp.WithPropagators(tracing.Propagators()), otelhttp.WithTracerProvider(provider),
		otelhttp.WithPublicEndpointFn(func(*http.Request) bool { return true }))
}

// withoutSecrets exports spans with the attributes that never contain credentials. Paths and queries may contain some; spans have the route
// instead.
type withoutSecrets struct{ sdktrace.SpanExporter }

// ExportSpans implements sdktrace.SpanExporter.
func (e withoutSecrets) ExportSpans(ctx context.Context, spans []sdktrace.ReadOnlySpan) error {
	filtered := make([]sdktrace.ReadOnlySpan, len(spans))
	for i, s := range spans {
		filtered[i] = filteredSpan{s}
	}
	return e.SpanExporter.ExportSpans(ctx, filtered)
}

type filteredSpan struct{ sdktrace.ReadOnlySpan }

// exported are the keys of attributes that pass, as prefixes.
var exported = []string{
	"error.type", "http.request.", "http.response.", "http.route", "network.", "rpc.", "server.", "url.full", "url.scheme", "user_agent.",
}

// Attributes implements sdktrace.ReadOnlySpan.
func (s filteredSpan) Attributes() []attribute.KeyValue {
	var kept []attribute.KeyValue
	for _, a := range s.ReadOnlySpan.Attributes() {
		if !slices.ContainsFunc(exported, func(prefix string) bool { return strings.HasPrefix(string(a.Key), prefix) }) || strings.Contains(string(a.Key), ".header.") {
			continue
		}
		if a.Key == "url.full" { // of a request to Kubernetes
			u, err := url.Parse(a.Value.AsString())
			if err != nil {
				continue
			}
			u.RawQuery, u.User = "", nil
			a = attribute.String("url.full", u.String())
		}
		kept = append(kept, a)
	}
	return kept
}
