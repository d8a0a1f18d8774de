package dashboards

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/types/known/emptypb"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/raygate/raygate/pkg/headpod"
)

// ErrNoNode means that Ray has no living node in a Pod, so that there is nothing to drain.
var ErrNoNode = errors.New("no living Ray node is in the Pod")

// ErrNotDrained means that Ray refuses to drain a node.
var ErrNotDrained = errors.New("draining the node is refused")

// Draining drains nodes of one cluster. It knows those that lived when it was opened.
type Draining interface {
	// Drain asks Ray to give the node in a Pod no more work, and to end it when its work has ended. Ray stops what still runs after until. The
	// request is idempotent. The error is ErrNoNode once the node has ended.
	Drain(ctx context.Context, pod *corev1.Pod, until time.Time) error
	// Close ends the connection.
	Close() error
}

// OpenDraining connects to the GCS in a head Pod. An empty token means none. The caller must close the result.
type OpenDraining func(ctx context.Context, head headpod.Head, token string) (Draining, error)

// At returns the site with another port of the head Pod.
func (s Site) At(port int32) Site {
	s.address.Head.Port = port
	return s
}

// Draining opens the GCS of a site with the token of its cluster. The port of the site is that of the GCS.
func (d *Dashboards) Draining(ctx context.Context, s Site, open OpenDraining) (Draining, error) {
	t, err := d.token(ctx, s)
	if err != nil {
		return nil, err
	}
	return open(ctx, s.address.Head, string(t))
}

// maxState limits the list of nodes of a cluster, in bytes.
const maxState = 32 << 20

// DrainDirect connects to the GCS in the head Pod, whose port the head names. dial comes from package headpod, so that connections go to Pods only.
// pods reads Pods from a cache. Clusters with TLS are not supported.
func DrainDirect(pods client.Reader, dial func(ctx context.Context, network, address string) (net.Conn, error)) OpenDraining {
	return func(ctx context.Context, head headpod.Head, token string) (Draining, error) {
		address, err := headAddress(ctx, pods, head)
		if err != nil {
			return nil, err
		}
		conn, err := grpc.NewClient("passthrough:///"+address.String(), grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithNoProxy(),
			grpc.WithContextDialer(func(ctx context.Context, address string) (net.Conn, error) { return dial(ctx, "tcp", address) }))
		if err != nil {
			return nil, fmt.Errorf("connecting to the GCS: %w", err)
		}
		g := &gcs{ClientConn: conn, token: token, nodes: map[string][]byte{}}
		if err := g.readNodes(ctx); err != nil {
			_ = conn.Close()
			return nil, err
		}
		return g, nil
	}
}

// gcs calls Ray's GCS. Of its messages only a few fields are needed, so they are written and read without generated code. The numbers are those
// of ray.rpc.autoscaler in Ray 2.60.
type gcs struct {
	*grpc.ClientConn
	token string
	nodes map[string][]byte // ids of living nodes by the names of their Pods; addresses are not unique in host networks
}

// Numbers of fields and values.
const (
	stateOfReply protowire.Number = 1 // GetClusterResourceStateReply.cluster_resource_state
	nodesOfState protowire.Number = 3 // ClusterResourceState.node_states
	idOfNode     protowire.Number = 1 // NodeState.node_id
	podOfNode    protowire.Number = 2 // NodeState.instance_id, which is RAY_CLOUD_INSTANCE_ID: the name of the Pod
	statusOfNode protowire.Number = 8 // NodeState.status
	statusDead                    = 2 // NodeStatus.DEAD

	drainNode           protowire.Number = 1 // DrainNodeRequest.node_id
	drainReason         protowire.Number = 2
	drainMessage        protowire.Number = 3
	drainDeadline       protowire.Number = 4 // in milliseconds
	reasonPreemption                     = 2 // DrainNodeReason.DRAIN_NODE_REASON_PREEMPTION, which Ray never refuses
	drainAccepted       protowire.Number = 1 // DrainNodeReply.is_accepted
	drainRefusedBecause protowire.Number = 2
)

