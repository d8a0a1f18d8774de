package dashboards

import (
	"context"
	"errors"
	"net/netip"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/types/known/emptypb"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clientscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/raygate/raygate/internal/testing/podaddress"
	"github.com/raygate/raygate/internal/testing/raytest"
	"github.com/raygate/raygate/pkg/headpod"
)

func bytesField(number protowire.Number, value []byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(nil, number, protowire.BytesType), value)
}

func intField(number protowire.Number, value uint64) []byte {
	return protowire.AppendVarint(protowire.AppendTag(nil, number, protowire.VarintType), value)
}

// node is a NodeState with a field that nobody reads.
func node(id, pod string, status uint64) []byte {
	n := append(bytesField(1, []byte(id)), bytesField(2, []byte(pod))...)
	return bytesField(3, append(append(n, intField(8, status)...), bytesField(10, []byte("10.0.0.1"))...))
}

// fakeGCS serves a list of nodes, and keeps what it is asked to drain.
type fakeGCS struct {
	nodes, reply  []byte
	drained       []byte
	authorization []string
}

func (g *fakeGCS) serve(_ any, stream grpc.ServerStream) error {
	method, _ := grpc.MethodFromServerStream(stream)
	var in, out emptypb.Empty
	if err := stream.RecvMsg(&in); err != nil {
		return err
	}
	if strings.HasSuffix(method, "AutoscalerStateService/DrainNode") {
		md, _ := metadata.FromIncomingContext(stream.Context())
		g.authorization, g.drained = md.Get("authorization"), in.ProtoReflect().GetUnknown()
		out.ProtoReflect().SetUnknown(g.reply)
	} else {
		out.ProtoReflect().SetUnknown(bytesField(1, append(intField(1, 7), g.nodes...)))
	}
	return stream.SendMsg(&out)
}

func TestDrain(t *testing.T) {
	g := &fakeGCS{}
	server := grpc.NewServer(grpc.UnknownServiceHandler(g.serve))
	listener := podaddress.Listen(t)
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(server.Stop)
	address := netip.MustParseAddrPort(listener.Addr().String())

	rc := raytest.RayCluster("ns/demo")
	headPod := raytest.HeadPod(rc, "head")
	headPod.Status.PodIP = address.Addr().String()
	pods := fake.NewClientBuilder().WithScheme(clientscheme.Scheme).WithObjects(headPod).Build()
	worker := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "w"}}
	until := time.UnixMilli(1_764_000_000_123)
	drain := func() error {
		head := headpod.Of(rc)
		head.Port = int32(address.Port())
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		draining, err := DrainDirect(pods, headpod.NewTransport("").DialContext)(ctx, head, "secret")
		if err != nil {
			return err
		}
		defer func() { _ = draining.Close() }()
		return draining.Drain(ctx, worker, until)
	}
	ours := node("id-2", "w", 1)
	for name, tc := range map[string]struct {
		nodes, reply []byte
		want         error
	}{
		"a node":               {append(node("id-1", "head", 1), ours...), intField(1, 1), nil},
		"the successor":        {append(node("id-0", "w", 2), ours...), intField(1, 1), nil},
		"one that is refused":  {ours, bytesField(2, []byte("busy")), ErrNotDrained},
		"one that has ended":   {node("id-2", "w", 2), nil, ErrNoNode},
		"one that is not here": {node("id-1", "head", 1), nil, ErrNoNode},
	} {
		t.Run(name, func(t *testing.T) {
			*g = fakeGCS{nodes: tc.nodes, reply: tc.reply}
			if err := drain(); !errors.Is(err, tc.want) || tc.want == nil && err != nil {
				t.Fatalf("got %v, want %v", err, tc.want)
			}
			if errors.Is(tc.want, ErrNoNode) {
				return
			}
			want := strings.Join([]string{
				string(bytesField(1, []byte("id-2"))), string(intField(2, 2)), string(bytesField(3, []byte("the Pod is about to be deleted"))), string(intField(4, 1_764_000_000_123)),
			}, "")
			if string(g.drained) != want || len(g.authorization) != 1 || g.authorization[0] != "Bearer secret" {
				t.Errorf("asked for %q as %q, want %q", g.drained, g.authorization, want)
			}
		})
	}
	*g = fakeGCS{nodes: []byte{0x1a, 0xff}}
	if err := drain(); err == nil || errors.Is(err, ErrNoNode) {
		t.Errorf("an answer that is cut off: %v", err)
	}
	headPod.Status.PodIP = "127.0.0.1"
	pods = fake.NewClientBuilder().WithScheme(clientscheme.Scheme).WithObjects(headPod).Build()
	if err := drain(); err == nil || g.drained != nil {
		t.Errorf("a head on loopback is asked: %v", err)
	}
}
