package service

import (
	"cmp"
	"context"
	"strings"
	"time"

	"github.com/raygate/raygate/apiserver/internal/rpcstatus"
	"github.com/raygate/raygate/pkg/history"
	raygatev2 "github.com/raygate/raygate/proto/gen/go/raygate/v2"
)

// GetUsage implements raygatev2.HistoryServiceServer.
func (s *historyServer) GetUsage(ctx context.Context, req *raygatev2.GetUsageRequest) (*raygatev2.GetUsageResponse, error) {
	month := cmp.Or(req.GetMonth(), s.clock.Now().UTC().Format(history.MonthLayout))
	if _, err := time.Parse(history.MonthLayout, month); err != nil {
		return nil, rpcstatus.BadField("month", "%q is no month: use one such as 2026-11", rpcstatus.Quoted(month))
	}
	by, err := groupingOf(req.GetGroupBy())
	if err != nil {
		return nil, err
	}
	clusters, err := s.kind("RayCluster")
	if err != nil {
		return nil, err
	}
	if err := clusters.Permit(ctx, "list", req.GetNamespace(), ""); err != nil {
		return nil, err
	}
	if s.store == nil {
		return nil, errNoHistory
	}
	sums, err := s.store.Sums(ctx, req.GetNamespace(), month, by)
	if err != nil {
		return nil, away(ctx, err)
	}
	resp := &raygatev2.GetUsageResponse{Namespace: req.GetNamespace(), Month: month}
	for _, sum := range sums {
		resp.Items = append(resp.Items, &raygatev2.Usage{
			Queue: sum.Queue, Owner: sum.Owner, Clusters: int32(sum.Clusters), //nolint:gosec // far below
			CpuSeconds: sum.CPU, GpuSeconds: sum.GPU, TpuSeconds: sum.TPU, MemoryGibSeconds: sum.Memory,
		})
	}
	return resp, nil
}

// groupingOf reads names with commas between them.
func groupingOf(text string) (by history.Grouping, err error) {
	if text == "" {
		return by, nil
	}
	for name := range strings.SplitSeq(text, ",") {
		switch strings.TrimSpace(name) {
		case "queue":
			by.Queue = true
		case "owner":
			by.Owner = true
		default:
			return by, rpcstatus.BadField("group_by", "%q is not known: use queue, owner, or both with a comma between them", rpcstatus.Quoted(name))
		}
	}
	return by, nil
}
