package flowcontrol

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/health"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/known/structpb"
	"k8s.io/apiserver/pkg/authentication/user"

	"github.com/raygate/raygate/apiserver/internal/authn"
	"github.com/raygate/raygate/apiserver/internal/rpcstatus"
	"github.com/raygate/raygate/internal/testing/await"
	raygatev2 "github.com/raygate/raygate/proto/gen/go/raygate/v2"
)

// names identifies callers by a token that is their name. Those of "slow-" are known only when asked for, and "slow-nobody" not at all.
func names(r *http.Request) authn.Identity {
	name := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
	if name == "" {
		return authn.Identity{Err: authn.ErrNoCredentials}
	}
	caller := authn.NewCaller(user.DefaultInfo{Name: name}, "")
	if !strings.HasPrefix(name, "slow-") {
		return authn.Identity{Caller: caller}
	}
	id := authn.Identity{Remote: true, Lookup: func(context.Context) (*authn.Caller, error) {
		if name == "slow-nobody" {
			return nil, authn.ErrBadCredentials
		}
		return caller, nil
	}}
	if old, ok := strings.CutPrefix(name, "slow-old-"); ok {
		id.Stale = authn.NewCaller(user.DefaultInfo{Name: "old-" + old}, "")
	}
	return id
}

// service holds calls until they are let go, and says whose they were.
type service struct {
	raygatev2.UnimplementedClusterServiceServer
	entered chan string
	leave   chan struct{}
	ended   chan error
}

func (s *service) call(ctx context.Context) {
	s.entered <- authn.CallerFrom(ctx).Name()
	select {
	case <-s.leave:
	case <-ctx.Done():
	}
}

func (s *service) GetCluster(ctx context.Context, req *raygatev2.GetClusterRequest) (*raygatev2.GetClusterResponse, error) {
	s.call(ctx)
	_ = grpc.SetHeader(ctx, metadata.Pairs("seen", "yes"))
	return &raygatev2.GetClusterResponse{Cluster: &raygatev2.RayCluster{Metadata: &raygatev2.ObjectMeta{Name: req.GetName()}}}, nil
}

func (s *service) CreateCluster(ctx context.Context, _ *raygatev2.CreateClusterRequest) (*raygatev2.CreateClusterResponse, error) {
	s.call(ctx)
	return &raygatev2.CreateClusterResponse{}, nil
}

// WatchClusters sends as much as the client takes.
func (s *service) WatchClusters(_ *raygatev2.WatchClustersRequest, stream grpc.ServerStreamingServer[raygatev2.WatchClustersResponse]) error {
	s.entered <- authn.CallerFrom(stream.Context()).Name()
	for stream.Context().Err() == nil {
		if err := stream.Send(&raygatev2.WatchClustersResponse{ResumeToken: strings.Repeat("x", 10000)}); err != nil {
			s.ended <- err
			return err
		}
	}
	s.ended <- stream.Context().Err()
	return stream.Context().Err()
}

var rows = []rpcstatus.Row{
	{Err: authn.ErrNoCredentials, Code: codes.Unauthenticated, Reason: "UNAUTHENTICATED"},
	{Err: authn.ErrBadCredentials, Code: codes.Unauthenticated, Reason: "UNAUTHENTICATED"},
}

// start serves and returns a connection and the service.
func start(t *testing.T, o Options) (*grpc.ClientConn, *service) {
	t.Helper()
	o.Identifier, o.Table, o.MaxBody = names, rpcstatus.NewTable(rows...), 4<<20
	e := New(o)
	server := grpc.NewServer(e.ServerOptions()...)
	svc := &service{entered: make(chan string, 100), leave: make(chan struct{}), ended: make(chan error, 100)}
	registrar := e.Registrar(server, func(ctx context.Context, req any, _ *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
		return next(ctx, req)
	}, func(srv any, s grpc.ServerStream, _ *grpc.StreamServerInfo, next grpc.StreamHandler) error {
		return next(srv, s)
	})
	raygatev2.RegisterClusterServiceServer(registrar, svc)
	raygatev2.RegisterJobServiceServer(registrar, raygatev2.UnimplementedJobServiceServer{})
	raygatev2.RegisterServeServiceServer(registrar, raygatev2.UnimplementedServeServiceServer{})
	raygatev2.RegisterCronJobServiceServer(registrar, raygatev2.UnimplementedCronJobServiceServer{})
	raygatev2.RegisterSubmissionServiceServer(registrar, uploads{})
	healthpb.RegisterHealthServer(registrar, health.NewServer())
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go func() { _ = server.Serve(e.Listener(l)) }()
	t.Cleanup(server.Stop)
	conn, err := grpc.NewClient(l.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return conn, svc
}

func as(t *testing.T, name string) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), await.Limit)
	t.Cleanup(cancel)
	if name == "" {
		return ctx
	}
	return metadata.AppendToOutgoingContext(ctx, "authorization", "Bearer "+name)
}

