package service

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/timestamppb"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/utils/clock"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/apiserver/internal/authz"
	"github.com/raygate/raygate/apiserver/internal/dashboardproxy"
	"github.com/raygate/raygate/apiserver/internal/filter"
	"github.com/raygate/raygate/apiserver/internal/flowcontrol"
	"github.com/raygate/raygate/apiserver/internal/resource"
	"github.com/raygate/raygate/apiserver/internal/rpcstatus"
	"github.com/raygate/raygate/apiserver/internal/store"
	"github.com/raygate/raygate/pkg/history"
	raygatev2 "github.com/raygate/raygate/proto/gen/go/raygate/v2"
)

// historyServer implements HistoryService.
type historyServer struct {
	raygatev2.UnsafeHistoryServiceServer // so that a new method in the proto is a compile error here
	past

	kinds  []*resource.Resource // that have records
	proxy  *dashboardproxy.Proxy
	tokens store.Tokens
	clock  clock.PassiveClock
}

// summaryRoom is the approximate memory of a record on a page, and nodeLogRoom that of what is said about a log of a node.
const summaryRoom, nodeLogRoom = 4 << 10, 1 << 10

// ListHistory implements raygatev2.HistoryServiceServer.
func (s *historyServer) ListHistory(ctx context.Context, req *raygatev2.ListHistoryRequest) (*raygatev2.ListHistoryResponse, error) {
	size, err := resource.PageSize(req.GetPageSize())
	if err != nil {
		return nil, err
	}
	q, err := queryOf(req)
	if err != nil {
		return nil, err
	}
	if q.Kinds, err = s.listable(ctx, req); err != nil {
		return nil, err
	}
	if s.store == nil {
		return nil, errNoHistory
	}
	query := strings.Join([]string{
		"history", q.Namespace, req.GetKind(), q.Name, q.Since.Format(time.RFC3339Nano), q.Until.Format(time.RFC3339Nano), req.GetFilter(),
	}, "\x00")
	var from history.Cursor
	if token := req.GetPageToken(); token != "" {
		if err := s.tokens.Open(token, query, &from); err != nil {
			return nil, err
		}
	}
	if err := flowcontrol.Hold(ctx, int64(size)*summaryRoom); err != nil {
		return nil, err
	}
	page, err := s.store.List(ctx, q, from, size)
	if err != nil {
		return nil, away(ctx, err)
	}
	resp := &raygatev2.ListHistoryResponse{}
	for i := range page.Items {
		resp.Records = append(resp.Records, recordFrom(&page.Items[i]))
	}
	if page.Next != nil {
		resp.NextPageToken = s.tokens.Seal(page.Next, query)
	}
	return resp, nil
}

// queryOf reads what a request looks for, without its kinds.
func queryOf(req *raygatev2.ListHistoryRequest) (q history.Query, err error) {
	q = history.Query{Namespace: req.GetNamespace(), Name: req.GetName()}
	if q.Name != "" && !history.IsPart(q.Name) {
		return q, rpcstatus.BadField("name", "%q is not a name: use metadata.name of the object, or leave it out for all", rpcstatus.Quoted(q.Name))
	}
	for _, bound := range []struct {
		field string
		in    *timestamppb.Timestamp
		out   *time.Time
	}{{"since", req.GetSince(), &q.Since}, {"until", req.GetUntil(), &q.Until}} {
		if bound.in == nil {
			continue
		}
		if bound.in.CheckValid() != nil {
			return q, rpcstatus.BadField(bound.field, "is no time: use one such as 2026-01-31T12:00:00Z")
		}
		*bound.out = bound.in.AsTime()
	}
	if text := req.GetFilter(); text != "" {
		f, err := filter.Parse(text, (&raygatev2.HistoryRecord{}).ProtoReflect().Descriptor(), "")
		if err != nil {
			return q, rpcstatus.BadField("filter", "%v", err)
		}
		q.Match = func(r *history.Summary) bool {
			text, err := protojson.Marshal(recordFrom(r))
			return err == nil && f.Matches(text)
		}
	}
	return q, nil
}

// kind returns the kind of a name.
func (s *historyServer) kind(name string) (*resource.Resource, error) {
	names := make([]string, len(s.kinds))
	for i, r := range s.kinds {
		if names[i] = r.Checks.Kind; names[i] == name {
			return r, nil
		}
	}
	return nil, rpcstatus.BadField("kind", "%q has no history: use one of %s", rpcstatus.Quoted(name), strings.Join(names, ", "))
}

// listable returns the kinds of a request that the caller may list or, if it has a name, may get by that name. An error means that there
// are none.
func (s *historyServer) listable(ctx context.Context, req *raygatev2.ListHistoryRequest) (names []string, err error) {
	kinds := s.kinds
	if req.GetKind() != "" {
		kind, err := s.kind(req.GetKind())
		if err != nil {
			return nil, err
		}
		kinds = []*resource.Resource{kind}
	}
	var refused error
	for _, kind := range kinds {
		err := kind.Permit(ctx, "list", req.GetNamespace(), "")
		if apierrors.IsForbidden(err) && req.GetName() != "" {
			err = kind.Permit(ctx, "get", req.GetNamespace(), req.GetName())
		}
		switch {
		case err == nil:
			names = append(names, kind.Checks.Kind)
		case apierrors.IsForbidden(err):
			refused = cmp.Or(refused, err)
		default:
			return nil, err
		}
	}
	if len(names) == 0 {
		return nil, refused
	}
	return names, nil
}

