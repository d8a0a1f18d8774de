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
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	clientscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/component-base/tracing"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/apiserver/internal/console"
	"github.com/raygate/raygate/apiserver/internal/dashboardproxy"
	"github.com/raygate/raygate/apiserver/internal/document"
	"github.com/raygate/raygate/apiserver/internal/edge"
	"github.com/raygate/raygate/apiserver/internal/interceptor"
	"github.com/raygate/raygate/apiserver/internal/resource"
	"github.com/raygate/raygate/apiserver/internal/rest"
	"github.com/raygate/raygate/apiserver/internal/rpcstatus"
	"github.com/raygate/raygate/apiserver/internal/service"
	"github.com/raygate/raygate/apiserver/internal/store"
	"github.com/raygate/raygate/pkg/validation"
)

const (
	// maxReceive bounds a gRPC request.
	maxReceive = 4 << 20
	// longestCall is the deadline of the longest unary call, a wait.
	longestCall = 10 * time.Minute
)

// app is all parts of the process.
type app struct {
	opts     *Options
	stores   []stores // in the order of kinds
	edge     *edge.Edge
	v1       *v1
	grpc     *grpc.Server
	rest     *rest.Server
	console  *console.Console // nil when it is off
	health   *health.Server
	registry *prometheus.Registry
	tracing  tracing.TracerProvider // nil when it is off
	// drain ends the streams when cancelled.
	drain context.CancelFunc
	// draining makes readiness fail.
	draining chan struct{}
}

func newApp(ctx context.Context, o *Options, certificates *certificates, tls serverTLS) (*app, error) {
	a := &app{opts: o, health: health.NewServer(), registry: prometheus.NewRegistry(), draining: make(chan struct{})}
	var err error
	if a.tracing, err = newTracing(ctx, o); err != nil {
		return nil, err
	}
	if a.tracing != nil {
		o.restConfig.Wrap(tracing.WrapperFor(a.tracing))
	}
	access, err := newAccess(o, certificates)
	if err != nil {
		return nil, err
	}
	core, err := store.NewClient(access.caller, clientscheme.Scheme, corev1.SchemeGroupVersion, store.ClientOptions{})
	if err != nil {
		return nil, err
	}
	if err := o.addPageTokenSecret(ctx, access.own); err != nil {
		return nil, err
	}
	views, tokens := document.NewCache(int(o.memory.views)), store.NewTokens(o.pageTokenKeys, nil)
	if a.stores, err = newAllStores(o, access, views, &tokens); err != nil {
		return nil, err
	}

	table := rpcstatus.NewTable(service.StatusRows()...)
	entry := edge.New(edge.Options{Identifier: access.identifier, Table: table, Limits: o.limits(), MaxBody: maxReceive, StreamAge: o.MaxConnectionAge})
	metrics := grpcprom.NewServerMetrics(grpcprom.WithServerHandlingTimeHistogram())
	stop, drain := context.WithCancel(context.WithoutCancel(ctx))
	a.drain = drain
	chain := interceptor.Chain(chainOf(stop, table, metrics, o.CallTimeout))

	a.edge, a.grpc = entry, grpc.NewServer(append(a.grpcOptions(tls), entry.ServerOptions()...)...)
	services := entry.Registrar(a.grpc, chain.Unary, chain.Stream)
	inProcess := interceptor.NewChannel(chain)
	pods, err := store.NewClient(access.own, clientscheme.Scheme, corev1.SchemeGroupVersion, store.ClientOptions{})
	if err != nil {
		return nil, err
	}
	dashboards, err := dashboardproxy.New(dashboardproxy.Options{
		Caller: access.caller, Core: core, Pods: pods, Authorizer: access.authorizer, Cluster: a.stores[0].get, KubernetesProxy: o.UseKubernetesProxy, Stop: stop.Done(),
	})
	if err != nil {
		return nil, err
	}
	o.devices.follow(stop)
	resources := make([]*resource.Resource, len(kinds))
	for i, kind := range kinds {
		resources[i] = resource.New(kind, resource.Options{
			In: a.stores[i].in, Authorizer: access.authorizer, Validation: validation.Options{Gates: o.gates},
			Warn: interceptor.AddWarning, Core: core, Views: views, Devices: o.devices.registry(),
		})
	}
	for _, server := range []grpc.ServiceRegistrar{services, inProcess} {
		service.RegisterAll(server, service.Resources{Clusters: resources[0], Jobs: resources[1], Services: resources[2], CronJobs: resources[3]}, dashboards, tokens)
	}
	healthpb.RegisterHealthServer(services, a.health)
	reflectionpb.RegisterServerReflectionServer(services, reflection.NewServerV1(reflection.ServerOptions{Services: a.grpc}))
	parts := apiParts{resources, dashboards, views, &tokens, core, stop.Done(), entry, table, []grpc.ServiceRegistrar{services, inProcess}, inProcess, a.registry, a.record}
	if a.v1, err = newV1(o, access, parts); err != nil {
		return nil, err
	}
	metrics.InitializeMetrics(a.grpc)

	if err := a.newREST(access, parts); err != nil {
		return nil, err
	}
	a.registry.MustRegister(metrics, entry, a.rest, collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}), collectors.NewBuildInfoCollector(),
		gauge("encoded_bytes", "Bytes of encoded objects kept for answers.", nil, func() float64 { return float64(views.Size()) }))
	for i, s := range a.stores {
		labels := prometheus.Labels{"resource": kinds[i].Resource}
		a.registry.MustRegister(
			gauge("cached_objects", "Objects in the watch cache.", labels, func() float64 { return float64(s.size()) }),
			gauge("cache_age_seconds", "Time without contact to the API server.", labels, func() float64 { return s.age().Seconds() }))
	}
	return a, nil
}

