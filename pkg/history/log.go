package history

import (
	"context"
	"errors"
	"fmt"
	"io"
)

const (
	// keptEnd is the size of the end that is kept of a log that is too large.
	keptEnd = 256 << 10
	// copyBuffer is the size of a read.
	copyBuffer = 32 << 10
	// lineOfLoss is the longest line about a loss.
	lineOfLoss = 512
)

// putLog writes the log, and notes in r what is missing of it.
func (s *Store) putLog(ctx context.Context, r *Record, in io.Reader) error {
	w, err := s.bucket.NewWriter(ctx, r.folder()+logName, "text/plain; charset=utf-8")
	if err != nil {
		return failed("writing a log", err)
	}
	out := &tally{w: w}
	lost, err := s.limits.copyLog(out, in)
	if err != nil {
		w.Discard()
		return failed("writing a log", err)
	}
	if err := w.Close(); err != nil {
		return failed("writing a log", err)
	}
	r.HasLog, r.LogBytes = true, out.n
	if lost != "" {
		r.lose(lost)
	}
	return nil
}

// copyLog copies a log. If it is too large, its beginning and its end are copied, and a line between them. If it ends with an error,
// a line follows. err is an error of the writer.
func (l Limits) copyLog(out io.Writer, in io.Reader) (lost string, err error) {
	head := l.Log - min(keptEnd, l.Log/2)
	if _, err := io.CopyBuffer(out, io.LimitReader(in, head), make([]byte, copyBuffer)); err != nil {
		return l.brokenOff(out, err)
	}
	kept, cut, readErr := End(in, int(l.Log-head))
	if cut > 0 {
		lost = fmt.Sprintf("the log is larger than %d bytes: %d bytes are missing in it", l.Log, cut)
	}
	if err := cutLine(out, cut); err != nil {
		return "", err
	}
	if _, err := out.Write(kept); err != nil {
		return "", err
	}
	if readErr != nil {
		return l.brokenOff(out, readErr)
	}
	return lost, nil
}

// cutLine writes a line in place of so many bytes; none if there are none.
func cutLine(out io.Writer, cut int64) error {
	if cut <= 0 {
		return nil
	}
	_, err := fmt.Fprintf(out, "\n[raygate: %d bytes of the log were cut here]\n", cut)
	return err
}

// brokenOff adds a line about an error of the reader.
func (l Limits) brokenOff(out io.Writer, err error) (string, error) {
	if _, ok := errors.AsType[*writeError](err); ok {
		return "", err
	}
	why := err.Error()
	if len(why) > lineOfLoss {
		why = why[:lineOfLoss]
	}
	_, err = fmt.Fprintf(out, "\n[raygate: the rest of the log is missing: %s]\n", why)
	return "the end of the log is missing: " + why, err
}

// writeError is an error of the writer, other than one of the reader.
type writeError struct{ error }

// Unwrap returns the error of the writer.
func (e *writeError) Unwrap() error { return e.error }

// tally counts bytes and marks errors as those of the writer.
type tally struct {
	w io.Writer
	n int64
}

// Write implements io.Writer.
func (t *tally) Write(p []byte) (int, error) {
	n, err := t.w.Write(p)
	t.n += int64(n)
	if err != nil {
		err = &writeError{err}
	}
	return n, err
}

// ending keeps the last max bytes of n.
type ending struct {
	max  int
	n    int64
	kept []byte
}

// End returns the last bytes of a text, at most max, and the number of bytes before them. err is an error of the reader.
func End(in io.Reader, max int) (text []byte, cut int64, err error) {
	end := &ending{max: max}
	_, err = io.CopyBuffer(end, in, make([]byte, copyBuffer))
	return end.kept, end.n - int64(len(end.kept)), err
}

// Write implements io.Writer.
func (e *ending) Write(p []byte) (int, error) {
	e.n += int64(len(p))
	e.kept = append(e.kept, p...)
	if over := len(e.kept) - e.max; over > 0 {
		e.kept = e.kept[:copy(e.kept, e.kept[over:])]
	}
	return len(p), nil
}

// Log returns the log of a record from an offset on. The caller must close it.
func (s *Store) Log(ctx context.Context, k Key, offset int64) (io.ReadCloser, error) {
	if err := k.valid(); err != nil {
		return nil, err
	}
	in, err := s.bucket.NewRangeReader(ctx, k.folder()+logName, offset, -1)
	if err != nil {
		return nil, notFound("reading a log", err)
	}
	return in, nil
}