// bytesCodec sends bytes as they are.
type bytesCodec struct{}

func (bytesCodec) Name() string { return "proto" }
func (bytesCodec) Marshal(v any) (mem.BufferSlice, error) {
	if data, ok := v.([]byte); ok {
		return mem.BufferSlice{mem.SliceBuffer(data)}, nil
	}
	return encoding.GetCodecV2("proto").Marshal(v)
}
func (bytesCodec) Unmarshal(data mem.BufferSlice, v any) error {
	return encoding.GetCodecV2("proto").Unmarshal(data, v)
}

// problem returns the error as a client sees it: code, reason, and the fields that are wrong.
func problem(err error) string {
	st := status.Convert(err)
	text := st.Code().String()
	for _, d := range st.Details() {
		switch d := d.(type) {
		case *errdetails.ErrorInfo:
			text += " " + d.GetReason()
		case *errdetails.BadRequest:
			for _, v := range d.GetFieldViolations() {
				text += " " + v.GetField() + ":" + v.GetReason()
			}
		case *errdetails.RetryInfo:
			text += " retry"
		}
	}
	return text
}

func TestBodiesAreReadOnlyForKnownCallers(t *testing.T) {
	conn, svc := start(t, Options{})
	close(svc.leave)
	unknown := protowire.AppendString(protowire.AppendTag(nil, 4000, protowire.BytesType), "x")
	inCluster, err := proto.Marshal(&raygatev2.CreateClusterRequest{Cluster: &raygatev2.RayCluster{Spec: &raygatev2.RayClusterSpec{
		WorkerGroupSpecs: []*raygatev2.WorkerGroupSpec{{}, {Template: &structpb.Struct{}}},
	}}})
	if err != nil {
		t.Fatal(err)
	}
	create := &raygatev2.CreateClusterRequest{}
	if err := proto.Unmarshal(inCluster, create); err != nil {
		t.Fatal(err)
	}
	create.GetCluster().GetSpec().GetWorkerGroupSpecs()[1].ProtoReflect().SetUnknown(unknown)
	if inCluster, err = proto.Marshal(create); err != nil {
		t.Fatal(err)
	}
	const get, post = raygatev2.ClusterService_GetCluster_FullMethodName, raygatev2.ClusterService_CreateCluster_FullMethodName
	for name, tc := range map[string]struct {
		caller, method string
		body           []byte
		want           string
	}{
		"nobody, 3 MB":                 {"", post, make([]byte, 3<<20), "Unauthenticated UNAUTHENTICATED"},
		"nobody, no protobuf":          {"", get, []byte{0xff, 0xff}, "Unauthenticated UNAUTHENTICATED"},
		"an unknown token, 3 MB":       {"slow-nobody", post, make([]byte, 3<<20), "Unauthenticated UNAUTHENTICATED"},
		"ada, no protobuf":             {"ada", get, []byte{0xff, 0xff}, "InvalidArgument MALFORMED_BODY :MALFORMED_BODY"},
		"ada, too much":                {"ada", post, make([]byte, 5<<20), "ResourceExhausted"},
		"ada, an unknown field":        {"ada", get, unknown, "InvalidArgument MALFORMED_BODY :unknown-field"},
		"ada, a field further in":      {"ada", post, inCluster, "InvalidArgument MALFORMED_BODY cluster.spec.workerGroupSpecs[1]:unknown-field"},
		"ada":                          {"ada", get, nil, "OK"},
		"a caller who is looked up":    {"slow-bob", get, nil, "OK"},
		"ada, a method there is not":   {"ada", "/raygate.v2.ClusterService/Nothing", nil, "Unimplemented"},
		"nobody, health":               {"", "/grpc.health.v1.Health/Check", nil, "OK"},
		"nobody, health, no protobuf":  {"", "/grpc.health.v1.Health/Check", []byte{0xff}, "InvalidArgument MALFORMED_BODY :MALFORMED_BODY"},
		"nobody, looks almost open":    {"", "/grpc.healthy/Check", nil, "Unauthenticated UNAUTHENTICATED"},
		"nobody, a method there's not": {"", "/raygate.v2.ClusterService/Nothing", nil, "Unauthenticated UNAUTHENTICATED"},
	} {
		t.Run(name, func(t *testing.T) {
			var answer proto.Message = &raygatev2.GetClusterResponse{}
			if strings.HasPrefix(tc.method, "/grpc.") {
				answer = &healthpb.HealthCheckResponse{}
			}
			body := tc.body
			if body == nil {
				body = []byte{}
			}
			err := conn.Invoke(as(t, tc.caller), tc.method, body, answer, grpc.ForceCodecV2(bytesCodec{}))
			if diff := cmp.Diff(tc.want, problem(err)); diff != "" {
				t.Errorf("answer (-want +got):\n%s\n%v", diff, err)
			}
		})
	}
}

