package history

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"gocloud.dev/blob"
	"gocloud.dev/gcerrors"
)

const (
	running = "running/"
	// spoolPart is the largest part of a log in bytes: what a Spool holds in memory.
	spoolPart = 256 << 10
	// maxLast is the number of bytes that Last returns at most.
	maxLast = 256
)

// errSpooled means that another process has stored more of the log, which is added first.
var errSpooled = errors.New("another process stores this log")

// Spool stores the log of an attempt while its job runs, in parts, until the record has the log. Of a log that is too large it stores the
// beginning and the end. It is not safe for concurrent use.
type Spool struct {
	bucket Bucket
	folder string
	// head is how many bytes of the beginning are stored, and tail how many of the end at least, in parts of at most so many.
	head, tail int64
	parts      []spooled
	// pending are the last bytes up to end, which are not stored yet.
	pending []byte
	end     int64
	last    []byte
}

// spooled is a part that is stored: the bytes of the log from a byte on.
type spooled struct{ begin, size int64 }

func (k *Key) spool() string { return running + strings.TrimPrefix(k.folder(), objects) }

// Spool opens the log of an attempt that runs, with what an earlier process has stored of it.
func (s *Store) Spool(ctx context.Context, k Key) (*Spool, error) {
	if err := k.valid(); err != nil {
		return nil, err
	}
	p := &Spool{bucket: s.bucket, folder: k.spool(), tail: min(keptEnd, s.limits.Log/2) / 2}
	p.head = max(0, s.limits.Log-2*p.tail-lineOfLoss)
	for o, err := range s.bucket.Objects(ctx, &blob.ListOptions{Prefix: p.folder}) {
		if err != nil {
			return nil, failed("listing", err)
		}
		begin, err := strconv.ParseInt(strings.TrimPrefix(o.Key, p.folder), 10, 64)
		if err != nil {
			continue
		}
		p.parts = append(p.parts, spooled{begin, o.Size})
		p.end = max(p.end, begin+o.Size)
	}
	return p, p.readLast(ctx)
}

// readLast reads the end of the last part.
func (p *Spool) readLast(ctx context.Context) error {
	if len(p.parts) == 0 {
		return nil
	}
	part := p.parts[len(p.parts)-1]
	in, err := p.bucket.NewRangeReader(ctx, p.key(part.begin), max(0, part.size-maxLast), -1)
	if err != nil {
		return failed("reading a log", err)
	}
	defer func() { _ = in.Close() }()
	p.last, err = io.ReadAll(in)
	return failed("reading a log", err)
}

func (p *Spool) key(begin int64) string { return fmt.Sprintf("%s%015d", p.folder, begin) }

// End returns the number of bytes that the log has so far.
func (p *Spool) End() int64 { return p.end }

// Last returns the last bytes of the log so far, by which it can be told from another log.
func (p *Spool) Last() []byte { return p.last }

// Add appends to the log, and stores full parts. After an error, End says how much was added.
func (p *Spool) Add(ctx context.Context, text []byte) error {
	for len(text) > 0 {
		begin, n := p.end-int64(len(p.pending)), len(text)
		if begin < p.head {
			n = int(min(int64(n), min(spoolPart, p.head-begin)-int64(len(p.pending))))
		}
		if n == 0 {
			if err := p.Flush(ctx); err != nil {
				return err
			}
			continue
		}
		p.pending, p.end = append(p.pending, text[:n]...), p.end+int64(n)
		p.last = append(p.last, text[max(0, n-maxLast):n]...)
		p.last = p.last[max(0, len(p.last)-maxLast):]
		if over := len(p.pending) - int(p.tail); begin >= p.head && over > 0 {
			p.pending = p.pending[:copy(p.pending, p.pending[over:])]
		}
		text = text[n:]
	}
	return nil
}

// Flush stores what was added. After an error, it can be repeated.
func (p *Spool) Flush(ctx context.Context) error {
	if len(p.pending) == 0 {
		return nil
	}
	part := spooled{p.end - int64(len(p.pending)), int64(len(p.pending))}
	err := p.bucket.WriteAll(ctx, p.key(part.begin), p.pending, &blob.WriterOptions{
		ContentType: "text/plain; charset=utf-8", IfNotExist: true, MaxConcurrency: 1,
	})
	if gcerrors.Code(err) == gcerrors.FailedPrecondition { // written before, and the answer was lost
		var there *blob.Attributes
		if there, err = p.bucket.Attributes(ctx, p.key(part.begin)); err == nil {
			part.size = there.Size
		}
	}
	switch {
	case err != nil:
		return failed("writing a log", err)
	case part.size == 0 || part.begin+part.size > p.end:
		p.parts, p.pending, p.end = append(p.parts, part), nil, part.begin+part.size
		return cmp.Or(p.readLast(ctx), errSpooled)
	}
	p.parts = append(p.parts, part)
	p.pending = p.pending[:copy(p.pending, p.pending[part.size:])]
	return cmp.Or(p.drop(ctx), p.Flush(ctx))
}

// drop deletes parts that are neither of the beginning nor needed for the end.
func (p *Spool) drop(ctx context.Context) error {
	first := slices.IndexFunc(p.parts, func(s spooled) bool { return s.begin >= p.head })
	for first >= 0 && first < len(p.parts) && p.end-p.parts[first].begin-p.parts[first].size >= p.tail {
		if err := p.delete(ctx, first); err != nil {
			return err
		}
	}
	return nil
}

func (p *Spool) delete(ctx context.Context, i int) error {
	if err := p.bucket.Delete(ctx, p.key(p.parts[i].begin)); err != nil && gcerrors.Code(err) != gcerrors.NotFound {
		return failed("deleting a log", err)
	}
	p.parts = slices.Delete(p.parts, i, i+1)
	return nil
}

// Reset deletes the log: the next byte is its first one.
func (p *Spool) Reset(ctx context.Context) error {
	for len(p.parts) > 0 {
		if err := p.delete(ctx, 0); err != nil {
			return err
		}
	}
	p.pending, p.end, p.last = nil, 0, nil
	return nil
}

// CopyFrom copies the log from a byte on, with a line where bytes are missing.
func (p *Spool) CopyFrom(ctx context.Context, at int64, out io.Writer) error {
	for _, part := range p.parts {
		end := part.begin + part.size
		if end <= at {
			continue
		}
		if err := cutLine(out, part.begin-at); err != nil {
			return err
		}
		at = max(at, part.begin)
		in, err := p.bucket.NewRangeReader(ctx, p.key(part.begin), at-part.begin, -1)
		if err != nil {
			return failed("reading a log", err)
		}
		_, err = io.CopyBuffer(out, in, make([]byte, copyBuffer))
		_ = in.Close()
		if err != nil {
			return failed("reading a log", err)
		}
		at = end
	}
	begin := p.end - int64(len(p.pending))
	if err := cutLine(out, begin-at); err != nil {
		return err
	}
	_, err := out.Write(p.pending[min(max(at-begin, 0), int64(len(p.pending))):])
	return err
}
