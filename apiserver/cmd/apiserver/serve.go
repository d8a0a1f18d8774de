package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus/promhttp"
	"golang.org/x/sync/errgroup"
	"google.golang.org/grpc/codes"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"k8s.io/klog/v2"
	"sigs.k8s.io/controller-runtime/pkg/certwatcher"

	"github.com/raygate/raygate/apiserver/internal/gateway"
	"github.com/raygate/raygate/apiserver/internal/interceptor"
	"github.com/raygate/raygate/apiserver/internal/rpcstatus"
)

var statusRows = []rpcstatus.Row{
	{Err: interceptor.ErrDraining, Code: codes.Unavailable, Reason: "DRAINING", RetryAfter: time.Second},
}

// run serves until ctx ends, and then drains.
func run(ctx context.Context, o *Options) error {
	a, err := newApp(ctx, o)
	if err != nil {
		return err
	}
	listeners, err := listen(ctx, o)
	if err != nil {
		return err
	}
	background, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	config, err := tlsConfig(background, o)
	if err != nil {
		return err
	}
	for _, s := range a.stores {
		go s.Run(background)
	}
	go a.followReadiness(background)

	rest, metrics := gateway.NewServer(a.gateway), gateway.NewServer(promhttp.HandlerFor(a.registry, promhttp.HandlerOpts{}))
	serving, failed := errgroup.WithContext(background)
	serving.Go(func() error { return a.grpc.Serve(withTLS(listeners["grpc"], config, "h2")) })
	for name, server := range map[string]*http.Server{"http": rest, "metrics": metrics} {
		l := listeners[name]
		if l == nil {
			continue
		}
		if name == "http" {
			l = withTLS(l, config, "http/1.1")
		}
		serving.Go(func() error {
			if err := server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
				return fmt.Errorf("serving %s: %w", name, err)
			}
			return nil
		})
	}
	klog.FromContext(ctx).Info("Serving", "grpc", listeners["grpc"].Addr().String(), "http", o.HTTPAddress, "authentication", o.Authentication, "tls", config != nil)
	select {
	case <-ctx.Done():
	case <-failed.Done():
		return serving.Wait()
	}
	a.shutdown(klog.FromContext(ctx), rest, metrics)
	stop()
	return nil
}

// listen opens the ports, so that a port in use is an error at once and not a line in the log.
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

// tlsConfig returns nil for plain text.
func tlsConfig(ctx context.Context, o *Options) (*tls.Config, error) {
	if o.TLSCertFile == "" {
		return nil, nil
	}
	watcher, err := certwatcher.New(o.TLSCertFile, o.TLSKeyFile)
	if err != nil {
		return nil, fmt.Errorf("reading the TLS certificate: %w", err)
	}
	go func() {
		if err := watcher.Start(ctx); err != nil {
			klog.FromContext(ctx).Error(err, "Watching the TLS certificate ended")
		}
	}()
	return &tls.Config{MinVersion: tls.VersionTLS12, GetCertificate: watcher.GetCertificate}, nil
}

func withTLS(l net.Listener, config *tls.Config, protocol string) net.Listener {
	if config == nil {
		return l
	}
	config = config.Clone()
	config.NextProtos = []string{protocol}
	return tls.NewListener(l, config)
}

// followReadiness keeps the gRPC health service at what the cache says, one entry per service.
func (a *app) followReadiness(ctx context.Context) {
	ticker := time.NewTicker(200 * time.Millisecond)
	defer ticker.Stop()
	for {
		all := healthpb.HealthCheckResponse_SERVING
		for i, sd := range gateway.Services() { // in the order of kinds, as the stores
			state := healthpb.HealthCheckResponse_SERVING
			if ready(a.stores[i]) != nil {
				state, all = healthpb.HealthCheckResponse_NOT_SERVING, healthpb.HealthCheckResponse_NOT_SERVING
			}
			a.health.SetServingStatus(string(sd.FullName()), state)
		}
		a.health.SetServingStatus("", all)
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

// shutdown withdraws readiness, lets load balancers notice, ends the streams and waits, not for ever, for running calls.
func (a *app) shutdown(log klog.Logger, servers ...*http.Server) {
	log.Info("Draining", "delay", a.opts.DrainDelay, "timeout", a.opts.DrainTimeout)
	close(a.draining)
	a.health.Shutdown()
	time.Sleep(a.opts.DrainDelay)
	a.drain()
	ctx, cancel := context.WithTimeout(context.Background(), a.opts.DrainTimeout)
	defer cancel()
	var all errgroup.Group
	for _, s := range servers {
		all.Go(func() error {
			if err := s.Shutdown(ctx); err != nil {
				return s.Close()
			}
			return nil
		})
	}
	_ = all.Wait()
	force := context.AfterFunc(ctx, a.grpc.Stop)
	defer force()
	a.grpc.GracefulStop()
	log.Info("Stopped")
}
