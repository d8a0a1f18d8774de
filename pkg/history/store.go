package history

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"gocloud.dev/blob"
	"gocloud.dev/gcerrors"
)

// ErrNotFound means that there is no such record, or that it has no log.
var ErrNotFound = errors.New("not found in the history")

// Store reads and writes records. It is safe for concurrent use.
type Store struct {
	bucket Bucket
	limits Limits
}

// Open opens the store at a URL, as OpenBucket does.
func Open(ctx context.Context, address string, l Limits) (*Store, error) {
	opened, err := OpenBucket(ctx, address, l.Wait)
	if err != nil {
		return nil, fmt.Errorf("opening the history store: %w", err)
	}
	return &Store{opened, l.orDefault()}, nil
}

// New returns a store in a bucket, which Close closes.
func New(b *blob.Bucket, l Limits) *Store {
	return &Store{NewBucket(b, l.Wait), l.orDefault()}
}

// Close closes the bucket.
func (s *Store) Close() error { return s.bucket.Close() }

// Has reports whether the record exists.
func (s *Store) Has(ctx context.Context, k Key) (bool, error) {
	if err := k.valid(); err != nil {
		return false, err
	}
	ok, err := s.bucket.Exists(ctx, k.folder()+recordName)
	return ok, failed("looking for a record", err)
}

const (
	recordName = "record.json"
	logName    = "log"
)

// Put writes a record with its logs and answers, and reports whether it was new. A nil log means that there is none. If the log ends with an
// error, the record has the part before the error, and Lost says so. It changes the fields of r that describe the logs and what is
// lost. The record is complete when Put returns without an error, and does not exist otherwise.
func (s *Store) Put(ctx context.Context, r *Record, log io.Reader) (created bool, err error) {
	if err := r.valid(); err != nil {
		return false, err
	}
	if there, err := s.Has(ctx, r.Key); err != nil || there {
		return false, err
	}
	parts, err := s.putParts(ctx, r, log)
	if err != nil {
		return false, err
	}
	text, err := s.limits.fit(r)
	if err != nil {
		return false, fmt.Errorf("encoding a record: %w", err)
	}
	summary, err := json.Marshal(&r.Summary)
	if err != nil {
		return false, fmt.Errorf("encoding a summary: %w", err)
	}
	size := parts + int64(len(text)) + int64(len(summary))
	if err := s.write(ctx, r.entry(size).key(), summary); err != nil {
		return false, failed("writing the index", err)
	}
	if err := s.putUsage(ctx, r); err != nil {
		return false, err
	}
	err = s.write(ctx, r.folder()+recordName, text)
	if gcerrors.Code(err) == gcerrors.FailedPrecondition {
		return false, nil // another process was faster
	}
	return err == nil, failed("writing a record", err)
}

// putParts writes what is kept apart from the record, and returns its size.
func (s *Store) putParts(ctx context.Context, r *Record, log io.Reader) (int64, error) {
	if log != nil {
		if err := s.putLog(ctx, r, log); err != nil {
			return 0, err
		}
	}
	answers, err := s.putAnswers(ctx, r)
	if err != nil {
		return 0, err
	}
	nodes, err := s.putNodes(ctx, r)
	return r.LogBytes + answers + nodes, err
}

// write writes an object that does not exist yet, or the same one again.
func (s *Store) write(ctx context.Context, key string, text []byte) error {
	err := s.bucket.WriteAll(ctx, key, text, jsonOnce(true))
	if gcerrors.Code(err) == gcerrors.FailedPrecondition && !strings.HasPrefix(key, objects) {
		return nil
	}
	return err
}

func jsonOnce(once bool) *blob.WriterOptions {
	return &blob.WriterOptions{ContentType: "application/json", IfNotExist: once, MaxConcurrency: 1}
}

// failed wraps an error of the bucket; nil for nil.
func failed(doing string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s in the history store: %w", doing, err)
}

// Get returns the record.
func (s *Store) Get(ctx context.Context, k Key) (*Record, error) {
	if err := k.valid(); err != nil {
		return nil, err
	}
	r := &Record{}
	return r, s.read(ctx, k.folder()+recordName, r)
}

// read decodes an object, of which it reads no more than a record can have.
func (s *Store) read(ctx context.Context, key string, into any) error {
	in, err := s.bucket.NewReader(ctx, key)
	if err != nil {
		return notFound("reading", err)
	}
	defer func() { _ = in.Close() }()
	if in.Size() > maxRead {
		return fmt.Errorf("reading from the history store: an object of %d bytes is too large", in.Size())
	}
	text, err := io.ReadAll(io.LimitReader(in, maxRead))
	if err != nil {
		return failed("reading", err)
	}
	if err := json.Unmarshal(text, into); err != nil {
		return fmt.Errorf("reading from the history store: %w", err)
	}
	return nil
}

// maxRead is the largest record that is read, whatever the limit was when it was written.
const maxRead = 64 << 20

func notFound(doing string, err error) error {
	if gcerrors.Code(err) == gcerrors.NotFound {
		return ErrNotFound
	}
	return failed(doing, err)
}

// OfName returns the keys of all records of objects of a name, from the oldest to the newest. With a UID it returns those of that
// object. Only the parts of the key that Get needs are set.
func (s *Store) OfName(ctx context.Context, k Key) ([]Key, error) {
	probe := k
	probe.UID = cmp.Or(probe.UID, "any")
	if err := probe.valid(); err != nil {
		return nil, err
	}
	var keys []Key
	for o, err := range s.bucket.Objects(ctx, &blob.ListOptions{Prefix: ofName(k.Namespace, k.Kind, k.Name)}) {
		if err != nil {
			return nil, failed("listing", err)
		}
		if found, ok := parseFolder(o.Key, k); ok {
			keys = append(keys, found)
		}
		if len(keys) == maxOfName {
			break
		}
	}
	slices.SortStableFunc(keys, func(a, b Key) int { return cmp.Compare(a.folder(), b.folder()) })
	return keys, nil
}

// maxOfName is the maximum number of records with the same name that are searched.
const maxOfName = 10_000

// Find returns the newest record of a name, with the given attempt unless that is 0. Without a UID it looks at the newest object of that
// name only.
func (s *Store) Find(ctx context.Context, k Key) (*Record, error) {
	keys, err := s.OfName(ctx, k)
	if err != nil {
		return nil, err
	}
	for _, found := range slices.Backward(NewestObject(keys)) {
		if k.Attempt != 0 && found.Attempt != k.Attempt {
			continue
		}
		r, err := s.Get(ctx, found)
		if !errors.Is(err, ErrNotFound) { // deleted since it was listed
			return r, err
		}
	}
	return nil, ErrNotFound
}

// NewestObject returns those keys of OfName that belong to the object that was created last.
func NewestObject(keys []Key) []Key {
	first := len(keys)
	for first > 0 && keys[first-1].UID == keys[len(keys)-1].UID {
		first--
	}
	return keys[first:]
}
