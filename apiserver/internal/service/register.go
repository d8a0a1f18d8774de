package service

import (
	"context"
	"slices"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"k8s.io/utils/clock"

	"github.com/raygate/raygate/apiserver/internal/authn"
	"github.com/raygate/raygate/apiserver/internal/dashboardproxy"
	"github.com/raygate/raygate/apiserver/internal/packages"
	"github.com/raygate/raygate/apiserver/internal/profile"
	"github.com/raygate/raygate/apiserver/internal/resource"
	"github.com/raygate/raygate/apiserver/internal/rpcstatus"
	"github.com/raygate/raygate/apiserver/internal/store"
	raygatev2 "github.com/raygate/raygate/proto/gen/go/raygate/v2"
)

// standardOf returns the methods that every kind has, by name. noun is the name of the kind in the protos, such as Cluster.
func standardOf(noun string) map[string]method {
	return map[string]method{
		"Create" + noun:          unary((*resource.Resource).Create),
		"Get" + noun:             unary((*resource.Resource).Get),
		"List" + noun + "s":      unary((*resource.Resource).List),
		"Update" + noun:          unary((*resource.Resource).Update),
		"Replace" + noun:         unary((*resource.Resource).Replace),
		"Apply" + noun:           unary((*resource.Resource).Apply),
		"Delete" + noun:          unary((*resource.Resource).Delete),
		"Wait" + noun:            unary((*resource.Resource).Wait),
		"Suspend" + noun:         unary((*resource.Resource).Suspend),
		"Resume" + noun:          unary((*resource.Resource).Resume),
		"Scale" + noun:           unary((*resource.Resource).Scale),
		"Diagnose" + noun:        unary((*resource.Resource).Diagnose),
		"List" + noun + "Events": unary((*resource.Resource).Events),
		"Watch" + noun + "s":     watch,
	}
}

// Resources are the kinds that the services read and write.
type Resources struct {
	// Kinds has those of each kind of the variable Kinds.
	Kinds []*resource.Resource
	// History has the logs of clusters that are gone; nil for none.
	History History
	// Packages are those of RayJobs without a cluster yet; nil for none.
	Packages *packages.Store
	// Profiles are those that objects may name.
	Profiles *profile.Reader
}

// of returns those of a kind.
func (r Resources) of(kind resource.Kind) *resource.Resource {
	return r.Kinds[slices.IndexFunc(r.Kinds, func(one *resource.Resource) bool { return one.Resource == kind.Resource })]
}

// RegisterAll registers the services of all kinds and of profiles, and those of submissions and the history, whose pages have tokens.
func RegisterAll(server grpc.ServiceRegistrar, r Resources, dashboards *dashboardproxy.Proxy, tokens store.Tokens) {
	clusters, jobs, services, cronJobs := r.of(Clusters), r.of(Jobs), r.of(Services), r.of(CronJobs)
	jobs.Dependents, services.Dependents, cronJobs.Dependents = clusters, clusters, jobs
	records := past{store: r.History}
	special := map[*resource.Resource]any{
		jobs:     &jobServer{Resource: jobs, proxy: dashboards, past: records},
		cronJobs: &cronJobServer{Resource: cronJobs, jobs: jobs, clock: clock.RealClock{}},
	}
	for _, kind := range r.Kinds {
		Register(server, kind, special[kind])
	}
	submissions := newSubmissionServer(r, dashboards)
	submissions.tokens = tokens
	raygatev2.RegisterSubmissionServiceServer(server, submissions)
	raygatev2.RegisterProfileServiceServer(server, &profileServer{reader: r.Profiles})
	ended := historyOf(r, dashboards, tokens)
	raygatev2.RegisterHistoryServiceServer(server, ended)
	for _, kind := range []*resource.Resource{jobs, clusters} { // the record of a RayService has none of its clusters
		kind.Past = func(ctx context.Context, req proto.Message, item *store.Item) (*resource.Record, error) {
			return ended.recordFor(ctx, kind, req, item)
		}
	}
}

func historyOf(r Resources, dashboards *dashboardproxy.Proxy, tokens store.Tokens) *historyServer {
	kinds := []*resource.Resource{r.Kinds[1], r.Kinds[0], r.Kinds[2]} // RayJobs, RayClusters, RayServices
	return &historyServer{past: past{store: r.History}, kinds: kinds, proxy: dashboards, tokens: tokens, clock: clock.RealClock{}}
}

// method is a standard method. resp is its response; for a stream it only has the type of the messages.
type method struct {
	// fits reports whether a request has the fields that the method reads.
	fits func(req proto.Message) bool
	do   func(ctx context.Context, r *resource.Resource, req, resp proto.Message, send func(any) error) error
}

func fits[Req any](req proto.Message) bool { _, ok := req.(Req); return ok }

func unary[Req any](do func(*resource.Resource, context.Context, Req, proto.Message) error) method {
	return method{fits[Req], func(ctx context.Context, r *resource.Resource, req, resp proto.Message, _ func(any) error) error {
		return do(r, ctx, req.(Req), resp)
	}}
}

var watch = method{fits[resource.WatchRequest], func(ctx context.Context, r *resource.Resource, req, resp proto.Message, send func(any) error) error {
	return r.Watch(ctx, req.(resource.WatchRequest), resp, send)
}}

