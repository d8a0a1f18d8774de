package interceptor_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr/funcr"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/klog/v2"

	"github.com/raygate/raygate/apiserver/internal/authn"
	"github.com/raygate/raygate/apiserver/internal/flowcontrol"
	"github.com/raygate/raygate/apiserver/internal/interceptor"
	"github.com/raygate/raygate/apiserver/internal/rpcstatus"
	raygatev2 "github.com/raygate/raygate/proto/gen/go/raygate/v2"
)

func mutates(method string) bool { return flowcontrol.MethodOf(method).Mutates }
func long(method string) bool    { return flowcontrol.MethodOf(method).Long }

// service fails for the name broken and panics for the name bug.
type service struct {
	raygatev2.UnimplementedClusterServiceServer
}

func (service) GetCluster(context.Context, *raygatev2.GetClusterRequest) (*raygatev2.GetClusterResponse, error) {
	return &raygatev2.GetClusterResponse{}, nil
}

func (service) CreateCluster(_ context.Context, req *raygatev2.CreateClusterRequest) (*raygatev2.CreateClusterResponse, error) {
	switch req.GetCluster().GetMetadata().GetName() {
	case "broken":
		return nil, errors.New("secret detail")
	case "bug":
		panic("a bug")
	}
	return &raygatev2.CreateClusterResponse{}, nil
}

func (service) WatchClusters(_ *raygatev2.WatchClustersRequest, s grpc.ServerStreamingServer[raygatev2.WatchClustersResponse]) error {
	_ = s.Send(&raygatev2.WatchClustersResponse{Type: "SYNCED"})
	<-s.Context().Done()
	return s.Context().Err()
}