// GetHistory implements raygatev2.HistoryServiceServer.
func (s *historyServer) GetHistory(ctx context.Context, req *raygatev2.GetHistoryRequest) (*raygatev2.GetHistoryResponse, error) {
	kind, err := s.kind(req.GetKind())
	if err != nil {
		return nil, err
	}
	k, err := keyOfRun(req.GetKind(), req)
	if err != nil {
		return nil, err
	}
	if err := kind.Permit(ctx, "get", req.GetNamespace(), req.GetName()); err != nil {
		return nil, err
	}
	r, err := s.find(ctx, k, 0)
	if err != nil {
		return nil, err
	}
	if err := s.restrict(ctx, kind, r); err != nil {
		return nil, err
	}
	if err := flowcontrol.Hold(ctx, sizeOfRecord(r)); err != nil {
		return nil, err
	}
	return wholeRecordFrom(r)
}

// restrict removes the parts of a record that the caller could not read while they existed, with a warning.
func (s *historyServer) restrict(ctx context.Context, kind *resource.Resource, r *history.Record) error {
	for _, part := range []struct {
		name   string
		there  bool
		access authz.Access
		drop   func()
	}{
		{"ray_job", r.RayJob != nil, authz.Access{Verb: "get", Resource: "services", Subresource: "proxy", Name: headServiceOf(r)}, func() { r.RayJob = nil }},
		{"node_logs", r.NodeLogs != nil, authz.Access{Verb: "get", Resource: "services", Subresource: "proxy", Name: headServiceOf(r)}, func() { r.NodeLogs = nil }},
		{"events", r.Events != nil, authz.Access{Verb: "list", Resource: "events"}, func() { r.Events = nil }},
		{"pods", r.Pods != nil, authz.Access{Verb: "list", Resource: "pods"}, func() { r.Pods = nil }},
		{"ray_cluster", r.RayCluster != nil, authz.Access{Verb: "get", Group: rayv1.GroupVersion.Group, Resource: "rayclusters", Name: r.Cluster}, func() { r.RayCluster = nil }},
	} {
		if !part.there {
			continue
		}
		part.access.Namespace = r.Namespace
		err := kind.Authorizer.Authorize(ctx, part.access)
		if apierrors.IsForbidden(err) {
			kind.Warn(ctx, fmt.Sprintf("%s is left out: %v", part.name, err))
			part.drop()
			continue
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// sizeOfRecord is the approximate size of a record in an answer.
func sizeOfRecord(r *history.Record) int64 {
	size := int64(summaryRoom)
	for _, part := range slices.Concat([]json.RawMessage{r.Object, r.RayCluster, r.RayJob}, r.Events, r.Pods) {
		size += sizeOfMessage(part)
	}
	return size + int64(len(r.NodeLogs))*nodeLogRoom
}

func recordFrom(r *history.Summary) *raygatev2.HistoryRecord {
	return &raygatev2.HistoryRecord{
		Kind: r.Kind, Namespace: r.Namespace, Name: r.Name, Uid: r.UID, Attempt: int32(r.Attempt),
		CreateTime: timestamp(r.Created), StartTime: timestamp(r.Started), EndTime: timestamp(r.Ended),
		Result: r.Result, Reason: r.Reason, Message: r.Message, JobId: r.JobID, Cluster: r.Cluster, Queue: r.Queue,
		HasLog: r.HasLog, LogBytes: r.LogBytes, Lost: r.Lost,
	}
}

func wholeRecordFrom(r *history.Record) (*raygatev2.GetHistoryResponse, error) {
	resp := &raygatev2.GetHistoryResponse{Record: recordFrom(&r.Summary)}
	for _, text := range r.Events {
		var e corev1.Event
		if err := json.Unmarshal(text, &e); err != nil {
			return nil, fmt.Errorf("reading an event of a record: %w", err)
		}
		resp.Events = append(resp.Events, resource.EventFromKube(&e))
	}
	for _, l := range r.NodeLogs {
		resp.NodeLogs = append(resp.NodeLogs, &raygatev2.NodeLog{Node: l.Node, Ip: l.IP, Pod: l.Pod, Head: l.Head, File: l.File, Bytes: l.Bytes})
	}
	document := func(text json.RawMessage) (*structpb.Struct, error) {
		if len(text) == 0 {
			return nil, nil
		}
		out := &structpb.Struct{}
		return out, out.UnmarshalJSON(text)
	}
	var err error
	for _, part := range []struct {
		from json.RawMessage
		to   **structpb.Struct
	}{{r.Object, &resp.Object}, {r.RayCluster, &resp.RayCluster}, {r.RayJob, &resp.RayJob}} {
		if *part.to, err = document(part.from); err != nil {
			return nil, fmt.Errorf("reading a record: %w", err)
		}
	}
	for _, text := range r.Pods {
		pod, err := document(text)
		if err != nil {
			return nil, fmt.Errorf("reading a Pod of a record: %w", err)
		}
		resp.Pods = append(resp.Pods, pod)
	}
	return resp, nil
}
