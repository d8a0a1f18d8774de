package service

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"google.golang.org/grpc/codes"
	"k8s.io/klog/v2"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/apiserver/internal/rpcstatus"
	"github.com/raygate/raygate/pkg/history"
	raygatev2 "github.com/raygate/raygate/proto/gen/go/raygate/v2"
)

// History is the part of history.Store that reads.
type History interface {
	// Find returns the newest record of an object.
	Find(ctx context.Context, k history.Key) (*history.Record, error)
	// OfName returns the keys of the records of a name.
	OfName(ctx context.Context, k history.Key) ([]history.Key, error)
	// List returns a page of records.
	List(ctx context.Context, q history.Query, from history.Cursor, size int) (history.Page, error)
	// Sums returns the usage of a namespace in a month.
	Sums(ctx context.Context, namespace, month string, by history.Grouping) ([]history.Sum, error)
	// Log returns the log of a record from an offset on.
	Log(ctx context.Context, k history.Key, offset int64) (io.ReadCloser, error)
	// NodeLog returns a log of a node in a record from an offset on.
	NodeLog(ctx context.Context, k history.Key, l history.NodeLog, offset int64) (io.ReadCloser, error)
	// Answers returns the answers of the dashboard in a record.
	Answers(ctx context.Context, k history.Key) (history.Answers, error)
}

// keyOfRun reads the key of a record from a request. Its attempt may be 0 and its UID empty, for any.
func keyOfRun(kind string, req interface {
	GetNamespace() string
	GetName() string
	GetAttempt() int32
	GetUid() string
},
) (k history.Key, err error) {
	if req.GetAttempt() < 0 {
		return k, rpcstatus.BadField("attempt", "%d is negative: attempts count from 1, and 0 is the last one", req.GetAttempt())
	}
	if uid := req.GetUid(); uid != "" && !history.IsPart(uid) {
		return k, rpcstatus.BadField("uid", "%q is not a UID: use metadata.uid of the object, or leave it out", rpcstatus.Quoted(uid))
	}
	return history.Key{Kind: kind, Namespace: req.GetNamespace(), Name: req.GetName(), UID: req.GetUid(), Attempt: int(req.GetAttempt())}, nil
}

// past has the records of ended objects. It checks no rights.
type past struct {
	store History // nil for none
}

// find returns the newest record of an attempt. present is an attempt that has no record yet, for the error; 0 for none.
func (p past) find(ctx context.Context, k history.Key, present int) (*history.Record, error) {
	if p.store == nil {
		return nil, errNoHistory
	}
	r, err := p.store.Find(ctx, k)
	if !errors.Is(err, history.ErrNotFound) {
		return r, away(ctx, err)
	}
	keys, err := p.store.OfName(ctx, k)
	if err != nil {
		return nil, away(ctx, err)
	}
	return nil, missing(k, history.NewestObject(keys), present)
}

// maxListed is the maximum number of attempts that an error lists.
const maxListed = 20

// missing returns the error for a record that does not exist, with the attempts that do.
func missing(k history.Key, keys []history.Key, present int) error {
	what := k.Kind + " " + k.Name
	if k.UID != "" {
		what += " with the UID " + k.UID
	}
	attempts := make([]int, 0, len(keys)+1)
	for _, key := range keys {
		attempts = append(attempts, key.Attempt)
	}
	if present > 0 {
		attempts = append(attempts, present)
	}
	slices.Sort(attempts)
	attempts = slices.Compact(attempts)
	if len(attempts) == 0 {
		return rpcstatus.NotFound("the history has no record of %s", what)
	}
	last := attempts[max(0, len(attempts)-maxListed):]
	return rpcstatus.NotFound("%s has no attempt %d: it has %s", what, k.Attempt, strings.ReplaceAll(strings.Trim(fmt.Sprint(last), "[]"), " ", ", "))
}

// isMissing reports whether an error of find means that there is no such record.
func isMissing(err error) bool {
	status, ok := errors.AsType[*rpcstatus.Error](err)
	return ok && status.Code == codes.NotFound
}

var errNoHistory = rpcstatus.Precondition("NO_HISTORY", "this gateway has no history of ended objects: an administrator can set --history-store")

// historyRetry is when a client may try again.
const historyRetry = 10 * time.Second

// away translates an error of the history store, whose text may name buckets and hosts, so that callers do not get it. Nil for nil.
func away(ctx context.Context, err error) error {
	if err == nil || ctx.Err() != nil {
		return ctx.Err()
	}
	klog.FromContext(ctx).Error(err, "Read the history store")
	return &rpcstatus.Error{Code: codes.Unavailable, Reason: "HISTORY_UNAVAILABLE", Message: "the history store cannot be read now", RetryAfter: historyRetry}
}