// call sends an encoded message and returns the encoded reply: an empty message keeps fields that it does not know.
func (g *gcs) call(ctx context.Context, method string, request []byte) ([]byte, error) {
	if g.token != "" {
		ctx = metadata.AppendToOutgoingContext(ctx, "authorization", "Bearer "+g.token)
	}
	var in, out emptypb.Empty
	in.ProtoReflect().SetUnknown(request)
	if err := g.Invoke(ctx, "/ray.rpc.autoscaler.AutoscalerStateService/"+method, &in, &out, grpc.MaxCallRecvMsgSize(maxState)); err != nil {
		return nil, fmt.Errorf("calling %s of the GCS: %w", method, err)
	}
	return out.ProtoReflect().GetUnknown(), nil
}

func (g *gcs) readNodes(ctx context.Context) error {
	reply, err := g.call(ctx, "GetClusterResourceState", nil)
	if err != nil {
		return err
	}
	return fields(reply, func(number protowire.Number, state []byte, _ uint64) error {
		if number != stateOfReply {
			return nil
		}
		return fields(state, func(number protowire.Number, node []byte, _ uint64) error {
			if number != nodesOfState {
				return nil
			}
			return g.addNode(node)
		})
	})
}

// addNode adds the node of an encoded NodeState, unless it is dead.
func (g *gcs) addNode(node []byte) error {
	var id, pod []byte
	alive := true
	err := fields(node, func(number protowire.Number, text []byte, value uint64) error {
		switch number {
		case idOfNode:
			id = text
		case podOfNode:
			pod = text
		case statusOfNode:
			alive = value != statusDead
		}
		return nil
	})
	if alive && len(id) > 0 {
		g.nodes[string(pod)] = id
	}
	return err
}

// Drain implements Draining.
func (g *gcs) Drain(ctx context.Context, pod *corev1.Pod, until time.Time) error {
	node := g.nodes[pod.Name]
	if len(node) == 0 {
		return ErrNoNode
	}
	var b []byte
	b = protowire.AppendBytes(protowire.AppendTag(b, drainNode, protowire.BytesType), node)
	b = protowire.AppendVarint(protowire.AppendTag(b, drainReason, protowire.VarintType), reasonPreemption)
	b = protowire.AppendString(protowire.AppendTag(b, drainMessage, protowire.BytesType), "the Pod is about to be deleted")
	b = protowire.AppendVarint(protowire.AppendTag(b, drainDeadline, protowire.VarintType), uint64(until.UnixMilli())) //nolint:gosec // not negative
	reply, err := g.call(ctx, "DrainNode", b)
	if err != nil {
		return err
	}
	accepted, why := false, ""
	err = fields(reply, func(number protowire.Number, text []byte, value uint64) error {
		switch number {
		case drainAccepted:
			accepted = value != 0
		case drainRefusedBecause:
			why = string(text)
		}
		return nil
	})
	if err == nil && !accepted {
		err = fmt.Errorf("%w: %s", ErrNotDrained, why)
	}
	return err
}

// fields calls see with each field of an encoded message that has bytes or a varint.
func fields(b []byte, see func(number protowire.Number, text []byte, value uint64) error) error {
	for len(b) > 0 {
		number, kind, n := protowire.ConsumeTag(b)
		if n < 0 {
			return fmt.Errorf("reading the answer of the GCS: %w", protowire.ParseError(n))
		}
		b = b[n:]
		var text []byte
		var value uint64
		switch kind {
		case protowire.BytesType:
			text, n = protowire.ConsumeBytes(b)
		case protowire.VarintType:
			value, n = protowire.ConsumeVarint(b)
		default:
			n = protowire.ConsumeFieldValue(number, kind, b)
		}
		if n < 0 {
			return fmt.Errorf("reading the answer of the GCS: %w", protowire.ParseError(n))
		}
		b = b[n:]
		if err := see(number, text, value); err != nil {
			return err
		}
	}
	return nil
}