// Register registers the service of a kind. Standard methods are those of r, all others are those of special, which implements the
// generated interface of the service. Its own standard methods are never called, so that it may embed the Unimplemented server. It is nil
// for a service without other methods. A method without an implementation, or one whose request lacks a field that the standard method has,
// is a panic.
func Register(server grpc.ServiceRegistrar, r *resource.Resource, special any) {
	desc := *r.Service
	desc.Methods, desc.Streams = nil, nil
	noun := strings.TrimPrefix(r.Checks.Kind, "Ray")
	standard := standardOf(noun)
	handlers := func(name string) (s served, ok bool) {
		s = served{r: r, name: "/" + desc.ServiceName + "/" + name, method: standard[name]}
		if s.do == nil && special == nil {
			panic("nothing implements " + s.name)
		}
		rpc := must(protoregistry.GlobalFiles.FindDescriptorByName(protoreflect.FullName(desc.ServiceName + "." + name))).(protoreflect.MethodDescriptor)
		s.request = must(protoregistry.GlobalTypes.FindMessageByName(rpc.Input().FullName()))
		s.response = must(protoregistry.GlobalTypes.FindMessageByName(rpc.Output().FullName()))
		if s.do != nil && !s.fits(s.request.New().Interface()) {
			panic("the request of " + s.name + " is not that of a standard method")
		}
		return s, s.do != nil
	}
	for _, m := range r.Service.Methods {
		if s, ok := handlers(m.MethodName); ok {
			m.Handler = s.unary
		}
		desc.Methods = append(desc.Methods, m)
	}
	for _, m := range r.Service.Streams {
		if s, ok := handlers(m.StreamName); ok {
			m.Handler = s.stream
		}
		desc.Streams = append(desc.Streams, m)
	}
	if special == nil {
		desc.HandlerType, special = (*any)(nil), r
	}
	server.RegisterService(&desc, special)
}

func must[T any](found T, err error) T {
	if err != nil {
		panic(err)
	}
	return found
}

// served is a standard method of a service, as gRPC calls it.
type served struct {
	method
	r                 *resource.Resource
	name              string
	request, response protoreflect.MessageType
}

func (s served) unary(impl any, ctx context.Context, decode func(any) error, chain grpc.UnaryServerInterceptor) (any, error) { //nolint:revive // the signature is gRPC's
	req := s.request.New().Interface()
	if err := decode(req); err != nil {
		return nil, err
	}
	call := func(ctx context.Context, req any) (any, error) {
		resp := s.response.New().Interface()
		return resp, s.do(ctx, s.r, req.(proto.Message), resp, nil)
	}
	if chain == nil {
		return call(ctx, req)
	}
	return chain(ctx, req, &grpc.UnaryServerInfo{Server: impl, FullMethod: s.name}, call)
}

func (s served) stream(_ any, stream grpc.ServerStream) error {
	req := s.request.New().Interface()
	if err := stream.RecvMsg(req); err != nil {
		return err
	}
	return s.do(stream.Context(), s.r, req, s.response.New().Interface(), stream.SendMsg)
}

// StatusRows are the errors of the packages that a service calls, for the status table.
func StatusRows() []rpcstatus.Row {
	return []rpcstatus.Row{
		{Err: authn.ErrNoCredentials, Code: codes.Unauthenticated, Reason: "UNAUTHENTICATED"},
		{Err: authn.ErrBadCredentials, Code: codes.Unauthenticated, Reason: "UNAUTHENTICATED"},
		{Err: authn.ErrBadSecret, Code: codes.Unauthenticated, Reason: "UNAUTHENTICATED"},
		{Err: authn.ErrNoIdentity, Code: codes.Unauthenticated, Reason: "UNAUTHENTICATED"},
		{Err: authn.ErrNoLogin, Code: codes.Unauthenticated, Reason: "UNAUTHENTICATED"},
		{Err: authn.ErrPrivileged, Code: codes.PermissionDenied, Reason: "FORBIDDEN"},
		{Err: authn.ErrOwnCredentials, Code: codes.Unavailable, Reason: "GATEWAY_CREDENTIALS", RetryAfter: 10 * time.Second},
		{Err: store.ErrPageToken, Code: codes.InvalidArgument, Reason: "INVALID_ARGUMENT", Field: "page_token"},
		{Err: store.ErrPageTokenExpired, Code: codes.InvalidArgument, Reason: "PAGE_TOKEN_EXPIRED", Field: "page_token"},
		{Err: store.ErrResumeToken, Code: codes.InvalidArgument, Reason: "INVALID_ARGUMENT", Field: "resume_token"},
		{Err: store.ErrRequestIDReused, Code: codes.AlreadyExists, Reason: "REQUEST_ID_REUSED"},
		{Err: store.ErrVersionRequired, Code: codes.InvalidArgument, Reason: "VERSION_REQUIRED", Field: "metadata.resourceVersion"},
		{Err: store.ErrSlowWatcher, Code: codes.ResourceExhausted, Reason: "SLOW_CLIENT"},
		{Err: store.ErrNotServed, Code: codes.Unimplemented, Reason: "KIND_NOT_INSTALLED"},
		{Err: store.ErrFutureVersion, Code: codes.InvalidArgument, Reason: "VERSION_NOT_REACHED", Field: "x-min-resource-version"},
		{Err: store.ErrBehind, Code: codes.Unavailable, Reason: "VERSION_NOT_REACHED", RetryAfter: time.Second},
		{Err: store.ErrNotSynced, Code: codes.Unavailable, Reason: "NOT_READY", RetryAfter: time.Second},
	}
}
