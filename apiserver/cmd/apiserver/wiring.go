package main

import (
	"context"
	"fmt"
	"time"

	grpcprom "github.com/grpc-ecosystem/go-grpc-middleware/providers/prometheus"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"google.golang.org/grpc"
	"google.golang.org/grpc/health"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/reflection"
	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientscheme "k8s.io/client-go/kubernetes/scheme"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/apiserver/internal/authn"
	"github.com/raygate/raygate/apiserver/internal/gateway"
	"github.com/raygate/raygate/apiserver/internal/interceptor"
	"github.com/raygate/raygate/apiserver/internal/model/codec"
	modelv2 "github.com/raygate/raygate/apiserver/internal/model/v2"
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
	clusters *store.Store[*rayv1.RayCluster]
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
	scheme := runtime.NewScheme()
	if err := rayv1.AddToScheme(scheme); err != nil {
		return nil, fmt.Errorf("registering ray.io types: %w", err)
	}
	token := authn.Token
	if o.Authentication == string(authn.None) {
		token = nil
	}
	reader, err := store.NewClient(o.restConfig, scheme, rayv1.GroupVersion, store.ClientOptions{})
	if err != nil {
		return nil, err
	}
	writer, err := store.NewClient(o.restConfig, scheme, rayv1.GroupVersion, store.ClientOptions{Token: token, OnWarning: interceptor.AddWarning})
	if err != nil {
		return nil, err
	}
	a.clusters = store.New(clusterKind, store.Options{Reader: reader, Writer: writer, TokenKey: o.pageTokenKey})

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
	clusters := service.NewClusters(service.ClusterOptions{
		Store: a.clusters, Authorizer: authorizer, Validation: validation.Options{Gates: o.gates, EmptyIsAbsent: true}, Warn: interceptor.AddWarning,
	})
	raygatev2.RegisterClusterServiceServer(a.grpc, clusters)
	rest := interceptor.Channel(chain)
	raygatev2.RegisterClusterServiceServer(rest, clusters)
	healthpb.RegisterHealthServer(a.grpc, a.health)
	reflection.RegisterV1(a.grpc)
	metrics.InitializeMetrics(a.grpc)
	a.registry.MustRegister(metrics, collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}), collectors.NewBuildInfoCollector(),
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "raygate_apiserver_cached_objects", Help: "Objects in the watch cache.", ConstLabels: prometheus.Labels{"resource": "rayclusters"}},
			func() float64 { n, _ := a.clusters.Size(); return float64(n) }))
	a.gateway, err = gateway.New(ctx, gateway.Options{
		Conn: rest, Table: table, OpenAPI: openapi.V2, Review: clusters.Review, Checks: a.checks(),
		Local: o.Authentication == string(authn.None) && !o.InsecureAllowRemoteNone,
	})
	return a, err
}

// clusterKind tells the store what a RayCluster is.
var clusterKind = store.Kind[*rayv1.RayCluster]{
	GroupVersionKind: rayv1.GroupVersion.WithKind("RayCluster"),
	Resource:         "rayclusters",
	New:              func() *rayv1.RayCluster { return &rayv1.RayCluster{} },
	State:            func(rc *rayv1.RayCluster) string { return string(rc.Status.State) },
	ClearStatus:      func(rc *rayv1.RayCluster) { rc.Status = rayv1.RayClusterStatus{} },
	Encode:           encodeCluster,
}

// encodeCluster writes what a client of v2 would be shown, so that a write of what was read changes nothing.
func encodeCluster(rc *rayv1.RayCluster) ([]byte, error) {
	m, err := modelv2.ClusterFromRay(rc)
	if err != nil {
		return nil, err
	}
	return codec.AppendJSON(nil, m)
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
	return []gateway.Check{
		{Name: "draining", Run: func() error {
			select {
			case <-a.draining:
				return interceptor.ErrDraining
			default:
				return nil
			}
		}},
		{Name: "cache-rayclusters", Run: a.clusters.Ready},
	}
}
