package main

import (
	"context"
	"fmt"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/resource"
	"k8s.io/component-base/tracing"
	tracingapi "k8s.io/component-base/tracing/api/v1"
)

// newTracing returns nil when tracing is off.
func newTracing(ctx context.Context, o *Options) (tracing.TracerProvider, error) {
	if o.TracingEndpoint == "" {
		return nil, nil
	}
	service := resource.WithAttributes(attribute.String("service.name", "raygate-apiserver"))
	provider, err := tracing.NewProvider(ctx, &tracingapi.TracingConfiguration{Endpoint: &o.TracingEndpoint, SamplingRatePerMillion: &o.TracingSamplingRatePerMillion}, nil, []resource.Option{service})
	if err != nil {
		return nil, fmt.Errorf("starting tracing: %w", err)
	}
	return provider, nil
}
