package main

import (
	"context"
	"fmt"
	"net/url"

	"github.com/spf13/pflag"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/controller"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/operator/internal/controller/rayservice"
	"github.com/raygate/raygate/operator/internal/dashboards"
	"github.com/raygate/raygate/operator/internal/features"
	"github.com/raygate/raygate/operator/internal/metrics"
	"github.com/raygate/raygate/operator/internal/servemetrics"
	"github.com/raygate/raygate/operator/internal/serveplan"
	"github.com/raygate/raygate/pkg/headpod"
)

// RayServiceOptions are the settings of RayService.
type RayServiceOptions struct {
	// ZeroDowntime upgrades with a second cluster if the strategy is unset.
	ZeroDowntime bool
	// Prometheus is the URL of the Prometheus for analyses of canaries; empty means none.
	Prometheus string
}

func (o *RayServiceOptions) addFlags(fs *pflag.FlagSet) {
	fs.StringVar(&o.Prometheus, "prometheus-url", o.Prometheus, "Prometheus that scrapes Ray Pods (docs/observability.md), for the annotation "+rayv1.AnnotationCanaryAnalysis+", as in http://prometheus.monitoring.svc:9090. Unset: an analysis has no result.")
}

func (o *RayServiceOptions) validate(refuse func(flag, format string, args ...any)) {
	if u, err := url.Parse(o.Prometheus); o.Prometheus != "" && (err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https") {
		refuse("prometheus-url", "is %q, but must be an http or https URL", o.Prometheus)
	}
}

// addRayService sets up the controller of RayServices.
func addRayService(ctx context.Context, mgr ctrl.Manager, o *Options, with inCommon) error {
	c := rayServiceSettings(o)
	c.Client, c.Live, c.APIs, c.Archive = mgr.GetClient(), mgr.GetAPIReader(), with.kinds, with.past
	c.Recorder, c.Clock = mgr.GetEventRecorder(rayservice.EventSource), clock.RealClock{}
	var err error
	if c.Connect, err = connect(o, mgr.GetClient()); err != nil {
		return err
	}
	if c.Probe, err = probe(o); err != nil {
		return err
	}
	if o.RayService.Prometheus != "" {
		if c.Metrics, err = servemetrics.New(o.RayService.Prometheus); err != nil {
			return err
		}
	}
	if o.Metrics {
		if err := o.register(metrics.NewRayService(mgr.GetClient())); err != nil {
			return err
		}
	}
	return rayservice.New(c).SetupWithManager(ctx, mgr, controller.Options{MaxConcurrentReconciles: o.ReconcileConcurrency})
}

func rayServiceSettings(o *Options) rayservice.Config {
	return rayservice.Config{
		Validation:    validationOptions(o),
		Service:       o.Service,
		Version:       o.Pod.OperatorVersion,
		ClusterDomain: o.Pod.ClusterDomain,
		Gates: serveplan.Gates{
			IncrementalUpgrade: o.Gates.Enabled(features.RayServiceIncrementalUpgrade),
			NoZeroDowntime:     !o.RayService.ZeroDowntime,
		},
	}
}

// probe returns the way to connect to proxies of Ray Serve.
func probe(o *Options) (dashboards.Probe, error) {
	if !o.UseKubernetesProxy {
		return dashboards.ProbeDirect(headpod.NewTransport(o.Config.Host)), nil
	}
	server, err := serverURL(o.Config)
	if err != nil {
		return nil, err
	}
	transport, err := rest.TransportFor(o.Config)
	if err != nil {
		return nil, fmt.Errorf("making the transport to proxies: %w", err)
	}
	return dashboards.ProbeProxied(server, transport), nil
}
