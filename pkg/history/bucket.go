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

// Bucket is a bucket whose requests end after a time, even if the server does not answer and the context has no end, as that of a client
// who reads a log.
type Bucket struct {
	in   *blob.Bucket
	wait time.Duration
}

// NewBucket returns a Bucket whose requests wait so long for the server, and readers and writers for it to take or give bytes. 0 means 30 seconds.
func NewBucket(in *blob.Bucket, wait time.Duration) Bucket {
	if wait <= 0 {
		wait = defaultWait
	}
	return Bucket{in, wait}
}

// Close closes the bucket.
func (b Bucket) Close() error { return b.in.Close() }

// Exists reports whether there is an object.
func (b Bucket) Exists(ctx context.Context, key string) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, b.wait)
	defer cancel()
	return b.in.Exists(ctx, key)
}

// Attributes returns what is known of an object.
func (b Bucket) Attributes(ctx context.Context, key string) (*blob.Attributes, error) {
	ctx, cancel := context.WithTimeout(ctx, b.wait)
	defer cancel()
	return b.in.Attributes(ctx, key)
}

// WriteAll writes an object.
func (b Bucket) WriteAll(ctx context.Context, key string, p []byte, o *blob.WriterOptions) error {
	ctx, cancel := context.WithTimeout(ctx, b.wait)
	defer cancel()
	return b.in.WriteAll(ctx, key, p, o)
}

// Delete deletes an object.
func (b Bucket) Delete(ctx context.Context, key string) error {
	ctx, cancel := context.WithTimeout(ctx, b.wait)
	defer cancel()
	return b.in.Delete(ctx, key)
}

// ListPage returns a page of objects.
func (b Bucket) ListPage(ctx context.Context, token []byte, size int, o *blob.ListOptions) ([]*blob.ListObject, []byte, error) {
	ctx, cancel := context.WithTimeout(ctx, b.wait)
	defer cancel()
	return b.in.ListPage(ctx, token, size, o)
}

// Objects yields the objects of a list in the order of their keys. An error ends it.
func (b Bucket) Objects(ctx context.Context, o *blob.ListOptions) iter.Seq2[*blob.ListObject, error] {
	list := b.in.List(o)
	next := func() (*blob.ListObject, error) {
		ctx, cancel := context.WithTimeout(ctx, b.wait) // an object may need a request for a page
		defer cancel()
		return list.Next(ctx)
	}
	return func(yield func(*blob.ListObject, error) bool) {
		for {
			o, err := next()
			if errors.Is(err, io.EOF) || !yield(o, err) || err != nil {
				return
			}
		}
	}
}

// transfer is a request of several steps, such as reads, each of which has a time. The time between two steps is that of the caller, and has
// no limit.
type transfer struct {
	ctx    context.Context //nolint:containedctx // that of the request, which a step ends
	cancel context.CancelCauseFunc
	wait   time.Duration
	timer  *time.Timer
}

func (b Bucket) begin(ctx context.Context) *transfer {
	ctx, cancel := context.WithCancelCause(ctx)
	late := fmt.Errorf("no answer within %s", b.wait)
	return &transfer{ctx: ctx, cancel: cancel, wait: b.wait, timer: time.AfterFunc(b.wait, func() { cancel(late) })}
}

// step does a step. Once the request has ended, its error is the reason of the end.
func step[T any](t *transfer, do func() (T, error)) (T, error) {
	t.timer.Reset(t.wait)
	result, err := do()
	t.timer.Stop()
	if ended := context.Cause(t.ctx); err != nil && ended != nil {
		err = ended
	}
	return result, err
}

// end ends the request by its last step.
func (t *transfer) end(do func() error) error {
	defer t.cancel(nil)
	_, err := step(t, func() (struct{}, error) { return struct{}{}, do() })
	return err
}

// Reader reads an object. It hides methods of in, by which a copy would read without a limit.
type Reader struct {
	in *blob.Reader
	*transfer
}

// NewReader opens an object.
func (b Bucket) NewReader(ctx context.Context, key string) (*Reader, error) {
	return b.NewRangeReader(ctx, key, 0, -1)
}

// NewRangeReader opens a part of an object. A negative length means the rest.
func (b Bucket) NewRangeReader(ctx context.Context, key string, offset, length int64) (*Reader, error) {
	t := b.begin(ctx)
	in, err := step(t, func() (*blob.Reader, error) { return b.in.NewRangeReader(t.ctx, key, offset, length, nil) })
	if err != nil {
		t.cancel(nil)
		return nil, err
	}
	return &Reader{in, t}, nil
}

// Size is that of the object in bytes.
func (r *Reader) Size() int64 { return r.in.Size() }

// Read implements io.Reader.
func (r *Reader) Read(p []byte) (int, error) {
	return step(r.transfer, func() (int, error) { return r.in.Read(p) })
}

// Close ends the request.
func (r *Reader) Close() error { return r.end(r.in.Close) }

// Writer writes an object, which exists after Close has returned nil.
type Writer struct {
	in *blob.Writer
	*transfer
}

// partSize is the number of bytes of an object that are sent at once.
const partSize = 5 << 20

// NewWriter begins an object. The caller calls Close or Discard.
func (b Bucket) NewWriter(ctx context.Context, key, contentType string) (*Writer, error) {
	t := b.begin(ctx)
	in, err := step(t, func() (*blob.Writer, error) {
		return b.in.NewWriter(t.ctx, key, &blob.WriterOptions{ContentType: contentType, MaxConcurrency: 1, BufferSize: partSize})
	})
	if err != nil {
		t.cancel(nil)
		return nil, err
	}
	return &Writer{in, t}, nil
}

// Write implements io.Writer.
func (w *Writer) Write(p []byte) (int, error) {
	return step(w.transfer, func() (int, error) { return w.in.Write(p) })
}

// Close completes the object.
func (w *Writer) Close() error { return w.end(w.in.Close) }

// Discard ends the request without an object.
func (w *Writer) Discard() {
	w.cancel(nil)
	_ = w.in.Close()
}