// Hostile bodies to every method of the protos: without credentials none is decoded, and with credentials none causes a server error.
func TestHostileBodiesToEveryMethod(t *testing.T) {
	conn, svc := start(t, Options{})
	close(svc.leave)
	go func() {
		for range svc.entered { // however many get through
		}
	}()
	bodies := map[string][]byte{"zeros": make([]byte, 1<<20), "no protobuf": {0xff, 0xff, 0xff}, "nothing": {}, "nested": nested(10000), "field 4000": protowire.AppendVarint(protowire.AppendTag(nil, 4000, protowire.VarintType), 1)}
	protoregistry.GlobalFiles.RangeFilesByPackage("raygate.v2", func(file protoreflect.FileDescriptor) bool {
		for i := range file.Services().Len() {
			methods := file.Services().Get(i).Methods()
			for j := range methods.Len() {
				method := fmt.Sprintf("/%s/%s", file.Services().Get(i).FullName(), methods.Get(j).Name())
				for what, body := range bodies {
					for _, caller := range []string{"", "slow-nobody"} {
						err := conn.Invoke(as(t, caller), method, body, &raygatev2.GetClusterResponse{}, grpc.ForceCodecV2(bytesCodec{}))
						if status.Code(err) != codes.Unauthenticated {
							t.Errorf("%s of %q to %s: %v", what, caller, method, err)
						}
					}
					if methods.Get(j).IsStreamingServer() && what == "nothing" {
						continue // the watch of this test has no end
					}
					err := conn.Invoke(as(t, "ada"), method, body, &raygatev2.GetClusterResponse{}, grpc.ForceCodecV2(bytesCodec{}))
					if code := status.Code(err); code != codes.OK && code != codes.InvalidArgument && code != codes.Unimplemented {
						t.Errorf("%s to %s: %v", what, method, err)
					}
				}
			}
		}
		return true
	})
}

// nested is a message in a message in a message.
func nested(depth int) []byte {
	var body []byte
	for range depth {
		body = protowire.AppendBytes(protowire.AppendTag(nil, 2, protowire.BytesType), body)
	}
	return body
}

// FuzzDecode: nothing panics, and what is refused is the client's fault.
func FuzzDecode(f *testing.F) {
	f.Add([]byte{0xff})
	f.Add(nested(100))
	f.Fuzz(func(t *testing.T, data []byte) {
		err := (&rawBody{data: data}).decode(t.Context(), &raygatev2.CreateClusterRequest{})
		var invalid *rpcstatus.InvalidError
		if err != nil && !errors.As(err, &invalid) {
			t.Errorf("got %v", err)
		}
	})
}

// A call without credentials is answered while its body is still to come.
func TestRefusalDoesNotWaitForTheBody(t *testing.T) {
	conn, _ := start(t, Options{})
	for _, caller := range []string{"", "slow-nobody"} {
		// A stream, so that the client sends its header alone.
		s, err := conn.NewStream(as(t, caller), &grpc.StreamDesc{ClientStreams: true}, raygatev2.ClusterService_CreateCluster_FullMethodName)
		if err != nil {
			t.Fatal(err)
		}
		if err := s.RecvMsg(&raygatev2.CreateClusterResponse{}); status.Code(err) != codes.Unauthenticated {
			t.Errorf("caller %q: %v", caller, err)
		}
	}
}

func TestSlowBodyIsCutOff(t *testing.T) {
	conn, svc := start(t, Options{BodyTime: 50 * time.Millisecond, Limits: Limits{CallerCalls: 1}})
	close(svc.leave)
	s, err := conn.NewStream(as(t, "ada"), &grpc.StreamDesc{ClientStreams: true}, raygatev2.ClusterService_GetCluster_FullMethodName)
	if err != nil {
		t.Fatal(err)
	}
	const slow = "DeadlineExceeded BODY_INCOMPLETE"
	got := problem(s.RecvMsg(&raygatev2.GetClusterResponse{}))
	if got != slow {
		t.Fatalf("got %s", got)
	}
	for end := time.Now().Add(time.Minute); got == slow && time.Now().Before(end); { // on a busy machine this body, too, may be slow
		_, err := raygatev2.NewClusterServiceClient(conn).GetCluster(as(t, "ada"), &raygatev2.GetClusterRequest{})
		got = problem(err)
	}
	if got != "OK" {
		t.Errorf("the place was not given back: %s", got)
	}
}

