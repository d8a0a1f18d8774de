package dashboardfake

import (
	"bytes"
	"context"
	"io"
	"math"
	"strings"

	"github.com/raygate/raygate/pkg/dashboard"
)

// Write appends to the log of a job.
func (d *Dashboard) Write(id, text string) {
	d.change(func() {
		if r := d.jobs[id]; r != nil {
			r.log += text
		}
	})
}

// NodeLog implements dashboard.Client. The text is the answer at the target "NODE/FILE", with all its lines.
func (d *Dashboard) NodeLog(ctx context.Context, node, file string, _ int) (io.ReadCloser, error) {
	text, err := d.Answer(ctx, node+"/"+file, math.MaxInt64)
	return io.NopCloser(bytes.NewReader(text)), err
}

// JobLogs implements dashboard.Client.
func (d *Dashboard) JobLogs(ctx context.Context, id string) (*dashboard.Log, error) {
	if err := d.begin(ctx, "JobLogs"); err != nil {
		return nil, err
	}
	defer d.mu.Unlock()
	r, err := d.find("JobLogs", id)
	if err != nil {
		return nil, err
	}
	return &dashboard.Log{ReadCloser: io.NopCloser(strings.NewReader(r.log)), AtMost: int64(len(r.log))}, nil
}

// TailJobLogs implements dashboard.Client. The stream breaks when the dashboard forgets the job or fails.
func (d *Dashboard) TailJobLogs(ctx context.Context, id string) (io.ReadCloser, error) {
	if err := d.begin(ctx, "TailJobLogs"); err != nil {
		return nil, err
	}
	defer d.mu.Unlock()
	if _, err := d.find("TailJobLogs", id); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	reader, writer := io.Pipe()
	context.AfterFunc(ctx, func() { _ = reader.CloseWithError(ctx.Err()) })
	go func() {
		_ = writer.CloseWithError(d.stream(ctx, id, writer)) // nil ends the stream normally
	}()
	return &stream{PipeReader: reader, cancel: cancel}, nil
}

type stream struct {
	*io.PipeReader
	cancel context.CancelFunc
}

// Close implements io.Closer.
func (s *stream) Close() error {
	s.cancel()
	return s.PipeReader.Close()
}

func (d *Dashboard) stream(ctx context.Context, id string, w io.Writer) error {
	for sent := 0; ; {
		d.mu.Lock()
		r, changed, failure := d.jobs[id], d.changed, d.failure
		var text string
		final := false
		if r != nil {
			text, final = r.log[min(sent, len(r.log)):], r.job.Status.Final()
		}
		d.mu.Unlock()
		if r == nil || failure != nil {
			return &dashboard.Error{Call: "TailJobLogs", Kind: dashboard.ErrUnavailable, Cause: io.ErrUnexpectedEOF}
		}
		if _, err := io.WriteString(w, text); err != nil {
			return err
		}
		if sent += len(text); final {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-changed:
		}
	}
}
