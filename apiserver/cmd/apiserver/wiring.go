package main

import (
	"context"
	"errors"
	"time"

	grpcprom "github.com/grpc-ecosystem/go-grpc-middleware/providers/prometheus"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"google.golang.org/grpc"
	"google.golang.org/grpc/health"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/reflection"
	"google.golang.org/protobuf/proto"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clientscheme "k8s.io/client-go/kubernetes/scheme"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/apiserver/internal/authn"
	"github.com/raygate/raygate/apiserver/internal/document"
	"github.com/raygate/raygate/apiserver/internal/gateway"
	"github.com/raygate/raygate/apiserver/internal/interceptor"
	"github.com/raygate/raygate/apiserver/internal/resource"
	"github.com/raygate/raygate/apiserver/internal/rpcstatus"
	"github.com/raygate/raygate/apiserver/internal/service"
	"github.com/raygate/raygate/apiserver/internal/store"
	"github.com/raygate/raygate/pkg/validation"
	raygatev2 "github.com/raygate/raygate/proto/gen/go/raygate/v2"
	"github.com/raygate/raygate/proto/gen/openapi"
)

const (
	// maxReceive bounds a gRPC request, maxSend a response: a page of full objects is long.
	maxReceive = 4 << 20
	maxSend    = 100 << 20
	// defaultDeadline is for unary calls whose client sets none.
	defaultDeadline = 60 * time.Second
)

// app is all parts of the process.
type app struct {
	opts     *Options
	stores   []*store.Store // in the order of kinds
	grpc     *grpc.Server
	gateway  *gateway.Gateway
	health   *health.Server
	registry *prometheus.Registry
	// drain ends the streams when cancelled.
	drain context.CancelFunc
	// draining makes readiness fail.
	draining chan struct{}
}

func newApp(ctx context.Context, o *Options) (*app, error) {
	a := &app{opts: o, health: health.NewServer(), registry: prometheus.NewRegistry(), draining: make(chan struct{})}
	token := authn.Token
	if o.Authentication == string(authn.None) {
		token = nil
	}
	var gvks []schema.GroupVersionKind
	for i := range kinds {
		gvks = append(gvks, kinds[i].StoreKind().GroupVersionKind)
	}
	scheme := store.NewScheme(gvks...)
	reader, err := store.NewClient(o.restConfig, scheme, rayv1.GroupVersion, store.ClientOptions{})
	if err != nil {
		return nil, err
	}
	writer, err := store.NewClient(o.restConfig, scheme, rayv1.GroupVersion, store.ClientOptions{Token: token, OnWarning: interceptor.AddWarning})
	if err != nil {
		return nil, err
	}
	core, err := store.NewClient(o.restConfig, clientscheme.Scheme, corev1.SchemeGroupVersion, store.ClientOptions{Token: token})
	if err != nil {
		return nil, err
	}
	views := document.NewCache(0)
	for i := range kinds {
		a.stores = append(a.stores, store.New(kinds[i].StoreKind(), store.Options{Reader: reader, Writer: writer, TokenKey: o.pageTokenKey, Views: views}))
	}

	authorizer, authenticate, err := accessOf(o)
	if err != nil {
		return nil, err
	}
	table := rpcstatus.NewTable(append(service.StatusRows(), statusRows...)...)
	metrics := grpcprom.NewServerMetrics(grpcprom.WithServerHandlingTimeHistogram())
	stop, drain := context.WithCancel(context.WithoutCancel(ctx))
	a.drain = drain
	// The way of every call, outermost first.
	chain := []interceptor.Interceptor{
		interceptor.RequestID(), // first: everything after it logs or returns the id
		interceptor.Errors(table.Status),
		interceptor.Recovery(), // a panic in what follows ends the call, not the process
		{Unary: metrics.UnaryServerInterceptor(), Stream: metrics.StreamServerInterceptor()},
		interceptor.AccessLog(),
		interceptor.Deadline(defaultDeadline),
		interceptor.Errors(table.Status), // before log and metrics, so that they see the code the client gets
		interceptor.Drain(stop),
		interceptor.Authentication(authenticate), // nothing looks at a request before
		interceptor.Warnings(),
		interceptor.Recovery(), // so that a panic of a service is counted and logged as the failed call it is
	}
	a.grpc = grpc.NewServer(append(interceptor.ServerOptions(chain),
		grpc.MaxRecvMsgSize(maxReceive), grpc.MaxSendMsgSize(maxSend), grpc.MaxConcurrentStreams(250), grpc.MaxHeaderListSize(64<<10),
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: 10 * time.Second, PermitWithoutStream: true}),
		grpc.KeepaliveParams(keepalive.ServerParameters{Time: time.Minute, Timeout: 20 * time.Second}),
	)...)
	rest := interceptor.Channel(chain)
	reviews := a.register(func(i int) resource.Options {
		return resource.Options{Store: a.stores[i], Authorizer: authorizer, Validation: validation.Options{Gates: o.gates}, Warn: interceptor.AddWarning, Core: core, Views: views}
	}, a.grpc, rest)
	healthpb.RegisterHealthServer(a.grpc, a.health)
	reflection.RegisterV1(a.grpc)
	metrics.InitializeMetrics(a.grpc)
	a.registry.MustRegister(metrics, collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}), collectors.NewBuildInfoCollector(),
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "raygate_apiserver_encoded_bytes", Help: "Bytes of encoded objects kept for answers."}, func() float64 { return float64(views.Size()) }))
	for _, s := range a.stores {
		labels := prometheus.Labels{"resource": s.Kind().Resource}
		a.registry.MustRegister(
			prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "raygate_apiserver_cached_objects", Help: "Objects in the watch cache.", ConstLabels: labels}, func() float64 { return float64(s.Size()) }),
			prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "raygate_apiserver_cache_age_seconds", Help: "Time without contact to the API server.", ConstLabels: labels}, func() float64 { return s.Age().Seconds() }))
	}
	a.gateway, err = gateway.New(ctx, gateway.Options{
		Conn: rest, Table: table, OpenAPI: openapi.V2, Review: reviews, Checks: a.checks(),
		Local: o.Authentication == string(authn.None) && !o.InsecureAllowRemoteNone,
	})
	return a, err
}

