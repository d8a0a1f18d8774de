package telemetry

import (
	"context"
	"net/url"
	"slices"
	"strings"

	"go.opentelemetry.io/otel/attribute"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
)

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
	"error.type", "http.request.", "http.response.", "http.route", "k8s.", "network.", "raygate.", "rpc.", "server.", "url.full", "url.scheme", "user_agent.",
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