// pastLog sends the log that the history has of an attempt whose cluster is gone. It returns gone if there is none. The caller needs the
// same right as for the dashboard when the cluster existed.
func (s *jobServer) pastLog(ctx context.Context, a attempt, q logQuery, out *logSender, gone error) error {
	if s.past.store == nil {
		return gone
	}
	r, err := s.past.store.Find(ctx, history.Key{Kind: "RayJob", Namespace: a.item.Namespace, Name: a.item.Name, UID: string(a.item.UID)})
	switch {
	case errors.Is(err, history.ErrNotFound):
		return gone
	case err != nil:
		return rpcstatus.Precondition("CLUSTER_GONE", "%s; the history store cannot be read now", gone)
	case r.JobID != a.id || r.Cluster != a.cluster || !r.HasLog: // an earlier attempt, or the log was lost
		return gone
	}
	return s.sendPast(ctx, r, q, out)
}

// recordedLog sends the log of a record: of an earlier attempt, or of a RayJob that was deleted. present is the attempt of the RayJob if
// that still exists, and nil otherwise.
func (s *jobServer) recordedLog(ctx context.Context, k history.Key, q logQuery, out *logSender, present *attempt) error {
	number := 0
	if present != nil {
		number = present.number
	}
	r, err := s.past.find(ctx, k, number)
	if isMissing(err) && k.Attempt == number && present != nil {
		return present.checkStarted()
	}
	if err != nil {
		return err
	}
	if !r.HasLog {
		return rpcstatus.Precondition("CLUSTER_GONE", "attempt %d of RayJob %s has no log in the history: %s", r.Attempt, r.Name, strings.Join(append(r.Lost, "its result is "+r.Result), "; "))
	}
	return s.sendPast(ctx, r, q, out)
}

// sendPast sends the log of a record.
func (s *jobServer) sendPast(ctx context.Context, r *history.Record, q logQuery, out *logSender) error {
	if err := s.proxy.Allowed(ctx, r.Namespace, headServiceOf(r)); err != nil {
		return err
	}
	return sendKept(ctx, r.LogBytes, q, out, func(offset int64) (io.ReadCloser, error) { return s.past.store.Log(ctx, r.Key, offset) })
}

// sendKept sends a log of size bytes, which open opens at an offset.
func sendKept(ctx context.Context, size int64, q logQuery, out *logSender, open func(offset int64) (io.ReadCloser, error)) error {
	copyFrom := func(offset int64, to io.Writer) error {
		in, err := open(offset)
		if err != nil {
			return away(ctx, err)
		}
		defer func() { _ = in.Close() }()
		_, err = io.CopyBuffer(to, in, make([]byte, maxPart))
		return err
	}
	if q.tail != nil {
		var counted lineCount
		if err := copyFrom(0, &counted); err != nil {
			return err
		}
		out.lines = counted.lines() - int(*q.tail)
	}
	if q.offset >= size {
		return nil
	}
	out.next = q.offset
	return copyFrom(q.offset, out)
}

// nodeLog sends a log of a node in the history. The caller needs the same right as for the log of the driver.
func (s *jobServer) nodeLog(ctx context.Context, k history.Key, req *raygatev2.GetJobLogsRequest, q logQuery, out *logSender) error {
	r, err := s.past.find(ctx, k, 0)
	if err != nil {
		return err
	}
	if err := s.proxy.Allowed(ctx, r.Namespace, headServiceOf(r)); err != nil {
		return err
	}
	l, err := nodeLogOf(r, req.GetNode(), req.GetFile())
	if err != nil {
		return err
	}
	return sendKept(ctx, l.Bytes, q, out, func(offset int64) (io.ReadCloser, error) { return s.past.store.NodeLog(ctx, r.Key, l, offset) })
}

// nodeLogOf returns a log of a node in a record. The error names those that are there.
func nodeLogOf(r *history.Record, node, file string) (l history.NodeLog, err error) {
	var nodes, files []string
	for _, l := range r.NodeLogs {
		nodes = append(nodes, l.Name())
		if !l.Is(node) {
			continue
		}
		if l.File == file {
			return l, nil
		}
		files = append(files, l.File)
	}
	what, there := "logs of nodes", "it has none"
	switch {
	case files != nil:
		what, there = fmt.Sprintf("log %s of this node", rpcstatus.Quoted(file)), "it has "+strings.Join(files, ", ")
	case nodes != nil:
		what, there = fmt.Sprintf("logs of node %s", rpcstatus.Quoted(cmp.Or(node, "head"))), "it has those of "+strings.Join(slices.Compact(nodes), ", ")
	}
	return l, rpcstatus.NotFound("the history of attempt %d of RayJob %s has no %s: %s", r.Attempt, r.Name, what, strings.Join(append([]string{there}, r.Lost...), "; "))
}

// headServiceOf is the name of the head Service that the cluster had; empty if it is unknown, which means any name.
func headServiceOf(r *history.Record) string {
	var rc rayv1.RayCluster
	_ = json.Unmarshal(r.RayCluster, &rc) // a record without a cluster has none
	return rc.Status.Head.ServiceName
}
