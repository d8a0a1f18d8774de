package history

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"time"

	"gocloud.dev/blob"
)

// bucket is a bucket whose requests end after a time, even if the server does not answer and the context has no end, as that of a client
// who reads a log.
type bucket struct {
	*blob.Bucket
	wait time.Duration
}

// Exists reports whether there is an object.
func (b bucket) Exists(ctx context.Context, key string) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, b.wait)
	defer cancel()
	return b.Bucket.Exists(ctx, key)
}

// WriteAll writes an object.
func (b bucket) WriteAll(ctx context.Context, key string, p []byte, o *blob.WriterOptions) error {
	ctx, cancel := context.WithTimeout(ctx, b.wait)
	defer cancel()
	return b.Bucket.WriteAll(ctx, key, p, o)
}

// Delete deletes an object.
func (b bucket) Delete(ctx context.Context, key string) error {
	ctx, cancel := context.WithTimeout(ctx, b.wait)
	defer cancel()
	return b.Bucket.Delete(ctx, key)
}

// ListPage returns a page of objects.
func (b bucket) ListPage(ctx context.Context, token []byte, size int, o *blob.ListOptions) ([]*blob.ListObject, []byte, error) {
	ctx, cancel := context.WithTimeout(ctx, b.wait)
	defer cancel()
	return b.Bucket.ListPage(ctx, token, size, o)
}

// objects yields the objects of a list in the order of their keys. An error ends it.
func (b bucket) objects(ctx context.Context, o *blob.ListOptions) iter.Seq2[*blob.ListObject, error] {
	list := b.List(o)
	next := func() (*blob.ListObject, error) {
		ctx, cancel := context.WithTimeout(ctx, b.wait) // an object may need a request for a page
		defer cancel()
		return list.Next(ctx)
	}
	return func(yield func(*blob.ListObject, error) bool) {
		for {
			o, err := next()
			switch {
			case errors.Is(err, io.EOF):
				return
			case err != nil:
				yield(nil, failed("listing", err))
				return
			case !yield(o, nil):
				return
			}
		}
	}
}

// NewReader opens an object.
func (b bucket) NewReader(ctx context.Context, key string, o *blob.ReaderOptions) (*reader, error) {
	return b.NewRangeReader(ctx, key, 0, -1, o)
}

// NewRangeReader opens a part of an object.
func (b bucket) NewRangeReader(ctx context.Context, key string, offset, length int64, o *blob.ReaderOptions) (*reader, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	late := fmt.Errorf("no answer within %s", b.wait)
	r := &reader{ctx: ctx, cancel: cancel, wait: b.wait, timer: time.AfterFunc(b.wait, func() { cancel(late) })}
	in, err := b.Bucket.NewRangeReader(ctx, key, offset, length, o)
	r.timer.Stop()
	if err != nil {
		cancel(nil)
		return nil, err
	}
	r.Reader = in
	return r, nil
}

// reader reads an object. The time between two reads is that of the caller, and has no limit.
type reader struct {
	*blob.Reader
	ctx    context.Context //nolint:containedctx // that of the request, which a read ends
	cancel context.CancelCauseFunc
	wait   time.Duration
	timer  *time.Timer
}

// Read implements io.Reader.
func (r *reader) Read(p []byte) (int, error) {
	r.timer.Reset(r.wait)
	n, err := r.Reader.Read(p)
	if !r.timer.Stop() && err != nil {
		err = context.Cause(r.ctx)
	}
	return n, err
}

// Close ends the request.
func (r *reader) Close() error {
	defer r.cancel(nil)
	return r.Reader.Close()
}
