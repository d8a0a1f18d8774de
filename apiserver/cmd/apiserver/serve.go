package main

import (
	"context"
	cryptotls "crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus/promhttp"
	"golang.org/x/sync/errgroup"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/klog/v2"

	"github.com/raygate/raygate/apiserver/internal/authn"
	"github.com/raygate/raygate/apiserver/internal/rest"
	"github.com/raygate/raygate/apiserver/internal/service"
	"github.com/raygate/raygate/pkg/telemetry"
	raygatev2 "github.com/raygate/raygate/proto/gen/go/raygate/v2"
)

// warn logs settings that are open to others.
func (o *Options) warn(log klog.Logger) {
	for _, address := range o.inTheClear() {
		log.Info("Tokens travel in the clear: use --tls-cert-file, or listen on loopback", "address", address)
	}
	for _, flag := range o.Telemetry.InTheClear() {
		log.Info("Traces or metrics travel in the clear: use https:// in this flag", "flag", flag)
	}
	if slices.Contains(o.CORSAllowedOrigins, rest.AnySite) {
		log.Info("--cors-allowed-origins=* lets pages of any site use the API by tokens of their own. It does not count where callers need no token: list the sites there")
	}
}

// run serves until ctx ends, and then drains.
func run(ctx context.Context, o *Options) error {
	log := klog.FromContext(ctx)
	o.memory.apply()
	background, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	certificates, err := loadCertificates(o)
	if err != nil {
		return err
	}
	tls, err := certificates.follow(background, authn.Mode(o.Authentication))
	if err != nil {
		return err
	}
	o.warn(log)
	a, err := newApp(ctx, o, certificates, tls)
	if err != nil {
		return err
	}
	listeners, err := listen(ctx, o)
	if err != nil {
		return err
	}
	a.follow(background)
	telemetry.LogErrors(log)
	sendMetrics, err := o.Telemetry.Export(ctx, serviceName, a.registry)
	if err != nil {
		return err
	}
	defer a.sendRest(ctx, sendMetrics)

	api, metrics := rest.NewServer(a.public()), rest.NewServer(a.metricsHandler())
	serving, failed := errgroup.WithContext(background)
	serving.Go(func() error { return a.grpc.Serve(a.flow.Listener(listeners["grpc"])) })
	if l := listeners["http"]; l != nil && tls != nil {
		listeners["http"] = cryptotls.NewListener(l, tls.config("h2", "http/1.1"))
	}
	for name, server := range map[string]*http.Server{"http": api, "metrics": metrics} {
		if l := listeners[name]; l != nil {
			serving.Go(func() error { return serveHTTP(name, server, l) })
		}
	}
	log.Info("Serving", "grpc", listeners["grpc"].Addr().String(), "http", o.HTTPAddress, "authentication", o.Authentication, "tls", tls != nil, "memoryLimit", o.memory.limit)
	select {
	case <-ctx.Done():
	case <-failed.Done():
		return serving.Wait()
	}
	a.shutdown(log, api, metrics)
	stop()
	return nil
}

func serveHTTP(name string, server *http.Server, l net.Listener) error {
	if err := server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serving %s: %w", name, err)
	}
	return nil
}

// public is the handler of the public port.
func (a *app) public() http.Handler {
	h := http.Handler(a.rest)
	if a.console != nil {
		h = a.console.WithSession(h)
	}
	if a.tracing != nil {
		h = traced(h, a.tracing)
	}
	return h
}

// sendRest sends the remaining spans and the last metrics, also after the end of ctx.
func (a *app) sendRest(ctx context.Context, metrics func(context.Context) error) {
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	if a.tracing != nil {
		_ = a.tracing.Shutdown(last)
	}
	_ = metrics(last)
}

// metricsHandler serves metrics, and health for probes, which have no client certificate.
func (a *app) metricsHandler() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("/metrics", promhttp.HandlerFor(a.registry, promhttp.HandlerOpts{}))
	for _, path := range []string{"/livez", "/readyz", "/healthz"} {
		mux.HandleFunc(path, a.rest.ServeHealth)
	}
	return mux
}

// listen opens the ports, so that a port in use is an immediate error and not a line in the log.
func listen(ctx context.Context, o *Options) (map[string]net.Listener, error) {
	all := map[string]net.Listener{}
	for name, address := range map[string]string{"grpc": o.GRPCAddress, "http": o.HTTPAddress, "metrics": o.MetricsAddress} {
		if address == "" {
			continue
		}
		l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", address)
		if err != nil {
			return nil, fmt.Errorf("listening for %s: %w (choose another --%s-address)", name, err, name)
		}
		all[name] = l
	}
	return all, nil
}

// follow fills the caches and keeps the health service up to date until ctx ends.
func (a *app) follow(ctx context.Context) {
	for _, s := range a.stores {
		s.run(ctx)
	}
	a.v1.run(ctx, &a.opts.V1)
	go a.followReadiness(ctx)
	if a.packages != nil {
		go a.sweepPackages(ctx)
	}
}

// followReadiness sets the gRPC health service to the state of the cache, one entry per service, until ctx ends.
func (a *app) followReadiness(ctx context.Context) {
	wait.UntilWithContext(ctx, func(context.Context) {
		all := healthpb.HealthCheckResponse_SERVING
		for _, kind := range kinds {
			state := healthpb.HealthCheckResponse_SERVING
			if _, err := a.stores[kind.Resource].check(); err != nil {
				state, all = healthpb.HealthCheckResponse_NOT_SERVING, healthpb.HealthCheckResponse_NOT_SERVING
			}
			a.health.SetServingStatus(kind.Service.ServiceName, state)
			if kind.Resource == service.Clusters.Resource { // services without a cache go by that of clusters
				a.health.SetServingStatus(raygatev2.SubmissionService_ServiceDesc.ServiceName, state)
				a.health.SetServingStatus(raygatev2.HistoryService_ServiceDesc.ServiceName, state)
				a.health.SetServingStatus(raygatev2.ProfileService_ServiceDesc.ServiceName, state)
			}
		}
		a.health.SetServingStatus("", all)
	}, 200*time.Millisecond)
}

// shutdown withdraws readiness, waits for load balancers, ends the streams, and waits with a timeout for running calls.
func (a *app) shutdown(log klog.Logger, servers ...*http.Server) {
	log.Info("Draining", "delay", a.opts.DrainDelay, "timeout", a.opts.DrainTimeout)
	close(a.draining)
	a.health.Shutdown()
	time.Sleep(a.opts.DrainDelay)
	a.drain()
	ctx, cancel := context.WithTimeout(context.Background(), a.opts.DrainTimeout)
	defer cancel()
	var all errgroup.Group
	all.Go(func() error {
		force := context.AfterFunc(ctx, a.grpc.Stop)
		defer force()
		a.grpc.GracefulStop()
		return nil
	})
	for _, s := range servers {
		all.Go(func() error {
			if err := s.Shutdown(ctx); err != nil {
				return s.Close()
			}
			return nil
		})
	}
	_ = all.Wait()
	log.Info("Stopped")
}
