package main

import (
	"context"
	"fmt"

	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/controller"

	"github.com/raygate/raygate/operator/internal/controller/rayservice"
	"github.com/raygate/raygate/operator/internal/dashboards"
	"github.com/raygate/raygate/operator/internal/features"
	"github.com/raygate/raygate/operator/internal/metrics"
	"github.com/raygate/raygate/operator/internal/serveplan"
	"github.com/raygate/raygate/pkg/headpod"
)

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