// record makes a write of an object visible to reads. It does nothing for a resource or a namespace that is not served.
func (a *app) record(resource string, key types.NamespacedName, answer []byte) error {
	for i := range kinds {
		if kinds[i].Resource == resource {
			if st, err := a.stores[i].one(key.Namespace); err == nil {
				return st.Record(key, answer)
			}
		}
	}
	return nil
}

// newAllStores returns the stores of all kinds, in their order.
func newAllStores(o *Options, access *access, views *document.Cache, tokens *store.Tokens) ([]stores, error) {
	gvks := make([]schema.GroupVersionKind, len(kinds))
	for i := range kinds {
		gvks[i] = kinds[i].GroupVersionKind
	}
	scheme := store.NewScheme(gvks...)
	reader, err := store.NewClient(access.own, scheme, rayv1.GroupVersion, store.ClientOptions{})
	if err != nil {
		return nil, err
	}
	writer, err := store.NewClient(access.caller, scheme, rayv1.GroupVersion, store.ClientOptions{OnWarning: interceptor.AddWarning})
	if err != nil {
		return nil, err
	}
	all := make([]stores, len(kinds))
	for i := range kinds {
		all[i] = newStores(kinds[i].Kind, o.Namespaces, store.Options{Reader: reader, Writer: writer, Tokens: tokens, Views: views, LogBytes: o.logBytes()})
	}
	return all, nil
}

// logBytes is the share of one store in the memory for changes.
func (o *Options) logBytes() int {
	return int(o.memory.changes) / len(kinds) / max(len(o.Namespaces), 1)
}

func gauge(name, help string, labels prometheus.Labels, value func() float64) prometheus.Collector {
	return prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "raygate_apiserver_" + name, Help: help, ConstLabels: labels}, value)
}

// kinds are what is served, in the order of restv2.Services.
var kinds = []resource.Kind{service.Clusters, service.Jobs, service.Services, service.CronJobs}

// chainOf is the way of every call behind the edge, outermost first.
func chainOf(stop context.Context, table *rpcstatus.Table, metrics *grpcprom.ServerMetrics, timeout time.Duration) []interceptor.Interceptor {
	mutates := func(method string) bool { return edge.MethodOf(method).Mutates }
	long := func(method string) bool { return edge.MethodOf(method).Long }
	return []interceptor.Interceptor{
		interceptor.RequestID(), // first: everything after it logs or returns the id
		interceptor.Errors(table.Status),
		interceptor.Recovery(), // a panic in what follows ends the call, not the process
		interceptor.Of(metrics.UnaryServerInterceptor(), metrics.StreamServerInterceptor()),
		interceptor.AccessLog(mutates, long),
		interceptor.Deadline(timeout, long),
		interceptor.Errors(table.Status), // before log and metrics, so that they see the code the client gets
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
			// Streams end by themselves at the same age, so that only what waits uses the grace.
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

// checks are those of readiness.
func (a *app) checks() []rest.Check {
	checks := []rest.Check{{Name: "draining", Run: func() (string, error) {
		select {
		case <-a.draining:
			return "", interceptor.ErrDraining
		default:
			return "", nil
		}
	}}}
	for i, s := range a.stores {
		checks = append(checks, rest.Check{Name: "cache-" + kinds[i].Resource, Run: s.check})
	}
	return checks
}
