package main

import (
	"context"
	"time"

	grpcprom "github.com/grpc-ecosystem/go-grpc-middleware/providers/prometheus"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"go.opentelemetry.io/contrib/instrumentation/google.golang.org/grpc/otelgrpc"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	_ "google.golang.org/grpc/encoding/gzip" // for clients that ask for it
	"google.golang.org/grpc/health"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/reflection"
	reflectionpb "google.golang.org/grpc/reflection/grpc_reflection_v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/component-base/tracing"

	"github.com/raygate/raygate/apiserver/internal/authn"
	"github.com/raygate/raygate/apiserver/internal/console"
	"github.com/raygate/raygate/apiserver/internal/dashboardproxy"
	"github.com/raygate/raygate/apiserver/internal/encoding"
	"github.com/raygate/raygate/apiserver/internal/flowcontrol"
	"github.com/raygate/raygate/apiserver/internal/interceptor"
	"github.com/raygate/raygate/apiserver/internal/packages"
	"github.com/raygate/raygate/apiserver/internal/profile"
	"github.com/raygate/raygate/apiserver/internal/resource"
	"github.com/raygate/raygate/apiserver/internal/rest"
	"github.com/raygate/raygate/apiserver/internal/rpcstatus"
	"github.com/raygate/raygate/apiserver/internal/service"
	"github.com/raygate/raygate/apiserver/internal/store"
	"github.com/raygate/raygate/pkg/history"
	_ "github.com/raygate/raygate/pkg/history/drivers" // file://, s3:// and azblob://
	"github.com/raygate/raygate/pkg/validation"
)

const (
	// maxReceive bounds a gRPC request.
	maxReceive = 4 << 20
	// longestCall is the deadline of the longest unary call, a wait.
	longestCall = 10 * time.Minute
)

// app has all parts of the process.
type app struct {
	opts *Options
	*clients
	*access

	table      *rpcstatus.Table
	views      *encoding.Cache
	tokens     store.Tokens
	stores     map[string]stores    // by resource
	resources  []*resource.Resource // in the order of kinds
	dashboards *dashboardproxy.Proxy
	past       *dashboardproxy.Past // nil without a history
	packages   *packages.Store      // nil if it is off

	flow *flowcontrol.Controller
	grpc *grpc.Server
	// servers register services: for gRPC clients, and for channel.
	servers []grpc.ServiceRegistrar
	// channel calls the services in this process.
	channel *interceptor.Channel
	v1      v1
	rest    *rest.Server
	console *console.Console // nil if it is off

	health   *health.Server
	registry *prometheus.Registry
	metrics  *grpcprom.ServerMetrics
	tracing  tracing.TracerProvider // nil if it is off
	// drain ends the streams, and closes stop.
	drain context.CancelFunc
	stop  <-chan struct{}
	// draining is closed when readiness is withdrawn.
	draining chan struct{}
}

func newApp(ctx context.Context, o *Options, certificates *certificates, tls serverTLS) (*app, error) {
	a := &app{
		opts: o, health: health.NewServer(), registry: prometheus.NewRegistry(), draining: make(chan struct{}),
		table: rpcstatus.NewTable(service.StatusRows()...), views: encoding.NewCache(int(o.memory.views)), metrics: grpcprom.NewServerMetrics(grpcprom.WithServerHandlingTimeHistogram()),
	}
	stop, drain := context.WithCancel(context.WithoutCancel(ctx))
	a.stop, a.drain = stop.Done(), drain
	if err := a.connect(ctx, certificates); err != nil {
		return nil, err
	}
	a.addServer(interceptor.Chain(chainOf(stop, a.table, a.metrics, o.CallTimeout)), tls)
	o.devices.follow(stop)
	for _, add := range []func() error{a.addServices, a.addV1, a.addREST} {
		if err := add(); err != nil {
			return nil, err
		}
	}
	a.addMetrics()
	return a, nil
}

