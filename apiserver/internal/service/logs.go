package service

import (
	"bytes"
	"context"
	"errors"
	"io"

	"github.com/raygate/raygate/apiserver/internal/flowcontrol"
	"github.com/raygate/raygate/apiserver/internal/rpcstatus"
	"github.com/raygate/raygate/pkg/dashboard"
)

const (
	// maxPart is the largest message of a log. logRoom is the memory of a log that is being sent: some parts in transit, and the buffers of
	// both sides.
	maxPart = 32 << 10
	logRoom = 192 << 10
	// patience is the number of consecutive attempts to read a followed log that may fail, some five minutes; shortPatience that of another
	// log, a second.
	patience, shortPatience = 25, 2
	// maxMark is the length of the end of Ray's answer that marks that position in the whole log.
	maxMark = 4 << 10
)

// logQuery is the common part of requests for logs.
type logQuery struct {
	follow bool
	tail   *int32
	offset int64
}

func (q logQuery) check() error {
	switch {
	case q.offset < 0:
		return rpcstatus.BadField("offset", "%d is negative", q.offset)
	case q.tail != nil && *q.tail < 0:
		return rpcstatus.BadField("tail_lines", "%d is negative: leave it out for the whole log", *q.tail)
	case q.tail != nil && q.offset > 0:
		return rpcstatus.BadField("offset", "goes on where another stream broke, and does not go together with tail_lines")
	}
	return nil
}

// logSender sends a log from an offset or a line on.
type logSender struct {
	send func(data []byte, next int64) error
	// allowed returns an error once the caller has lost the right to the log. Nil means that the right is not checked.
	allowed func() error
	// skip and lines are the numbers of bytes and then of lines to leave out; next is the offset after the sent part.
	skip, next int64
	lines      int
	// lost means that the offset is unknown.
	lost bool
}

// from makes the log begin at an offset of the text that follows.
func (s *logSender) from(offset int64) { s.skip, s.next = offset, offset }

// Write implements io.Writer.
func (s *logSender) Write(p []byte) (int, error) {
	size := len(p)
	if s.allowed != nil {
		if err := s.allowed(); err != nil {
			return 0, err
		}
	}
	cut := min(s.skip, int64(len(p)))
	s.skip -= cut
	for p = p[cut:]; len(p) > 0 && s.lines > 0; {
		end := bytes.IndexByte(p, '\n') + 1
		if end == 0 {
			end = len(p)
		} else {
			s.lines--
		}
		s.next += int64(end)
		p = p[end:]
	}
	for len(p) > 0 {
		part := p[:min(len(p), maxPart)]
		p = p[len(part):]
		if s.next += int64(len(part)); s.lost {
			s.next = 0
		}
		if err := s.send(bytes.Clone(part), s.next); err != nil { // by REST the other side gets the same slice
			return 0, err
		}
	}
	return size, nil
}

var errEnough = errors.New("enough of the log")

// driverLog sends the log of a Ray job.
func driverLog(ctx context.Context, c dashboard.Client, id string, q logQuery, out *logSender) error {
	job, err := c.GetJob(ctx, id)
	if err != nil {
		return err
	}
	l := rayLog{client: c, id: id, out: out, options: dashboard.FollowOptions{Patience: shortPatience}}
	if q.follow {
		l.options.Patience = patience
	}
	final := job.Status.Final()
	follow := q.follow && !final
	switch {
	case q.tail != nil:
		return l.tail(ctx, int(*q.tail), follow)
	case follow:
		out.from(q.offset)
		return l.follow(ctx, out)
	}
	out.from(q.offset)
	return l.whole(ctx, final)
}

// rayLog is the log of a Ray job on its way to out. Ray returns a log as a whole, or from its beginning as it grows. The log is never held in memory.
type rayLog struct {
	client  dashboard.Client
	id      string
	out     *logSender
	options dashboard.FollowOptions
}

// follow copies a log from its beginning until the job ends.
func (l *rayLog) follow(ctx context.Context, to io.Writer) error {
	_, err := dashboard.Follow(ctx, l.client, l.id, to, l.options)
	if errors.Is(err, errEnough) {
		return nil
	}
	return err
}

// whole sends the log as it is now. final means that it does not grow.
func (l *rayLog) whole(ctx context.Context, final bool) error {
	log, err := l.client.JobLogs(ctx, l.id)
	if err != nil {
		if final {
			return l.follow(ctx, l.out)
		}
		return err
	}
	defer func() { _ = log.Close() }()
	switch {
	case log.AtMost >= 0 && log.AtMost < dashboard.AnswerLimit: // all of it, and not as a stream, which Ray ends seconds after its last byte
		_, err = io.Copy(l.out, log)
		return err
	case final:
		return l.follow(ctx, l.out)
	}
	end := &logEnd{}
	if _, err := io.Copy(end, log); err != nil {
		return err
	}
	return l.follow(ctx, end.mark(l.out, failing{errEnough}))
}

