package history

import (
	"context"
	"path"
	"slices"
	"strings"
	"time"

	"gocloud.dev/blob"
	"gocloud.dev/gcerrors"
)

// Retention limits what is kept of each namespace. Zero means no limit.
type Retention struct {
	// Age is how long a record is kept after its end.
	Age time.Duration
	// Size is the most bytes of all records of a namespace.
	Size int64
}

// Swept is the result of a Sweep.
type Swept struct {
	// Kept and Deleted count records, and Bytes are those of the kept ones.
	Kept, Deleted int
	Bytes         int64
}

// Namespaces returns the namespaces that have records, usage, or logs of jobs that run.
func (s *Store) Namespaces(ctx context.Context) ([]string, error) {
	var list []string
	for _, prefix := range []string{index, usages, running} {
		for o, err := range s.bucket.Objects(ctx, &blob.ListOptions{Prefix: prefix, Delimiter: "/"}) {
			if err != nil {
				return nil, failed("listing", err)
			}
			if o.IsDir {
				list = append(list, strings.TrimSuffix(strings.TrimPrefix(o.Key, prefix), "/"))
			}
		}
	}
	slices.Sort(list)
	return slices.Compact(list), nil
}

// Sweep deletes the records of a namespace that retention does not keep, and the logs in a Spool that a record has. The newest record is kept
// whatever its size. The usage is kept for the last twelve months, and as long as the age allows.
func (s *Store) Sweep(ctx context.Context, namespace string, now time.Time, r Retention) (swept Swept, err error) {
	if !plain(namespace) {
		return swept, ErrInvalidKey
	}
	if err := s.sweepSpools(ctx, namespace, now, r); err != nil { // as long as their records exist
		return swept, err
	}
	for o, err := range s.bucket.Objects(ctx, &blob.ListOptions{Prefix: index + namespace + "/"}) {
		if err != nil {
			return swept, failed("listing", err)
		}
		e, ok := parseEntry(o.Key)
		if !ok {
			continue
		}
		old := r.Age > 0 && now.Sub(time.UnixMilli(e.time)) > r.Age
		full := r.Size > 0 && swept.Kept > 0 && swept.Bytes+e.size > r.Size
		if !old && !full {
			swept.Kept++
			swept.Bytes += e.size
			continue
		}
		if err := s.remove(ctx, e); err != nil {
			return swept, err
		}
		swept.Deleted++
	}
	return swept, s.sweepUsage(ctx, namespace, now, r)
}

// sweepSpools deletes the logs of attempts that have a record, and those to which nothing was added for the age.
func (s *Store) sweepSpools(ctx context.Context, namespace string, now time.Time, r Retention) error {
	var keys []string // of one attempt
	var last time.Time
	for o, err := range s.bucket.Objects(ctx, &blob.ListOptions{Prefix: running + namespace + "/"}) {
		if err != nil {
			return failed("listing", err)
		}
		if len(keys) > 0 && path.Dir(keys[0]) != path.Dir(o.Key) {
			if err := s.sweepSpool(ctx, keys, r.Age > 0 && now.Sub(last) > r.Age); err != nil {
				return err
			}
			keys, last = nil, time.Time{}
		}
		if keys = append(keys, o.Key); o.ModTime.After(last) {
			last = o.ModTime
		}
	}
	if len(keys) == 0 {
		return nil
	}
	return s.sweepSpool(ctx, keys, r.Age > 0 && now.Sub(last) > r.Age)
}

// sweepSpool deletes the parts of one log if they are old, or there is a record. The last ones go first, so that the rest has no gap.
func (s *Store) sweepSpool(ctx context.Context, keys []string, old bool) error {
	if !old {
		folder := objects + strings.TrimPrefix(path.Dir(keys[0]), running)
		if there, err := s.bucket.Exists(ctx, folder+"/"+recordName); err != nil || !there {
			return failed("looking for a record", err)
		}
	}
	for _, key := range slices.Backward(keys) {
		if err := s.bucket.Delete(ctx, key); err != nil && gcerrors.Code(err) != gcerrors.NotFound {
			return failed("deleting", err)
		}
	}
	return nil
}

// remove deletes a record, the summary last.
func (s *Store) remove(ctx context.Context, e entry) error {
	for _, key := range []string{e.folder() + recordName, e.folder() + logName, e.folder() + answersName, e.folder() + nodesName, e.key()} {
		if err := s.bucket.Delete(ctx, key); err != nil && gcerrors.Code(err) != gcerrors.NotFound {
			return failed("deleting", err)
		}
	}
	return nil
}
