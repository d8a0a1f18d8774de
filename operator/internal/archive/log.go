package archive

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/raygate/raygate/pkg/dashboard"
	"github.com/raygate/raygate/pkg/history"
)

// answerPart is the part of the timeout in which a dashboard has to answer if a part of the log is stored, so that there is time to copy that.
const answerPart = 6

var (
	errGone  = errors.New("the cluster is gone")
	errNoLog = errors.New("the dashboard does not have the log any more")
)

// log returns the log of the driver as it is read from the dashboard or, from where that breaks off, as it was stored while the job ran; nil
// if there is none. It adds the details of the job, the answers of the dashboard and the logs of nodes to the record. The caller must close it.
func (a *Archive) log(whole context.Context, s Subject, r *history.Record, stored *history.Spool) io.ReadCloser {
	ctx, cancel := context.WithTimeout(whole, a.config.Timeout/2)
	job, err := a.job(ctx, s, stored != nil)
	if err == nil || errors.Is(err, dashboard.ErrNotFound) {
		a.addNodes(whole, s, r, job)
	}
	switch {
	case err == nil:
	case stored != nil:
		return piped(cancel, func(out io.Writer) error { return copyStored(whole, stored, 0, out, err) })
	default:
		cancel()
		if s.HadJob || s.Site != nil && !errors.Is(err, dashboard.ErrNotFound) {
			r.Lost = append(r.Lost, "the log is missing: "+err.Error())
		}
		return nil
	}
	if r.RayJob, err = json.Marshal(job); err != nil {
		r.Lost = append(r.Lost, "the job details of Ray are missing: "+err.Error())
	}
	a.answers(ctx, s, r, job.JobID)
	return piped(cancel, func(out io.Writer) error {
		n := &counter{out: out}
		err := a.copyLog(ctx, s, n, stored == nil)
		if err == nil || stored == nil {
			return err
		}
		return copyStored(whole, stored, n.n, out, err)
	})
}

// addNodes adds the logs of nodes to the record. job is nil if Ray does not have it.
func (a *Archive) addNodes(ctx context.Context, s Subject, r *history.Record, job *dashboard.Job) {
	if a.config.NodeLogs <= 0 {
		return
	}
	nodes := &nodeReader{Archive: a, subject: s, record: r, left: a.config.NodeLogs}
	if job != nil {
		nodes.job = job.JobID
	}
	r.Nodes = nodes.all(ctx)
}

// copyLog copies the log that the dashboard has. An empty one may be an error.
func (a *Archive) copyLog(ctx context.Context, s Subject, out *counter, maybeEmpty bool) error {
	err := a.config.Dashboards.Call(ctx, *s.Site, func(c dashboard.Client) error {
		return dashboard.CopyLog(ctx, c, s.JobID, out, dashboard.FollowOptions{Clock: a.config.Clock, Patience: 2})
	})
	if err == nil && out.n == 0 && !maybeEmpty {
		return errNoLog
	}
	return err
}

// job returns what Ray has about the job. hurry means that there is another source of its log.
func (a *Archive) job(ctx context.Context, s Subject, hurry bool) (job *dashboard.Job, err error) {
	if s.Site == nil {
		return nil, errGone
	}
	if hurry {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, a.config.Timeout/answerPart)
		defer cancel()
	}
	err = a.config.Dashboards.Call(ctx, *s.Site, func(c dashboard.Client) (err error) {
		job, err = c.GetJob(ctx, s.JobID)
		return err
	})
	return job, err
}

// copyStored copies a log from a byte on as it was stored while the job ran. why is the reason that nothing follows.
func copyStored(ctx context.Context, stored *history.Spool, from int64, out io.Writer, why error) error {
	if err := stored.CopyFrom(ctx, from, out); err != nil {
		return fmt.Errorf("%w; %w", why, err)
	}
	return why
}

// piped returns what is written; cancel is called when it is closed.
func piped(cancel context.CancelFunc, write func(io.Writer) error) io.ReadCloser {
	in, out := io.Pipe()
	go func() { out.CloseWithError(write(out)) }()
	return &reading{in, cancel}
}

// counter counts bytes.
type counter struct {
	out io.Writer
	n   int64
}

// Write implements io.Writer.
func (c *counter) Write(p []byte) (int, error) {
	n, err := c.out.Write(p)
	c.n += int64(n)
	return n, err
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
