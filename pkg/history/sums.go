package history

import (
	"cmp"
	"context"
	"slices"
	"time"

	"gocloud.dev/blob"
	"gocloud.dev/gcerrors"
)

// putUsage writes what the sums need of a RayCluster. Other records share the Pods of RayClusters, so that they are not added.
func (s *Store) putUsage(ctx context.Context, r *Record) error {
	if r.Kind != "RayCluster" {
		return nil
	}
	for month, u := range r.Usage {
		e := usageEntry{month, r.UID, r.Queue, r.Owner, u}
		if err := s.write(ctx, e.key(r.Namespace), nil); err != nil {
			return failed("writing the usage", err)
		}
	}
	return nil
}

// Grouping selects by what usage is summed.
type Grouping struct{ Queue, Owner bool }

// Sum is the usage of the clusters of a group.
type Sum struct {
	// Queue and Owner are empty for clusters without one, and if the sums are not grouped by it.
	Queue, Owner string
	// Clusters is the number of RayClusters.
	Clusters int
	Usage
}

// Sums returns the usage of the deleted RayClusters of a namespace in a month, which has the form of MonthLayout. The groups are sorted
// by queue and owner.
func (s *Store) Sums(ctx context.Context, namespace, month string, by Grouping) ([]Sum, error) {
	if !plain(namespace) || !plain(month) {
		return nil, ErrInvalidKey
	}
	sums := map[[2]string]*Sum{}
	var last usageEntry
	for o, err := range s.bucket.Objects(ctx, &blob.ListOptions{Prefix: usages + namespace + "/" + month + "/"}) {
		if err != nil {
			return nil, failed("listing", err)
		}
		e, ok := parseUsage(o.Key, namespace)
		if ok && e.uid == last.uid {
			continue // the process that wrote it did not complete the record, and another one counted again
		}
		if ok {
			by.add(sums, e)
			last = e
		}
	}
	list := make([]Sum, 0, len(sums))
	for _, sum := range sums {
		list = append(list, *sum)
	}
	slices.SortFunc(list, func(a, b Sum) int { return cmp.Or(cmp.Compare(a.Queue, b.Queue), cmp.Compare(a.Owner, b.Owner)) })
	return list, nil
}

func (g Grouping) add(sums map[[2]string]*Sum, e usageEntry) {
	var group [2]string
	if g.Queue {
		group[0] = e.queue
	}
	if g.Owner {
		group[1] = e.owner
	}
	if sums[group] == nil {
		sums[group] = &Sum{Queue: group[0], Owner: group[1]}
	}
	sums[group].Clusters++
	sums[group].Usage = sums[group].Plus(e.Usage, 1)
}

// usageMonths is the number of months before the current one whose usage is kept, even if records are deleted earlier.
const usageMonths = 12

// sweepUsage deletes the usage of a namespace in months that are long over.
func (s *Store) sweepUsage(ctx context.Context, namespace string, now time.Time, r Retention) error {
	if r.Age <= 0 {
		return nil
	}
	now = now.UTC()
	oldest := time.Date(now.Year(), now.Month()-usageMonths, 1, 0, 0, 0, 0, time.UTC)
	if kept := now.Add(-r.Age); kept.Before(oldest) {
		oldest = kept
	}
	first := usages + namespace + "/" + oldest.Format(MonthLayout)
	for o, err := range s.bucket.Objects(ctx, &blob.ListOptions{Prefix: usages + namespace + "/"}) {
		if err != nil || o.Key >= first {
			return failed("listing", err)
		}
		if err := s.bucket.Delete(ctx, o.Key); err != nil && gcerrors.Code(err) != gcerrors.NotFound {
			return failed("deleting", err)
		}
	}
	return nil
}