// start returns a client of the service behind the interceptors, and the lines that are logged for a call with the context.
func start(t *testing.T, stop context.Context) (raygatev2.ClusterServiceClient, context.Context, *[]string) {
	t.Helper()
	var lines []string
	log := funcr.New(func(prefix, args string) { lines = append(lines, prefix+" "+args) }, funcr.Options{})
	table := rpcstatus.NewTable(rpcstatus.Row{Err: interceptor.ErrDraining, Code: codes.Unavailable, Reason: "DRAINING"})
	caller := authn.NewCaller(user.DefaultInfo{Name: "ada", Groups: []string{"team"}}, "the-token")
	withLog := func(ctx context.Context, _ *interceptor.Call, next func(context.Context) error) error {
		return next(klog.NewContext(authn.WithCaller(ctx, caller), log))
	}
	chain := interceptor.Chain([]interceptor.Interceptor{
		withLog, interceptor.RequestID(), interceptor.Errors(table), interceptor.Recovery(), interceptor.AccessLog(mutates, long),
		interceptor.Deadline(time.Minute, long), interceptor.Errors(table), interceptor.Drain(stop, long), interceptor.Recovery(),
	})
	server := grpc.NewServer(grpc.UnaryInterceptor(chain.Unary), grpc.StreamInterceptor(chain.Stream))
	raygatev2.RegisterClusterServiceServer(server, service{})
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go func() { _ = server.Serve(l) }()
	t.Cleanup(server.Stop)
	conn, err := grpc.NewClient(l.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return raygatev2.NewClusterServiceClient(conn), t.Context(), &lines
}

func TestAuditLine(t *testing.T) {
	create := func(name string, dry bool) *raygatev2.CreateClusterRequest {
		return &raygatev2.CreateClusterRequest{Namespace: "default", ValidateOnly: dry, Cluster: &raygatev2.RayCluster{Metadata: &raygatev2.ObjectMeta{Name: name}}}
	}
	for name, tc := range map[string]struct {
		call func(context.Context, raygatev2.ClusterServiceClient) error
		want []string // parts of the one line; none means no line
		code codes.Code
	}{
		"create": {func(ctx context.Context, c raygatev2.ClusterServiceClient) error {
			_, err := c.CreateCluster(ctx, create("demo", false))
			return err
		}, []string{`"user"="ada"`, `"groups"=["team"]`, `"namespace"="default"`, `"name"="demo"`, `"code"="OK"`, `"requestID"=`, "CreateCluster"}, codes.OK},
		"dry run": {func(ctx context.Context, c raygatev2.ClusterServiceClient) error {
			_, err := c.CreateCluster(ctx, create("demo", true))
			return err
		}, []string{`"validateOnly"=true`}, codes.OK},
		"failure": {func(ctx context.Context, c raygatev2.ClusterServiceClient) error {
			_, err := c.CreateCluster(ctx, create("broken", false))
			return err
		}, []string{`"code"="Internal"`, `"name"="broken"`}, codes.Internal},
		"panic": {func(ctx context.Context, c raygatev2.ClusterServiceClient) error {
			_, err := c.CreateCluster(ctx, create("bug", false))
			return err
		}, []string{`"code"="Internal"`, `"name"="bug"`}, codes.Internal},
		"read": {func(ctx context.Context, c raygatev2.ClusterServiceClient) error {
			_, err := c.GetCluster(ctx, &raygatev2.GetClusterRequest{Name: "demo"})
			return err
		}, nil, codes.OK},
	} {
		t.Run(name, func(t *testing.T) {
			client, ctx, lines := start(t, context.Background())
			err := tc.call(ctx, client)
			if status.Code(err) != tc.code || strings.Contains(status.Convert(err).Message(), "secret") || strings.Contains(status.Convert(err).Message(), "bug") {
				t.Errorf("the client is told %v", err)
			}
			var audit []string
			for _, l := range *lines {
				if strings.HasPrefix(l, "audit ") {
					audit = append(audit, l)
				}
				if strings.Contains(l, "the-token") {
					t.Errorf("a token is logged: %s", l)
				}
			}
			if (len(audit) == 1) != (tc.want != nil) {
				t.Fatalf("audit lines: %q", audit)
			}
			for _, part := range tc.want {
				if !strings.Contains(audit[0], part) {
					t.Errorf("%s has no %s", audit[0], part)
				}
			}
		})
	}
}

func TestDrainEndsStreams(t *testing.T) {
	stop, drain := context.WithCancel(t.Context())
	client, ctx, _ := start(t, stop)
	stream, err := client.WatchClusters(ctx, &raygatev2.WatchClustersRequest{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := stream.Recv(); err != nil {
		t.Fatal(err)
	}
	drain()
	_, err = stream.Recv()
	if diff := cmp.Diff(codes.Unavailable, status.Code(err)); diff != "" || !strings.Contains(err.Error(), "resume_token") {
		t.Errorf("the stream ends with %v", err)
	}
}

func TestDeadlineIsForShortCalls(t *testing.T) {
	d := interceptor.Deadline(time.Minute, long)
	for method, want := range map[string]bool{raygatev2.ClusterService_GetCluster_FullMethodName: true, "long": false} {
		_, _ = interceptor.Deadline(time.Minute, func(m string) bool { return m == "long" }).Unary(t.Context(), nil, &grpc.UnaryServerInfo{FullMethod: method}, func(ctx context.Context, _ any) (any, error) {
			if _, bounded := ctx.Deadline(); bounded != want {
				t.Errorf("%s is bounded: %t", method, bounded)
			}
			return nil, nil
		})
	}
	// A client may give a call less time, and not more.
	for given, want := range map[time.Duration]time.Duration{10 * time.Second: 10 * time.Second, time.Hour: time.Minute} {
		own, cancel := context.WithTimeout(t.Context(), given)
		_, _ = d.Unary(own, nil, &grpc.UnaryServerInfo{}, func(ctx context.Context, _ any) (any, error) {
			if at, _ := ctx.Deadline(); time.Until(at) > want || time.Until(at) < want/2 {
				t.Errorf("with %s of the client's there are %s left, want %s", given, time.Until(at), want)
			}
			return nil, nil
		})
		cancel()
	}
}

// A call is made by the goroutine of its caller, which sees what the service sends besides its answer.
func TestChannel(t *testing.T) {
	conn := interceptor.NewChannel(interceptor.Chain(nil))
	raygatev2.RegisterClusterServiceServer(conn, sender{})
	ctx := metadata.NewIncomingContext(context.WithValue(t.Context(), senderKey{}, "value"), metadata.Pairs("key", "metadata"))
	got, header, err := conn.Call(ctx, raygatev2.ClusterService_GetCluster_FullMethodName, func(request any) error {
		request.(*raygatev2.GetClusterRequest).Name = "demo"
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	const want = "demo value metadata"
	if name := got.(*raygatev2.GetClusterResponse).GetCluster().GetMetadata().GetName(); name != want {
		t.Errorf("the service saw %q, want %q", name, want)
	}
	if h := header.Get("sent"); !slices.Equal(h, []string{"header"}) {
		t.Errorf("header %q", h)
	}
	var events []string
	err = conn.Stream(ctx, raygatev2.ClusterService_WatchClusters_FullMethodName, func(request any) error {
		request.(*raygatev2.WatchClustersRequest).Filter = "demo"
		return nil
	}, func(message any) error {
		events = append(events, message.(*raygatev2.WatchClustersResponse).GetType())
		if len(events) == 2 {
			return errors.New("enough")
		}
		return nil
	})
	if err == nil || err.Error() != "enough" || !slices.Equal(events, []string{want, want}) {
		t.Errorf("events %q, %v", events, err)
	}
	nothing := func(any) error { return nil }
	if _, _, err := conn.Call(ctx, raygatev2.ClusterService_WatchClusters_FullMethodName, nothing); status.Code(err) != codes.Unimplemented {
		t.Errorf("a stream as a call: %v", err)
	}
	if err := conn.Stream(ctx, "/raygate.v2.ClusterService/Nothing", nothing, nothing); status.Code(err) != codes.Unimplemented {
		t.Errorf("a method that is not there: %v", err)
	}
	bad := errors.New("no request")
	if err := conn.Stream(ctx, raygatev2.ClusterService_WatchClusters_FullMethodName, func(any) error { return bad }, nothing); !errors.Is(err, bad) {
		t.Errorf("a request that cannot be read: %v", err)
	}
}

type senderKey struct{}

// sender answers with what it sees of the call.
type sender struct {
	raygatev2.UnimplementedClusterServiceServer
}

func (sender) GetCluster(ctx context.Context, req *raygatev2.GetClusterRequest) (*raygatev2.GetClusterResponse, error) {
	md, _ := metadata.FromIncomingContext(ctx)
	sent := errors.Join(grpc.SetHeader(ctx, metadata.Pairs("sent", "header")), grpc.SetTrailer(ctx, metadata.Pairs("sent", "trailer")))
	seen := fmt.Sprint(req.GetName(), " ", ctx.Value(senderKey{}), " ", strings.Join(md.Get("key"), ","))
	return &raygatev2.GetClusterResponse{Cluster: &raygatev2.RayCluster{Metadata: &raygatev2.ObjectMeta{Name: seen}}}, sent
}

func (sender) WatchClusters(req *raygatev2.WatchClustersRequest, s grpc.ServerStreamingServer[raygatev2.WatchClustersResponse]) error {
	ctx := s.Context()
	md, _ := metadata.FromIncomingContext(ctx)
	seen := fmt.Sprint(req.GetFilter(), " ", ctx.Value(senderKey{}), " ", strings.Join(md.Get("key"), ","))
	for {
		if err := s.Send(&raygatev2.WatchClustersResponse{Type: seen}); err != nil {
			return err
		}
	}
}

// A request that cannot be read is a call like others: interceptors see it, with what there is of it.
func TestChannelMalformed(t *testing.T) {
	var seen []string
	conn := interceptor.NewChannel(interceptor.Chain([]interceptor.Interceptor{func(ctx context.Context, c *interceptor.Call, next func(context.Context) error) error {
		err := next(ctx)
		seen = append(seen, fmt.Sprint(c.Method, " ", c.Request != nil, " ", err))
		return err
	}}))
	healthpb.RegisterHealthServer(conn, health.NewServer())
	malformed := errors.New("no JSON")
	_, _, err := conn.Call(t.Context(), healthpb.Health_Check_FullMethodName, func(any) error { return malformed })
	if want := healthpb.Health_Check_FullMethodName + " true no JSON"; !errors.Is(err, malformed) || len(seen) != 1 || seen[0] != want {
		t.Errorf("%v, interceptors saw %q", err, seen)
	}
}
