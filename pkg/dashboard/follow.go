package dashboard

import (
	"context"
	"errors"
	"io"
	"time"

	"k8s.io/utils/clock"
)

// FollowOptions tunes Follow.
type FollowOptions struct {
	// Clock times the pauses. Nil means the real one.
	Clock clock.Clock
	// Patience is the number of consecutive attempts that may fail before Follow gives up. 0 means no limit except the context.
	Patience int
}

// Pauses between the attempts of Follow.
const (
	firstPause = time.Second
	lastPause  = 15 * time.Second
)

// Follow copies the log of a job to w until the job ends, and returns the final job. It reopens streams that break, and those that end
// normally while the job runs, as when the head loses its connection to the node of the driver. Each byte is written once.
func Follow(ctx context.Context, c Client, id string, w io.Writer, o FollowOptions) (*Job, error) {
	if o.Clock == nil {
		o.Clock = clock.RealClock{}
	}
	out := &counted{w: w}
	for failures := 0; ; {
		before := out.n
		streamErr := copyTail(ctx, c, id, out)
		if out.err != nil {
			return nil, out.err
		}
		job, err := c.GetJob(ctx, id)
		switch {
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case err == nil && job.Status.Final() && streamErr == nil:
			return job, nil
		}
		if out.n > before {
			failures = 0
		}
		failures++
		err = errors.Join(streamErr, err)
		if o.givesUp(failures, err) {
			return job, err
		}
		if err := o.pause(ctx, min(firstPause<<min(failures-1, 8), lastPause)); err != nil {
			return nil, err
		}
	}
}

// givesUp reports whether no attempt follows, after a number of failures in a row and the error of the last; nil if the log ended normally.
func (o FollowOptions) givesUp(failures int, err error) bool {
	return err != nil && !errors.Is(err, ErrUnavailable) || o.Patience > 0 && failures >= o.Patience
}

func (o FollowOptions) pause(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-o.Clock.After(d):
		return nil
	}
}

// copyTail copies the new part of the log; every stream starts at the beginning of the log.
func copyTail(ctx context.Context, c Client, id string, out *counted) error {
	stream, err := c.TailJobLogs(ctx, id)
	if err != nil {
		return err
	}
	defer func() { _ = stream.Close() }()
	if _, err := io.CopyN(io.Discard, stream, out.n); err != nil {
		if errors.Is(err, io.EOF) {
			return nil // shorter than before: the log is another one, or not all of it is there yet
		}
		return err
	}
	_, err = io.Copy(out, stream)
	return err
}

// counted separates errors of the writer from errors of the stream.
type counted struct {
	w   io.Writer
	n   int64
	err error
}

// Write implements io.Writer.
func (c *counted) Write(p []byte) (int, error) {
	n, err := c.w.Write(p)
	c.n += int64(n)
	if err != nil {
		c.err = err
	}
	return n, err
}