func TestHeadersOfUnaryCalls(t *testing.T) {
	conn, svc := start(t, Options{})
	close(svc.leave)
	var header metadata.MD
	resp, err := raygatev2.NewClusterServiceClient(conn).GetCluster(as(t, "ada"), &raygatev2.GetClusterRequest{Name: "demo"}, grpc.Header(&header))
	if err != nil || resp.GetCluster().GetMetadata().GetName() != "demo" || len(header.Get("seen")) != 1 {
		t.Errorf("got %v, %v, header %v", resp, err, header)
	}
}

func TestLimits(t *testing.T) {
	const noMore = "ResourceExhausted"
	for name, tc := range map[string]struct {
		limits       Limits
		watch        bool
		second, want string
	}{
		"calls of a caller":         {Limits{CallerCalls: 1}, false, "ada", noMore + " TOO_MANY_REQUESTS retry"},
		"calls of another":          {Limits{CallerCalls: 1}, false, "bob", "OK"},
		"calls of all":              {Limits{Calls: 1}, false, "bob", noMore + " OVERLOADED retry"},
		"streams of a caller":       {Limits{CallerLong: 1}, true, "ada", noMore + " TOO_MANY_STREAMS retry"},
		"streams of another":        {Limits{CallerLong: 1}, true, "bob", "OK"},
		"streams of all":            {Limits{Long: 1}, true, "bob", noMore + " OVERLOADED retry"},
		"calls a second":            {Limits{CallerRate: 0.001, CallerBurst: 1}, false, "ada", noMore + " RATE_LIMITED retry"},
		"calls a second of another": {Limits{CallerRate: 0.001, CallerBurst: 1}, false, "bob", "OK"},
		"no limits":                 {Limits{}, false, "ada", "OK"},
	} {
		t.Run(name, func(t *testing.T) {
			conn, svc := start(t, Options{Limits: tc.limits})
			client := raygatev2.NewClusterServiceClient(conn)
			begin := func(ctx context.Context) chan error {
				done := make(chan error, 1)
				go func() {
					if !tc.watch {
						_, err := client.GetCluster(ctx, &raygatev2.GetClusterRequest{})
						done <- err
						return
					}
					stream, err := client.WatchClusters(ctx, &raygatev2.WatchClustersRequest{})
					if err == nil {
						_, err = stream.Recv()
					}
					done <- err
				}()
				return done
			}
			first, end := context.WithCancel(as(t, "ada"))
			begin(first)
			<-svc.entered
			second := begin(as(t, tc.second))
			if tc.want == "OK" {
				select {
				case <-svc.entered:
					if !tc.watch {
						close(svc.leave)
					}
				case err := <-second:
					second <- err
				}
			}
			if got := problem(<-second); got != tc.want {
				t.Errorf("got %s, want %s", got, tc.want)
			}
			end() // and the place of the first is free again
			if tc.want != "OK" && tc.limits.CallerRate == 0 {
				for deadline := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
					again := begin(as(t, tc.second))
					select {
					case <-svc.entered:
						return
					case err := <-again:
						if time.Now().After(deadline) {
							t.Fatalf("the place was not given back: %v", err)
						}
					}
				}
			}
		})
	}
}

// A client that keeps its connection alive but takes nothing held its stream, and the goroutine that sends to it, for ever.
func TestStalledReaderIsCutOff(t *testing.T) {
	conn, svc := start(t, Options{StallTime: 200 * time.Millisecond, Limits: Limits{CallerLong: 1}})
	stream, err := raygatev2.NewClusterServiceClient(conn).WatchClusters(as(t, "ada"), &raygatev2.WatchClustersRequest{})
	if err != nil {
		t.Fatal(err)
	}
	select {
	case <-svc.ended:
	case <-time.After(time.Minute):
		t.Fatal("the service still sends")
	}
	for err == nil {
		_, err = stream.Recv()
	}
	if got := problem(err); got != "ResourceExhausted SLOW_CLIENT" {
		t.Errorf("the client is told %s: %v", got, err)
	}
}

