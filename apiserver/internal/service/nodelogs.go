package service

import (
	"cmp"
	"context"
	"io"
	"maps"
	"slices"
	"strings"

	"google.golang.org/grpc"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/validation"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/apiserver/internal/dashboardproxy"
	"github.com/raygate/raygate/apiserver/internal/flowcontrol"
	"github.com/raygate/raygate/apiserver/internal/rpcstatus"
	"github.com/raygate/raygate/pkg/dashboard"
	raygatev2 "github.com/raygate/raygate/proto/gen/go/raygate/v2"
)

const (
	// maxNodeList is the maximum size of Ray's lists of nodes and of their logs, in bytes.
	maxNodeList = 4 << 20
	// maxNamed is the maximum number of names in an error.
	maxNamed = 50
)

// GetNodeLogs implements raygatev2.SubmissionServiceServer.
func (s *submissionServer) GetNodeLogs(req *raygatev2.GetNodeLogsRequest, stream grpc.ServerStreamingServer[raygatev2.GetNodeLogsResponse]) error {
	ctx, q := stream.Context(), logQuery{tail: req.TailLines, offset: req.GetOffset()}
	if err := q.check(); err != nil {
		return err
	}
	d, c, err := s.open(ctx, req, "get")
	if err != nil {
		return err
	}
	if err := flowcontrol.Hold(ctx, logRoom+2*maxNodeList); err != nil {
		return err
	}
	log, err := s.openNodeLog(ctx, c, req)
	if err != nil {
		return dashboardproxy.Status(ctx, req.GetCluster(), err)
	}
	defer func() { _ = log.Close() }()
	flowcontrol.Shrink(ctx, logRoom)
	out := &logSender{
		send: func(data []byte, next int64) error {
			return stream.Send(&raygatev2.GetNodeLogsResponse{Data: data, NextOffset: next})
		},
		allowed: func() error { return s.Proxy.StillAllowed(ctx, d) },
		lost:    q.tail != nil,
	}
	out.from(q.offset)
	_, err = io.Copy(out, log)
	return dashboardproxy.Status(ctx, req.GetCluster(), err)
}

// openNodeLog opens the log of a request, if the node has it: Ray's own answer for another one looks like a failure.
func (s *submissionServer) openNodeLog(ctx context.Context, c dashboard.Client, req *raygatev2.GetNodeLogsRequest) (io.ReadCloser, error) {
	node, err := s.findNode(ctx, c, req)
	if err != nil {
		return nil, err
	}
	files, err := dashboard.NodeLogs(ctx, c, node, maxNodeList)
	if err != nil {
		return nil, err
	}
	file, lines := cmp.Or(req.GetFile(), "raylet.out"), -1
	if all := slices.Concat(slices.Collect(maps.Values(files))...); !slices.Contains(all, file) {
		// Short names first, as an error has a limit: those of single workers and parts of the dashboard are long.
		slices.SortFunc(all, func(a, b string) int { return cmp.Or(cmp.Compare(len(a), len(b)), cmp.Compare(a, b)) })
		return nil, rpcstatus.NotFound("the node has no log %s; it has %s", rpcstatus.Quoted(file), named(all))
	}
	if req.TailLines != nil {
		lines = int(req.GetTailLines())
	}
	return c.NodeLog(ctx, node, file, lines)
}

// findNode returns Ray's id of the node of a request.
func (s *submissionServer) findNode(ctx context.Context, c dashboard.Client, req *raygatev2.GetNodeLogsRequest) (string, error) {
	nodes, err := dashboard.Nodes(ctx, c, maxNodeList)
	if err != nil {
		return "", err
	}
	wanted := req.GetNode()
	at := slices.IndexFunc(nodes, func(n dashboard.Node) bool {
		return n.Head && wanted == "" || wanted != "" && (n.ID == wanted || n.IP == wanted)
	})
	if at < 0 {
		if wanted, err = s.addressOf(ctx, req); err != nil {
			return "", err
		}
		at = slices.IndexFunc(nodes, func(n dashboard.Node) bool { return wanted != "" && n.IP == wanted })
	}
	if at >= 0 {
		return nodes[at].ID, nil
	}
	var addresses []string
	for _, n := range nodes {
		addresses = append(addresses, n.IP)
	}
	return "", rpcstatus.NotFound("RayCluster %s has no node %s that runs; it has the addresses %s", req.GetCluster(), rpcstatus.Quoted(cmp.Or(req.GetNode(), "head")), named(addresses))
}

// addressOf returns the address of the Pod that a request names; empty if the cluster has none of this name.
func (s *submissionServer) addressOf(ctx context.Context, req *raygatev2.GetNodeLogsRequest) (string, error) {
	var pod corev1.Pod
	if len(validation.IsDNS1123Subdomain(req.GetNode())) > 0 {
		return "", nil
	}
	err := s.Proxy.Core.Get().Namespace(req.GetNamespace()).Resource("pods").Name(req.GetNode()).Do(ctx).Into(&pod)
	if apierrors.IsNotFound(err) || err == nil && pod.Labels[rayv1.LabelCluster] != req.GetCluster() {
		return "", nil
	}
	return pod.Status.PodIP, err
}

// named joins the first names.
func named(names []string) string {
	if len(names) > maxNamed {
		names = append(slices.Clip(names[:maxNamed]), "others")
	}
	return strings.Join(names, ", ")
}