// connect prepares reads and writes of the API server.
func (a *app) connect(ctx context.Context, certificates *certificates) (err error) {
	o := a.opts
	if a.tracing, err = o.Telemetry.Tracer(ctx, serviceName); err != nil {
		return err
	}
	if a.tracing != nil {
		o.restConfig.Wrap(tracing.WrapperFor(a.tracing))
	}
	if a.clients, err = newClients(o.restConfig, authn.Mode(o.Authentication)); err != nil {
		return err
	}
	if a.access, err = newAccess(context.WithoutCancel(ctx), o, a.clients, certificates); err != nil {
		return err
	}
	if err := o.addPageTokenSecret(ctx, a.ownCore); err != nil {
		return err
	}
	a.tokens = store.NewTokens(o.pageTokenKeys, nil)
	a.stores = map[string]stores{}
	for _, kind := range kinds {
		a.stores[kind.Resource] = newStores(kind.Kind, o.Namespaces, store.Options{
			Reader: a.ownRay, Writer: a.ray, Tokens: &a.tokens, Views: a.views, LogBytes: o.logBytes(),
		})
	}
	return nil
}

// addServer makes the gRPC server, and the channel by which REST calls the same services.
func (a *app) addServer(chain interceptor.Interceptor, tls serverTLS) {
	o := a.opts
	a.flow = flowcontrol.New(flowcontrol.Options{Identifier: a.identifier, Table: a.table, Limits: o.limits(), MaxBody: maxReceive, StreamAge: o.MaxConnectionAge})
	a.grpc = grpc.NewServer(append(a.grpcOptions(tls), a.flow.ServerOptions()...)...)
	a.channel = interceptor.NewChannel(chain)
	a.servers = []grpc.ServiceRegistrar{a.flow.Registrar(a.grpc, chain.Unary, chain.Stream), a.channel}
}

// addServices registers the services of version 2, and gRPC's own services.
func (a *app) addServices() (err error) {
	o := a.opts
	if a.dashboards, err = dashboardproxy.New(dashboardproxy.Options{
		Caller: a.config, Core: a.core, Pods: a.ownCore, Authorizer: a.authorizer, Cluster: a.stores[service.Clusters.Resource].get, KubernetesProxy: o.UseKubernetesProxy, Stop: a.stop,
	}); err != nil {
		return err
	}
	profiles := &profile.Reader{Core: a.core, Authorizer: a.authorizer, Namespace: o.ProfileNamespace}
	a.resources = make([]*resource.Resource, len(kinds))
	for i, kind := range kinds {
		a.resources[i] = resource.New(kind, resource.Options{
			In: storeIn[resource.Store](a.stores[kind.Resource]), Authorizer: a.authorizer, Validation: validation.Options{Gates: o.gates},
			Warn: interceptor.AddWarning, Core: a.core, Views: a.views, Devices: o.devices.live, Profiles: profiles,
		})
	}
	r := service.Resources{Kinds: a.resources, Profiles: profiles}
	if o.HistoryStore != "" {
		if r.History, err = history.Open(context.Background(), o.HistoryStore, history.Limits{}); err != nil {
			return err
		}
	}
	if a.packages, err = a.openPackages(context.Background()); err != nil {
		return err
	}
	r.Packages = a.packages
	if a.past, err = newPast(o, r, a.dashboards); err != nil {
		return err
	}
	for _, server := range a.servers {
		service.RegisterAll(server, r, a.dashboards, a.tokens)
	}
	healthpb.RegisterHealthServer(a.servers[0], a.health)
	reflectionpb.RegisterServerReflectionServer(a.servers[0], reflection.NewServerV1(reflection.ServerOptions{Services: a.grpc}))
	return nil
}