// tail sends the last lines of a log, and its rest if the job is followed. It reads the log twice, first to count the lines, so that it
// does not store the log.
func (l *rayLog) tail(ctx context.Context, lines int, follow bool) error {
	var counted lineCount
	if _, err := l.copy(ctx, &counted); err != nil {
		return err
	}
	end, out := &logEnd{}, l.out
	out.lines, out.lost = counted.lines()-lines, counted.n >= dashboard.AnswerLimit
	n, err := l.copy(ctx, io.MultiWriter(end, out))
	out.lines = 0 // also if the last line has no end yet
	if err != nil || !follow {
		return err
	}
	if n >= dashboard.AnswerLimit {
		return l.follow(ctx, end.mark(io.Discard, out))
	}
	out.from(n)
	return l.follow(ctx, out)
}

// copy copies Ray's answer for a log.
func (l *rayLog) copy(ctx context.Context, to io.Writer) (int64, error) {
	log, err := l.client.JobLogs(ctx, l.id)
	if err != nil {
		return 0, err
	}
	defer func() { _ = log.Close() }()
	return io.Copy(to, log)
}

// lineCount counts lines, including an incomplete last line.
type lineCount struct {
	n    int64
	ends int
	open bool
}

// Write implements io.Writer.
func (l *lineCount) Write(p []byte) (int, error) {
	l.n += int64(len(p))
	l.ends += bytes.Count(p, []byte{'\n'})
	l.open = p[len(p)-1] != '\n'
	return len(p), nil
}

func (l *lineCount) lines() int {
	if l.open {
		return l.ends + 1
	}
	return l.ends
}

// logEnd keeps the end of a log.
type logEnd struct {
	n    int64
	text []byte
}

// Write implements io.Writer.
func (e *logEnd) Write(p []byte) (int, error) {
	e.n += int64(len(p))
	e.text = append(e.text, p[max(0, len(p)-maxMark):]...)
	if spare := len(e.text) - maxMark; spare > 0 {
		e.text = append(e.text[:0], e.text[spare:]...)
	}
	return len(p), nil
}

// mark marks the end of Ray's answer for a log.
func (e *logEnd) mark(before, after io.Writer) *mark {
	return &mark{text: string(e.text), from: e.n - maxMark, before: before, after: after}
}

// mark writes the part before the end of a text to one writer and the rest to another. It searches the text from an offset, so that an
// earlier equal text does not match.
type mark struct {
	text          string
	from, n       int64
	held          []byte // the end of what has been written, too short to hold the text
	found         bool
	before, after io.Writer
}

// Write implements io.Writer.
func (m *mark) Write(p []byte) (int, error) {
	if m.found {
		return m.after.Write(p)
	}
	held := len(m.held)
	m.held = append(m.held, p...)
	m.n += int64(len(p))
	at := -1
	if m.n >= m.from {
		at = bytes.Index(m.held, []byte(m.text))
	}
	if at < 0 {
		m.held = bytes.Clone(m.held[max(0, len(m.held)-len(m.text)+1):])
		return m.before.Write(p)
	}
	m.found = true
	end := max(0, at+len(m.text)-held)
	if n, err := m.before.Write(p[:end]); err != nil {
		return n, err
	}
	n, err := m.after.Write(p[end:])
	return end + n, err
}

type failing struct{ error }

// Write implements io.Writer.
func (f failing) Write([]byte) (int, error) { return 0, f.error }

// reopened is a dashboard that is opened again for each call: while a log is followed, rights may be revoked, tokens change and clusters
// are deleted.
type reopened struct {
	dashboard.Client
	open func(context.Context) (dashboard.Client, error)
	// ended is the end of the job, as far as it is known without the dashboard. Nil means unknown.
	ended func() *dashboard.Job
}

// GetJob implements dashboard.Client. Following a log requests the job repeatedly, and keeps none of the answers.
func (r reopened) GetJob(ctx context.Context, id string) (*dashboard.Job, error) {
	defer flowcontrol.Shrink(ctx, logRoom)
	c, err := r.open(ctx)
	if err == nil {
		var job *dashboard.Job
		if job, err = c.GetJob(ctx, id); err == nil {
			return job, nil
		}
	}
	if r.ended != nil {
		if job := r.ended(); job != nil {
			return job, nil
		}
	}
	return nil, err
}

// JobLogs implements dashboard.Client.
func (r reopened) JobLogs(ctx context.Context, id string) (*dashboard.Log, error) {
	c, err := r.open(ctx)
	if err != nil {
		return nil, err
	}
	return c.JobLogs(ctx, id)
}

// TailJobLogs implements dashboard.Client.
func (r reopened) TailJobLogs(ctx context.Context, id string) (io.ReadCloser, error) {
	c, err := r.open(ctx)
	if err != nil {
		return nil, err
	}
	return c.TailJobLogs(ctx, id)
}
