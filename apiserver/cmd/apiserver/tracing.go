package main

import (
	"net/http"

	"go.opentelemetry.io/contrib/instrumentation/net/http/otelhttp"
	"k8s.io/component-base/tracing"
)

// serviceName is the name of the gateway in traces and metrics.
const serviceName = "raygate-apiserver"

// sampling is the help text of the rate of traces.
const sampling = "How many of a million calls are traced. A trace that a caller sends is linked and does not decide."

// traced makes a span of each request. Callers do not control sampling: their span is a link of a new trace of the gateway.
func traced(h http.Handler, provider tracing.TracerProvider) http.Handler {
	return otelhttp.NewHandler(h, "rest", otelhttp.WithPropagators(tracing.Propagators()), otelhttp.WithTracerProvider(provider),
		otelhttp.WithPublicEndpointFn(func(*http.Request) bool { return true }))
}