// addMetrics registers the metrics after all services are registered.
func (a *app) addMetrics() {
	a.metrics.InitializeMetrics(a.grpc)
	a.registry.MustRegister(a.metrics, a.flow, a.rest,
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}), collectors.NewBuildInfoCollector(),
		gauge("encoded_bytes", "Bytes of encoded objects kept for answers.", nil, func() float64 { return float64(a.views.Size()) }))
	for name, s := range a.stores {
		labels := prometheus.Labels{"resource": name}
		a.registry.MustRegister(
			gauge("cached_objects", "Objects in the watch cache.", labels, func() float64 { return float64(s.size()) }),
			gauge("cache_age_seconds", "Time without contact to the API server.", labels, func() float64 { return s.age().Seconds() }))
	}
}

// record makes a write of an object visible to reads. It does nothing for a resource or a namespace that is not served.
func (a *app) record(resource string, key types.NamespacedName, answer []byte) error {
	if st, err := a.stores[resource].one(key.Namespace); err == nil {
		return st.Record(key, answer)
	}
	return nil
}

// logBytes is the share of one store in the memory for changes.
func (o *Options) logBytes() int {
	return int(o.memory.changes) / len(kinds) / max(len(o.Namespaces), 1)
}

func gauge(name, help string, labels prometheus.Labels, value func() float64) prometheus.Collector {
	return prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "raygate_apiserver_" + name, Help: help, ConstLabels: labels}, value)
}

var kinds = service.Kinds

// chainOf is the way of every call behind flow control, outermost first.
func chainOf(stop context.Context, table *rpcstatus.Table, metrics *grpcprom.ServerMetrics, timeout time.Duration) []interceptor.Interceptor {
	mutates := func(method string) bool { return flowcontrol.MethodOf(method).Mutates }
	long := func(method string) bool { return flowcontrol.MethodOf(method).Long }
	return []interceptor.Interceptor{
		interceptor.RequestID(), // first: everything after it logs or returns the id
		interceptor.Errors(table),
		interceptor.Recovery(), // a panic in the steps below ends the call, not the process
		interceptor.Of(metrics.UnaryServerInterceptor(), metrics.StreamServerInterceptor()),
		interceptor.AccessLog(mutates, long),
		interceptor.Deadline(timeout, long),
		interceptor.Errors(table), // before log and metrics, so that they see the code the client gets
		interceptor.Drain(stop, long),
		interceptor.Warnings(),
		interceptor.Recovery(), // so that a panic of a service is counted and logged as the failed call it is
	}
}

func (a *app) grpcOptions(tls serverTLS) []grpc.ServerOption {
	options := []grpc.ServerOption{
		grpc.MaxConcurrentStreams(250), grpc.MaxHeaderListSize(64 << 10), grpc.ConnectionTimeout(10 * time.Second),
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: 10 * time.Second, PermitWithoutStream: true}),
		grpc.KeepaliveParams(keepalive.ServerParameters{
			Time: time.Minute, Timeout: 20 * time.Second, MaxConnectionIdle: 5 * time.Minute,
			// Streams end by themselves at the same age, so that only waiting calls use the grace period.
			MaxConnectionAge: a.opts.MaxConnectionAge, MaxConnectionAgeGrace: a.opts.MaxConnectionAge + longestCall,
		}),
	}
	if tls != nil {
		options = append(options, grpc.Creds(credentials.NewTLS(tls.config("h2"))))
	}
	if a.tracing != nil {
		options = append(options, grpc.StatsHandler(otelgrpc.NewServerHandler(otelgrpc.WithTracerProvider(a.tracing), otelgrpc.WithPropagators(tracing.Propagators()), otelgrpc.WithPublicEndpoint())))
	}
	return options
}

// checks are the checks of readiness.
func (a *app) checks() []rest.Check {
	checks := []rest.Check{{Name: "draining", Run: func() (string, error) {
		select {
		case <-a.draining:
			return "", interceptor.ErrDraining
		default:
			return "", nil
		}
	}}}
	for _, kind := range kinds {
		checks = append(checks, rest.Check{Name: "cache-" + kind.Resource, Run: a.stores[kind.Resource].check})
	}
	return checks
}
