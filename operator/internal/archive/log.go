package archive

import (
	"context"
	"encoding/json"
	"errors"
	"io"

	"github.com/raygate/raygate/pkg/dashboard"
	"github.com/raygate/raygate/pkg/history"
)

// log returns the log of the driver as it is read from the dashboard; nil if there is none. It adds the details of the job, the answers of
// the dashboard and the logs of nodes to the record. The caller must close it.
func (a *Archive) log(whole context.Context, s Subject, r *history.Record) io.ReadCloser {
	if s.Site == nil {
		if s.HadJob {
			r.Lost = append(r.Lost, "the log is missing: the cluster is gone")
		}
		return nil
	}
	ctx, cancel := context.WithTimeout(whole, a.config.Timeout/2)
	var job *dashboard.Job
	err := a.config.Dashboards.Call(ctx, *s.Site, func(c dashboard.Client) (err error) {
		job, err = c.GetJob(ctx, s.JobID)
		return err
	})
	if a.config.NodeLogs > 0 && (err == nil || errors.Is(err, dashboard.ErrNotFound)) {
		nodes := &nodeReader{Archive: a, subject: s, record: r, left: a.config.NodeLogs}
		if job != nil {
			nodes.job = job.JobID
		}
		r.Nodes = nodes.all(whole)
	}
	if err != nil {
		cancel()
		if s.HadJob || !errors.Is(err, dashboard.ErrNotFound) {
			r.Lost = append(r.Lost, "the log is missing: "+err.Error())
		}
		return nil
	}
	if r.RayJob, err = json.Marshal(job); err != nil {
		r.Lost = append(r.Lost, "the job details of Ray are missing: "+err.Error())
	}
	a.answers(ctx, s, r, job.JobID)
	in, out := io.Pipe()
	go func() {
		out.CloseWithError(a.config.Dashboards.Call(ctx, *s.Site, func(c dashboard.Client) error {
			return dashboard.CopyLog(ctx, c, s.JobID, out, dashboard.FollowOptions{Clock: a.config.Clock, Patience: 2})
		}))
	}()
	return &reading{in, cancel}
}

// reading ends the transfer when it is closed.
type reading struct {
	*io.PipeReader
	cancel context.CancelFunc
}

// Close implements io.Closer.
func (r *reading) Close() error {
	r.cancel()
	return r.PipeReader.Close()
}