// uploads receives packages and does nothing with them.
type uploads struct {
	raygatev2.UnimplementedSubmissionServiceServer
}

func (uploads) UploadPackage(stream grpc.ClientStreamingServer[raygatev2.UploadPackageRequest, raygatev2.UploadPackageResponse]) error {
	for {
		switch _, err := stream.Recv(); {
		case errors.Is(err, io.EOF):
			return stream.SendAndClose(&raygatev2.UploadPackageResponse{})
		case err != nil:
			return err
		}
	}
}

// A client that begins an upload and sends nothing more would hold the room of a message until the stream is too old.
func TestStalledUploadIsCutOff(t *testing.T) {
	conn, _ := start(t, Options{StallTime: 200 * time.Millisecond, Limits: Limits{CallerLong: 1}})
	stream, err := raygatev2.NewSubmissionServiceClient(conn).UploadPackage(as(t, "ada"))
	if err != nil {
		t.Fatal(err)
	}
	if err := stream.Send(&raygatev2.UploadPackageRequest{Data: []byte("x")}); err != nil && !errors.Is(err, io.EOF) { // it ends early where this was slow
		t.Fatal(err)
	}
	err = stream.RecvMsg(&raygatev2.UploadPackageResponse{})
	if got := problem(err); got != "DeadlineExceeded BODY_INCOMPLETE" {
		t.Errorf("the client gets %s: %v", got, err)
	}
}

func TestReaderIsNotCutOffWhileItReads(t *testing.T) {
	t.Parallel()
	conn, _ := start(t, Options{StallTime: 2 * time.Second}) // a busy machine may stop this process for a while
	stream, err := raygatev2.NewClusterServiceClient(conn).WatchClusters(as(t, "ada"), &raygatev2.WatchClustersRequest{})
	if err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(3 * time.Second); time.Now().Before(end); {
		if _, err := stream.Recv(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Millisecond) // a reader that is slower than the sender
	}
}

func TestStreamAge(t *testing.T) {
	conn, _ := start(t, Options{StreamAge: 100 * time.Millisecond})
	stream, err := raygatev2.NewClusterServiceClient(conn).WatchClusters(as(t, "ada"), &raygatev2.WatchClustersRequest{})
	for err == nil {
		_, err = stream.Recv()
	}
	if errors.Is(err, io.EOF) || problem(err) != "Unavailable STREAM_AGE retry" {
		t.Errorf("got %v", err)
	}
}

func TestRoomForBodies(t *testing.T) {
	e := New(Options{Limits: Limits{Bytes: 40 << 20, CallerBytes: 6 << 20}})
	enter := func(name string) *Visit {
		v, err := e.room.enter(name, false)
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel() // what does not fit at once is refused
	a, b, c := enter("ada"), enter("ada"), enter("bob")
	step := func(what string, v *Visit, n int64, fits bool) {
		t.Helper()
		if err := v.Body(ended, n); (err == nil) != fits {
			t.Errorf("%s: %v", what, err)
		}
	}
	step("a body longer than a caller may have takes all there is", a, 100<<20, true)
	step("another of the caller", b, 1, false)
	step("another caller", c, 6<<20, true)
	d, f := enter("eve"), enter("eve")
	step("a third caller, beyond a quarter of what is free", d, 6<<20, false)
	step("a third caller", d, 5<<20, true)
	step("and little more", f, 1<<20, false)
	a.Shrink(10)
	step("the rest was given back", b, 4<<20, true)
	for _, v := range []*Visit{a, b, c, d, f} {
		v.Leave()
	}
	if len(e.room.callers) != 0 || e.room.total != (counts{}) {
		t.Errorf("left behind: %v %v", e.room.callers, e.room.total)
	}
}

func TestMethodOf(t *testing.T) {
	for method, want := range map[string]Method{
		raygatev2.ClusterService_GetCluster_FullMethodName:    {},
		raygatev2.ClusterService_ListClusters_FullMethodName:  {},
		raygatev2.ClusterService_CreateCluster_FullMethodName: {Mutates: true},
		raygatev2.ClusterService_DeleteCluster_FullMethodName: {Mutates: true},
		raygatev2.ClusterService_WatchClusters_FullMethodName: {Long: true},
		"/nothing/At": {}, "": {},
	} {
		if got := MethodOf(method); got != want {
			t.Errorf("%s is %+v, want %+v", method, got, want)
		}
	}
	if fmt.Sprint(MethodOf("/raygate.v2.ClusterService")) != fmt.Sprint(Method{}) {
		t.Error("a service is no method")
	}
}
