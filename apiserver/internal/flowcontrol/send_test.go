package flowcontrol

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/encoding/gzip"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/raygate/raygate/apiserver/internal/rpcstatus"
	raygatev2 "github.com/raygate/raygate/proto/gen/go/raygate/v2"
)

// ask sends a call whose answer is not read, unless somebody does so by what it returns.
func ask(t *testing.T, ctx context.Context, conn *grpc.ClientConn, name string, options ...grpc.CallOption) grpc.ClientStream {
	t.Helper()
	stream, err := conn.NewStream(ctx, &grpc.StreamDesc{ServerStreams: true}, raygatev2.ClusterService_GetCluster_FullMethodName, options...)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(stream.SendMsg(&raygatev2.GetClusterRequest{Name: name}), stream.CloseSend()); err != nil {
		t.Fatal(err)
	}
	return stream
}

// An answer that its client does not take is in flight until the client cancels, takes it, or loses the connection. Other calls on the connection, which
// may be those of other users behind a proxy, are not touched.
func TestAnswerThatNobodyTakes(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 1<<20)
	for name, tc := range map[string]struct {
		options []grpc.CallOption
		end     func(t *testing.T, cancel func(), conn *grpc.ClientConn, stalled grpc.ClientStream)
	}{
		"cancelled": {nil, func(_ *testing.T, cancel func(), _ *grpc.ClientConn, _ grpc.ClientStream) { cancel() }},
		"taken": {nil, func(t *testing.T, _ func(), _ *grpc.ClientConn, stalled grpc.ClientStream) {
			if err := stalled.RecvMsg(&raygatev2.GetClusterResponse{}); err != nil {
				t.Error(err)
			}
		}},
		"connection closed": {nil, func(_ *testing.T, _ func(), conn *grpc.ClientConn, _ grpc.ClientStream) { _ = conn.Close() }},
		"compressed":        {[]grpc.CallOption{grpc.UseCompressor(gzip.Name)}, func(_ *testing.T, cancel func(), _ *grpc.ClientConn, _ grpc.ClientStream) { cancel() }},
	} {
		t.Run(name, func(t *testing.T) {
			conn, svc := start(t, Options{StallTime: 100 * time.Millisecond, Limits: Limits{CallerCalls: 1}})
			close(svc.leave)
			own, err := grpc.NewClient(conn.Target(), grpc.WithTransportCredentials(insecure.NewCredentials()))
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = own.Close() }()
			ctx, cancel := context.WithCancel(as(t, "ada"))
			defer cancel()
			stalled := ask(t, ctx, own, long, tc.options...)
			<-svc.entered
			time.Sleep(300 * time.Millisecond) // longer than a stream may stall
			get := func(conn *grpc.ClientConn, caller string) error {
				_, err := raygatev2.NewClusterServiceClient(conn).GetCluster(as(t, caller), &raygatev2.GetClusterRequest{Name: "short"})
				return err
			}
			if err := get(conn, "ada"); problem(err) != "ResourceExhausted TOO_MANY_REQUESTS retry" {
				t.Errorf("beside the answer that is not taken: %v", err)
			}
			if err := get(own, "bob"); err != nil {
				t.Errorf("another user on the same connection: %v", err)
			}
			tc.end(t, cancel, own, stalled)
			for end := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
				err := get(conn, "ada")
				if err == nil {
					break
				}
				if time.Now().After(end) {
					t.Fatalf("the place was not given back: %v", err)
				}
			}
		})
	}
}

// Bytes that a call holds besides its answer count against its caller, and are released with the answer.
func TestRoomThatACallHolds(t *testing.T) {
	e := New(Options{Limits: Limits{Bytes: 40 << 20, CallerBytes: 4 << 20}})
	enter := func(name string) (context.Context, *Visit) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel() // what does not fit at once is refused
		ctx, v, err := enter(ctx, e.room, name, false)
		if err != nil {
			t.Fatal(err)
		}
		return ctx, v
	}
	a, visit := enter("ada")
	if err := errors.Join(Hold(a, 3<<20), Hold(a, 1<<20)); err != nil {
		t.Fatal(err)
	}
	b, _ := enter("ada")
	if got := problem(e.refuse(b, Hold(b, 1))); got != "ResourceExhausted TOO_MANY_BYTES retry" {
		t.Errorf("beyond what one caller may hold: %s", got)
	}
	if got := problem(e.refuse(a, Hold(a, 1))); got != "ResourceExhausted TOO_LARGE" {
		t.Errorf("one call beyond what one caller may hold: %s", got)
	}
	// However many greedy callers there are, something is left for the next one.
	for n := range 10 {
		ctx, _ := enter("greedy" + string(rune('a'+n)))
		for Hold(ctx, 1<<10) == nil {
		}
	}
	c, _ := enter("honest")
	if err := Hold(c, littleBytes); err != nil {
		t.Errorf("greedy callers left nothing (%d MiB of 40 are held): %v", e.room.total.bytes>>20, err)
	}
	visit.Leave()
	if err := Hold(b, 1<<20); err != nil {
		t.Errorf("what was held is not given back: %v", err)
	}
	if err := Hold(t.Context(), 1<<40); err != nil {
		t.Errorf("outside of a call: %v", err)
	}
}

// oneRequest is a stream with one request.
type oneRequest struct {
	grpc.ServerStream
	ctx  context.Context
	data []byte
}

func (o oneRequest) Context() context.Context { return o.ctx }

func (o oneRequest) RecvMsg(into any) error {
	into.(*rawBody).data = o.data
	return nil
}

