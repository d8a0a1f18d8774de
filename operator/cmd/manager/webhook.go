package main

import (
	"context"
	"fmt"

	ctrl "sigs.k8s.io/controller-runtime"
	ctrlmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"
	ctrlwebhook "sigs.k8s.io/controller-runtime/pkg/webhook"

	"github.com/raygate/raygate/operator/internal/webhook"
	"github.com/raygate/raygate/operator/internal/webhook/certs"
)

// addWebhooks serves the webhooks on every replica, not only the leader. It does nothing unless they are on.
func addWebhooks(ctx context.Context, mgr ctrl.Manager, o *Options) error {
	if !o.Webhooks {
		return nil
	}
	server := ctrlwebhook.NewServer(ctrlwebhook.Options{Port: o.Webhook.Port, CertDir: o.Webhook.CertDir})
	m := webhook.NewMetrics()
	for _, c := range append(m.Collectors(), certs.NewExpiryCollector(o.Webhook.CertDir)) {
		if err := ctrlmetrics.Registry.Register(c); err != nil {
			return fmt.Errorf("registering metrics: %w", err)
		}
	}
	engine, err := addDeviceAdmission(ctx, mgr, o, server.Register)
	if err != nil {
		return fmt.Errorf("setting up device admission: %w", err)
	}
	webhook.Register(server.Register, validationOptions(o), o.Webhook.stage, m, o.Devices.forWebhooks(engine))
	warnUnknownVersions(o.Config)
	// The Service must not route to a replica that has no certificate yet.
	if err := mgr.AddReadyzCheck("webhooks", server.StartedChecker()); err != nil {
		return fmt.Errorf("adding the health check: %w", err)
	}
	if !o.Webhook.SelfManaged {
		return mgr.Add(server)
	}
	ready, err := certs.Add(ctx, mgr, certs.Options{
		Namespace:               o.Webhook.Namespace,
		Secret:                  o.Webhook.Secret,
		Dir:                     o.Webhook.CertDir,
		Service:                 o.Webhook.Service,
		ValidatingConfiguration: o.Webhook.ValidatingConfiguration,
		MutatingConfiguration:   o.Webhook.MutatingConfiguration,
	})
	if err != nil {
		return err
	}
	return mgr.Add(&lateServer{server: server, ready: ready})
}

// lateServer is a server that starts when a certificate exists.
type lateServer struct {
	server ctrlwebhook.Server
	ready  <-chan struct{}
}

// Start implements manager.Runnable.
func (s *lateServer) Start(ctx context.Context) error {
	select {
	case <-s.ready:
		return s.server.Start(ctx)
	case <-ctx.Done():
		return nil
	}
}

// NeedLeaderElection implements manager.LeaderElectionRunnable.
func (*lateServer) NeedLeaderElection() bool { return false }
