package main

import (
	"context"
	"errors"
	"time"

	"go.opentelemetry.io/otel"
	"k8s.io/component-base/tracing"
	"k8s.io/klog/v2"
	ctrlmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/raygate/raygate/pkg/telemetry"
)

const (
	// serviceName is the name of the operator in traces and metrics.
	serviceName = "raygate-operator"
	// sendLimit is how long the last traces and metrics may take.
	sendLimit = 3 * time.Second
)

// startTelemetry sends traces of reconciles and of their requests to the API server, and the metrics, as far as the flags say so. stop sends the
// rest. It must run before clients are made.
func startTelemetry(ctx context.Context, o *Options) (stop func(), err error) {
	log := klog.Background().WithName("telemetry")
	for _, flag := range o.Telemetry.InTheClear() {
		log.Info("Traces or metrics travel in the clear: use https:// in this flag", "flag", flag)
	}
	telemetry.LogErrors(log)
	ends := make([]func(context.Context) error, 0, 2)
	provider, err := o.Telemetry.Tracer(ctx, serviceName)
	if err != nil {
		return nil, err
	}
	if provider != nil {
		otel.SetTracerProvider(provider)
		o.Config.Wrap(tracing.WrapperFor(provider))
		ends = append(ends, provider.Shutdown)
	}
	export, err := o.Telemetry.Export(ctx, serviceName, ctrlmetrics.Registry)
	if err != nil {
		return nil, err
	}
	ends = append(ends, export)
	return func() {
		last, cancel := context.WithTimeout(context.WithoutCancel(ctx), sendLimit)
		defer cancel()
		var errs []error
		for _, end := range ends {
			errs = append(errs, end(last))
		}
		if err := errors.Join(errs...); err != nil {
			log.Error(err, "Sending the last traces or metrics")
		}
	}, nil
}
