package main

import (
	"context"
	"fmt"
	"net/url"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/operator/internal/controller/raycronjob"
	"github.com/raygate/raygate/operator/internal/controller/rayjob"
	"github.com/raygate/raygate/operator/internal/cronplan"
	"github.com/raygate/raygate/operator/internal/dashboards"
	"github.com/raygate/raygate/operator/internal/features"
	"github.com/raygate/raygate/operator/internal/jobplan"
	"github.com/raygate/raygate/operator/internal/metrics"
	"github.com/raygate/raygate/pkg/headpod"
)

// addRayJob sets up the controller of RayJobs.
func addRayJob(ctx context.Context, mgr ctrl.Manager, o *Options, with inCommon) error {
	c := rayJobSettings(o)
	c.Client, c.Live, c.APIs, c.Archive = mgr.GetClient(), mgr.GetAPIReader(), with.kinds, with.past
	c.Recorder, c.Clock = mgr.GetEventRecorder(rayjob.EventSource), clock.RealClock{}
	var err error
	if c.Connect, err = connect(o, mgr.GetClient()); err != nil {
		return err
	}
	if o.Metrics {
		c.Metrics = metrics.NewRayJob(mgr.GetClient())
		if err := o.register(c.Metrics); err != nil {
			return err
		}
	}
	return rayjob.New(c).SetupWithManager(ctx, mgr, controller.Options{MaxConcurrentReconciles: o.ReconcileConcurrency})
}

func rayJobSettings(o *Options) rayjob.Config {
	limits := jobplan.DefaultLimits()
	limits.Transition, limits.StatusCheck = o.RayJob.TransitionGrace, o.RayJob.StatusCheckTimeout
	limits.History = o.History.Wait
	limits.SubmitterFinished = o.RayJob.SubmitterFinishedTimeout
	return rayjob.Config{
		Validation:             validationOptions(o),
		Pod:                    o.Pod,
		Service:                o.Service,
		Scheduler:              o.scheduler(),
		Limits:                 limits,
		DeleteJob:              o.RayJob.DeleteWhenFinished,
		IgnoreDeletionStrategy: !o.Gates.Enabled(features.RayJobDeletionPolicy),
		SubmitterRestart:       o.Gates.Enabled(features.SidecarSubmitterRestart),
	}
}

// connect returns the way to connect to dashboards.
func connect(o *Options, pods client.Reader) (dashboards.Connect, error) {
	if !o.UseKubernetesProxy {
		return dashboards.Direct(pods, headpod.NewTransport(o.Config.Host)), nil
	}
	server, err := serverURL(o.Config)
	if err != nil {
		return nil, err
	}
	transport, err := rest.TransportFor(o.Config)
	if err != nil {
		return nil, fmt.Errorf("making the transport to dashboards: %w", err)
	}
	return dashboards.Proxied(server, transport), nil
}

// serverURL returns the URL of the API server.
func serverURL(c *rest.Config) (*url.URL, error) {
	tls := c.Insecure || len(c.CAData) > 0 || c.CAFile != "" || len(c.CertData) > 0 || c.CertFile != ""
	u, _, err := rest.DefaultServerURL(c.Host, "", schema.GroupVersion{}, tls)
	if err != nil {
		return nil, fmt.Errorf("reading the address of the API server: %w", err)
	}
	return u, nil
}

// addRayCronJob sets up the controller of RayCronJobs, if its gate is on.
func addRayCronJob(mgr ctrl.Manager, o *Options) error {
	if !o.Gates.Enabled(features.RayCronJob) {
		return nil
	}
	if o.Metrics {
		due := func(cj *rayv1.RayCronJob) time.Time { return cronplan.Due(cj, time.Local) }
		if err := o.register(metrics.NewRayCronJob(mgr.GetClient(), due)); err != nil {
			return err
		}
	}
	r := raycronjob.New(raycronjob.Config{
		Client:     mgr.GetClient(),
		Live:       mgr.GetAPIReader(),
		Recorder:   mgr.GetEventRecorder(raycronjob.EventSource),
		Clock:      clock.RealClock{},
		Validation: validationOptions(o),
		Inherit:    o.Shard.keys(),
	})
	return r.SetupWithManager(mgr, controller.Options{MaxConcurrentReconciles: o.ReconcileConcurrency})
}