// kinds are what is served.
var kinds = []resource.Kind{service.ClusterKind, service.JobKind, service.ServiceKind, service.CronJobKind}

// register makes the services, in the order of kinds, and returns what asks them about an object of any kind.
func (a *app) register(options func(int) resource.Options, servers ...grpc.ServiceRegistrar) func(proto.Message, []rpcstatus.Violation) []rpcstatus.Violation {
	clusters, jobs, services, cronJobs := service.NewClusters(options(0)), service.NewJobs(options(1)), service.NewServices(options(2)), service.NewCronJobs(options(3))
	for _, s := range servers {
		raygatev2.RegisterClusterServiceServer(s, clusters)
		raygatev2.RegisterJobServiceServer(s, jobs)
		raygatev2.RegisterServeServiceServer(s, services)
		raygatev2.RegisterCronJobServiceServer(s, cronJobs)
	}
	return func(object proto.Message, form []rpcstatus.Violation) (all []rpcstatus.Violation) {
		for _, r := range []*resource.Resource{clusters.Resource, jobs.Resource, services.Resource, cronJobs.Resource} {
			all = append(all, r.Review(object, form)...)
		}
		return all
	}
}

// accessOf returns who decides on reads and how a call is told whose it is.
func accessOf(o *Options) (authn.Authorizer, interceptor.Authenticate, error) {
	if o.Authentication == string(authn.None) {
		return authn.AllowAll{}, func(ctx context.Context, _ string) (context.Context, error) { return ctx, nil }, nil
	}
	client, err := store.NewClient(o.restConfig, clientscheme.Scheme, authorizationv1.SchemeGroupVersion, store.ClientOptions{Token: authn.Token})
	if err != nil {
		return nil, nil, err
	}
	post := func(ctx context.Context, review *authorizationv1.SelfSubjectAccessReview) (*authorizationv1.SelfSubjectAccessReview, error) {
		answer := &authorizationv1.SelfSubjectAccessReview{}
		return answer, client.Post().Resource("selfsubjectaccessreviews").Body(review).Do(ctx).Into(answer)
	}
	authenticate := func(ctx context.Context, header string) (context.Context, error) {
		caller, err := authn.ParseBearer(header)
		if err != nil {
			return ctx, err
		}
		return authn.WithCaller(ctx, caller), nil
	}
	return authn.NewReviews(authn.SelfSubjectReview(post), nil), authenticate, nil
}

func (a *app) checks() []gateway.Check {
	checks := []gateway.Check{{Name: "draining", Run: func() error {
		select {
		case <-a.draining:
			return interceptor.ErrDraining
		default:
			return nil
		}
	}}}
	for _, s := range a.stores {
		checks = append(checks, gateway.Check{Name: "cache-" + s.Kind().Resource, Run: func() error { return ready(s) }})
	}
	return checks
}

// ready says why a store is no good yet. A kind that is not installed is nothing to wait for.
func ready(s *store.Store) error {
	if err := s.Ready(); !errors.Is(err, store.ErrNotServed) {
		return err
	}
	return nil
}
