package service

import (
	"context"
	"encoding/json"
	"errors"
	"io"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/apiserver/internal/rpcstatus"
	"github.com/raygate/raygate/pkg/history"
)

// History is the part of history.Store that reads.
type History interface {
	// Find returns the newest record of an object.
	Find(ctx context.Context, k history.Key) (*history.Record, error)
	// Log returns the log of a record from an offset on.
	Log(ctx context.Context, k history.Key, offset int64) (io.ReadCloser, error)
}

// pastLog sends the log that the history has of an attempt whose cluster is gone. It returns gone if there is none. The caller needs the
// same right as for the dashboard when the cluster existed.
func (s *jobServer) pastLog(ctx context.Context, a attempt, q logQuery, out *logSender, gone error) error {
	if s.history == nil {
		return gone
	}
	r, err := s.history.Find(ctx, history.Key{Kind: "RayJob", Namespace: a.item.Namespace, Name: a.item.Name, UID: string(a.item.UID)})
	switch {
	case errors.Is(err, history.ErrNotFound):
		return gone
	case err != nil:
		return unreadable(gone)
	case r.JobID != a.id || r.Cluster != a.cluster || !r.HasLog: // an earlier attempt, or the log was lost
		return gone
	}
	if err := s.proxy.Allowed(ctx, a.item.Namespace, headServiceOf(r), "get"); err != nil {
		return err
	}
	copyFrom := func(offset int64, to io.Writer) error {
		in, err := s.history.Log(ctx, r.Key, offset)
		if err != nil {
			return unreadable(gone)
		}
		defer func() { _ = in.Close() }()
		_, err = io.CopyBuffer(onlyWriter{to}, in, make([]byte, maxPart))
		return err
	}
	if q.tail != nil {
		var counted lineCount
		if err := copyFrom(0, &counted); err != nil {
			return err
		}
		out.lines = counted.lines() - int(*q.tail)
	}
	if q.offset >= r.LogBytes {
		return nil
	}
	out.next = q.offset
	return copyFrom(q.offset, out)
}

// onlyWriter keeps the reader from writing pieces of any size.
type onlyWriter struct{ io.Writer }

// headServiceOf is the name of the head Service that the cluster had; empty if it is unknown, which means any name.
func headServiceOf(r *history.Record) string {
	var rc rayv1.RayCluster
	_ = json.Unmarshal(r.RayCluster, &rc) // a record without a cluster has none
	return rc.Status.Head.ServiceName
}

// unreadable adds to the reason for the lack of a dashboard that the history store fails. The text of its error may name buckets and
// hosts, so that callers do not get it.
func unreadable(gone error) error {
	return rpcstatus.Precondition("CLUSTER_GONE", "%s; the history store cannot be read now", gone)
}