// A short request has room also when there is none for the longest.
func TestShortRequestsHaveRoom(t *testing.T) {
	e := New(Options{MaxBody: 4 << 20, Table: rpcstatus.NewTable(rows...), Limits: Limits{Bytes: 40 << 20, CallerBytes: 10 << 20}})
	ended, cancel := context.WithCancel(t.Context())
	cancel() // what does not fit at once is refused
	for n := range 20 {
		ctx, _, _ := enter(ended, e.room, "greedy"+string(rune('a'+n)), false)
		for Hold(ctx, littleBytes+1) == nil {
		}
	}
	receive := func(size int, patience time.Duration) string {
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		_, v, err := enter(ctx, e.room, "ada", false)
		if err != nil {
			t.Fatal(err)
		}
		defer v.Leave()
		body, err := e.receive(oneRequest{ctx: ctx, data: make([]byte, size)}, v)
		if err == nil && len(body.data) != size {
			t.Errorf("got %d bytes of %d", len(body.data), size)
		}
		if err != nil {
			err = e.refuse(ctx, err)
		}
		return problem(err)
	}
	for range 2 * crampedPlaces {
		if got := receive(1<<10, time.Minute); got != "OK" {
			t.Errorf("a short request: %s", got)
		}
	}
	if got := receive(4<<20, 50*time.Millisecond); got != "ResourceExhausted OVERLOADED retry" {
		t.Errorf("a long request: %s", got)
	}
}

// Room that becomes free goes to a call that waits for it.
func TestRoomIsWaitedFor(t *testing.T) {
	e := New(Options{Limits: Limits{Bytes: 40 << 20, CallerBytes: 4 << 20}})
	a, visit, _ := enter(t.Context(), e.room, "ada", false)
	b, _, _ := enter(t.Context(), e.room, "ada", false)
	if err := Hold(a, 4<<20); err != nil {
		t.Fatal(err)
	}
	got := make(chan error)
	go func() { got <- Hold(b, 3<<20) }()
	for {
		e.room.mu.Lock()
		waiting := e.room.waiting
		e.room.mu.Unlock()
		if waiting == 1 {
			break
		}
		time.Sleep(time.Millisecond)
	}
	visit.Leave()
	if err := <-got; err != nil {
		t.Error(err)
	}
}

// A body of empty values takes a hundred times its length in memory: it is refused by their number before it is decoded, and what may be decoded counts.
func TestBodiesOfManyValues(t *testing.T) {
	body := func(n int) []byte {
		empty := protowire.AppendBytes(protowire.AppendTag(nil, 1, protowire.BytesType), nil) // a value of a list
		list := []byte(strings.Repeat(string(empty), n))
		value := protowire.AppendBytes(protowire.AppendTag(nil, 6, protowire.BytesType), list)
		field := protowire.AppendBytes(protowire.AppendTag(protowire.AppendString(protowire.AppendTag(nil, 1, protowire.BytesType), "x"), 2, protowire.BytesType), value)
		template := protowire.AppendBytes(protowire.AppendTag(nil, 1, protowire.BytesType), field)
		request := &raygatev2.CreateClusterRequest{Cluster: &raygatev2.RayCluster{Spec: &raygatev2.RayClusterSpec{HeadGroupSpec: &raygatev2.HeadGroupSpec{Template: &structpb.Struct{}}}}}
		request.GetCluster().GetSpec().GetHeadGroupSpec().GetTemplate().ProtoReflect().SetUnknown(template)
		data, err := proto.Marshal(request)
		if err != nil {
			t.Fatal(err)
		}
		return data
	}
	e := New(Options{Limits: Limits{Bytes: 1 << 30, CallerBytes: 32 << 20}})
	for name, tc := range map[string]struct {
		n    int
		want string
	}{
		"few":                          {1000, "OK"},
		"more than there may be":       {2_000_000, "InvalidArgument MALFORMED_BODY :MALFORMED_BODY"},
		"more than a caller has room":  {200_000, "ResourceExhausted TOO_LARGE"},
		"as many as a caller has room": {100_000, "OK"},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, visit, err := enter(t.Context(), e.room, "ada", false)
			if err != nil {
				t.Fatal(err)
			}
			defer visit.Leave()
			data, into := body(tc.n), &raygatev2.CreateClusterRequest{}
			if err = (&rawBody{data: data}).decode(ctx, into); err != nil {
				err = e.refuse(ctx, err)
			}
			if got := problem(err); got != tc.want {
				t.Errorf("got %s, want %s", got, tc.want)
			}
			list := into.GetCluster().GetSpec().GetHeadGroupSpec().GetTemplate().GetFields()["x"].GetListValue()
			if tc.want == "OK" && len(list.GetValues()) != tc.n {
				t.Errorf("decoded %d of %d values", len(list.GetValues()), tc.n)
			}
		})
	}
}

// A part of an answer that is encoded already is sent behind the rest.
func TestAnswerInParts(t *testing.T) {
	conn, svc := start(t, Options{})
	close(svc.leave)
	for _, size := range []int{0, 10, 1 << 20} {
		stream := ask(t, as(t, "ada"), conn, strings.Repeat("x", size))
		<-svc.entered
		got := &raygatev2.GetClusterResponse{}
		if err := stream.RecvMsg(got); err != nil || len(got.GetCluster().GetMetadata().GetName()) != size {
			t.Errorf("%d bytes: got %d, %v", size, len(got.GetCluster().GetMetadata().GetName()), err)
		}
		if err := stream.RecvMsg(got); !errors.Is(err, io.EOF) {
			t.Error(err)
		}
	}
}
