package history

import (
	"context"
	"errors"
	"slices"
	"time"

	"gocloud.dev/blob"
	"golang.org/x/sync/errgroup"
)

// Query chooses records of a namespace.
type Query struct {
	Namespace string
	// Kinds of the objects. None means all.
	Kinds []string
	// Name of the objects. Empty means all.
	Name string
	// Since and Until bound the end: not before Since, and before Until. Zero means no bound.
	Since, Until time.Time
	// Match chooses further. Nil means that all belong to the result.
	Match func(*Summary) bool
}

func (q *Query) valid() bool {
	for _, kind := range q.Kinds {
		if !plain(kind) {
			return false
		}
	}
	return plain(q.Namespace) && (q.Name == "" || plain(q.Name))
}

// has reports whether an index entry may belong to the result.
func (q *Query) has(e entry) bool {
	return (len(q.Kinds) == 0 || slices.Contains(q.Kinds, e.kind)) && (q.Name == "" || e.name == short(q.Name)) &&
		(q.Until.IsZero() || e.time < q.Until.UnixMilli())
}

// matches reports whether the record of an entry belongs to the result. It is nil if the record was deleted meanwhile.
func (q *Query) matches(item *Summary) bool {
	return item != nil && (q.Name == "" || item.Name == q.Name) && (q.Match == nil || q.Match(item))
}

// Cursor is a place in a listing. The zero value is its beginning. Records that are stored later do not move it.
type Cursor struct {
	// Token is the bucket's, of the page that has the place. Empty means the first one.
	Token []byte `json:"t,omitempty"`
	// After is the last key on that page that was read. Empty means none.
	After string `json:"a,omitempty"`
}

// Page is a part of a listing.
type Page struct {
	Items []Summary
	// Next continues the listing; nil at its end.
	Next *Cursor
}

const (
	// pageReads is the number of summaries that are read at once, and maxReads the maximum for one page.
	pageReads, maxReads = 8, 1000
	// pageKeys is the number of keys that are listed at once, and maxKeys the maximum for one page.
	pageKeys, maxKeys = 1000, 20_000
)

// List returns a page of at most size records, from the newest to the oldest. The work for one page is bounded, so that it may have fewer
// records, or none, and yet a next page.
func (s *Store) List(ctx context.Context, q Query, from Cursor, size int) (page Page, err error) {
	if !q.valid() {
		return page, ErrInvalidKey
	}
	l := &listing{bucket: s.bucket, query: q, following: from.Token, last: from.After}
	if len(from.Token) == 0 {
		l.following = blob.FirstPageToken
	}
	for reads := 0; len(page.Items) < size && reads < maxReads && l.more(); {
		places, err := l.read(ctx, max(size-len(page.Items), pageReads))
		if err != nil {
			return Page{}, err
		}
		reads += len(places)
		items, err := s.summaries(ctx, places)
		if err != nil {
			return Page{}, err
		}
		for i, item := range items {
			if !q.matches(item) {
				continue
			}
			if len(page.Items) == size {
				return Page{Items: page.Items, Next: &places[i-1]}, nil
			}
			page.Items = append(page.Items, *item)
		}
	}
	if !l.ended {
		page.Next = &Cursor{l.token, l.last}
	}
	return page, nil
}

// listing reads the keys of the index.
type listing struct {
	bucket Bucket
	query  Query
	// page contains the keys that were listed by token and not read yet. following is the token of the next keys.
	page             []*blob.ListObject
	token, following []byte
	// last is the last key that was read, and keys their number.
	last string
	keys int
	// ended means that no key is left that may belong to the result.
	ended bool
}

// more reports whether there are more keys, within the limit for one page.
func (l *listing) more() bool { return l.keys < maxKeys && !l.ended }

// read returns the places of at most n entries of the query, each with its key in After.
func (l *listing) read(ctx context.Context, n int) (places []Cursor, err error) {
	for len(places) < n && l.more() {
		if len(l.page) == 0 {
			if err := l.fetch(ctx); err != nil {
				return nil, err
			}
			continue
		}
		key := l.page[0].Key
		l.page = l.page[1:]
		e, ok := parseEntry(key)
		if !ok || key <= l.last {
			continue
		}
		if l.ended = !l.query.Since.IsZero() && e.time < l.query.Since.UnixMilli(); l.ended {
			break
		}
		l.last = key
		l.keys++
		if l.query.has(e) {
			places = append(places, Cursor{l.token, key})
		}
	}
	l.ended = l.ended || len(l.page) == 0 && len(l.following) == 0
	return places, nil
}

// fetch lists the next keys.
func (l *listing) fetch(ctx context.Context) (err error) {
	if l.ended = len(l.following) == 0; l.ended {
		return nil
	}
	l.token = l.following
	if l.page, l.following, err = l.bucket.ListPage(ctx, l.token, pageKeys, &blob.ListOptions{Prefix: index + l.query.Namespace + "/"}); err != nil {
		return failed("listing", err)
	}
	return nil
}

// summaries reads index entries. Those that were deleted since they were listed are nil.
func (s *Store) summaries(ctx context.Context, places []Cursor) ([]*Summary, error) {
	items := make([]*Summary, len(places))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(pageReads)
	for i, p := range places {
		group.Go(func() error {
			item := &Summary{}
			err := s.read(ctx, p.After, item)
			if err == nil {
				items[i] = item
			}
			if errors.Is(err, ErrNotFound) {
				err = nil
			}
			return err
		})
	}
	return items, group.Wait()
}
