package store

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/labels"
)

// Bounds of a page, as AIP-158 wants them: too large is cut, zero is the default.
const (
	DefaultPageSize = 100
	MaxPageSize     = 1000
	// MaxPageBytes is the size of the objects of a page in bytes: below the default limit of gRPC clients, even with one more object.
	MaxPageBytes = 2 << 20
)

// Selection chooses objects.
type Selection struct {
	ReadOptions
	// Namespace of the objects. Empty means all.
	Namespace string
	// Selector chooses by labels. Nil means everything.
	Selector labels.Selector
	// Match chooses further. Nil means that all belong to the result.
	Match func(*Item) bool
}

func (o *Selection) has(item *Item) bool {
	return (o.Selector == nil || o.Selector.Matches(labels.Set(item.Labels))) && (o.Match == nil || o.Match(item))
}

// of returns the chosen ones of items, which it changes.
func (o *Selection) of(ctx context.Context, items []*Item) ([]*Item, error) {
	chosen := slices.DeleteFunc(items, func(item *Item) bool { return ctx.Err() != nil || !o.has(item) })
	return chosen, ctx.Err()
}

// ListOptions of List.
type ListOptions struct {
	Selection
	// FilterText identifies Match, for the page token.
	FilterText string
	// PageSize is the longest page wanted. Zero means DefaultPageSize, more than MaxPageSize means MaxPageSize.
	PageSize int
	// PageToken continues an earlier List with the same options. Empty means from the start.
	PageToken string
	// View is the form in which the caller will return the objects; pages of one list do not change it.
	View string
	// OrderBy from ParseOrder. The zero value is namespace, name.
	OrderBy Order
	// Size of an item in the answer. A page ends before it has more than Bytes, but not before its first item. Nil means that it does not.
	Size func(*Item) int
	// Bytes of a page. Zero means MaxPageBytes.
	Bytes int
}

// Page is one answer of List.
type Page struct {
	Items []*Item
	// NextPageToken is empty on the last page.
	NextPageToken string
	// Total counts all matching objects, on all pages, at the time of this answer.
	Total int
	// Version is the resourceVersion of the collection that the first page was read at: a watch from there misses nothing.
	Version string
}

// List returns one page of objects in a stable order.
func (s *Store) List(ctx context.Context, o ListOptions) (*Page, error) {
	query := strings.Join([]string{s.kind.Resource, o.Namespace, cmp.Or(o.Selector, labels.Everything()).String(), o.FilterText, o.OrderBy.String(), o.View}, "\x00")
	var after pageCursor
	if o.PageToken != "" {
		if err := s.opts.Tokens.Open(o.PageToken, query, &after); err != nil {
			return nil, err
		}
	}
	items, version, err := s.snapshot(ctx, o.Namespace, o.ReadOptions)
	if err != nil {
		return nil, err
	}
	if items, err = o.of(ctx, items); err != nil {
		return nil, err
	}
	page := &Page{Total: len(items), Version: cmp.Or(after.Version, version)}
	places := s.places(items, o.OrderBy)
	if o.PageToken != "" {
		from, found := slices.BinarySearchFunc(places, after, func(p place, c pageCursor) int { return o.OrderBy.compare(p.pageCursor, c) })
		if found {
			from++
		}
		places = places[from:]
	}
	size := min(cmp.Or(max(o.PageSize, 0), DefaultPageSize), MaxPageSize)
	if size = o.fits(places[:min(size, len(places))]); len(places) > size {
		places = places[:size]
		last := places[size-1].pageCursor
		last.Version = page.Version
		page.NextPageToken = s.opts.Tokens.Seal(last, query)
	}
	page.Items = make([]*Item, len(places))
	for n, p := range places {
		page.Items[n] = p.item
	}
	return page, nil
}

// All returns all objects of a selection, sorted by namespace and name.
func (s *Store) All(ctx context.Context, o Selection) ([]*Item, error) {
	items, _, err := s.snapshot(ctx, o.Namespace, o.ReadOptions)
	if err != nil {
		return nil, err
	}
	return o.of(ctx, items)
}

// fits returns how many of the items of a page have room on it.
func (o *ListOptions) fits(places []place) int {
	if o.Size == nil {
		return len(places)
	}
	bytes := 0
	for n, p := range places {
		if bytes += o.Size(p.item); n > 0 && bytes > cmp.Or(o.Bytes, MaxPageBytes) {
			return n
		}
	}
	return len(places)
}

// place is an item with its position in an order, which is computed once per item and not once per comparison.
type place struct {
	pageCursor
	item *Item
}

// places returns items, which are sorted by namespace and name, in an order.
func (s *Store) places(items []*Item, o Order) []place {
	all := make([]place, len(items))
	for n, item := range items {
		all[n] = place{pageCursor: s.cursorOf(item, o), item: item}
	}
	if len(o.terms) > 0 {
		slices.SortFunc(all, func(a, b place) int { return o.compare(a.pageCursor, b.pageCursor) })
	}
	return all
}

// Order is a parsed order_by. Namespace and name always decide last, so that every order is total.
type Order struct{ terms []orderTerm }

type orderTerm struct {
	field string
	desc  bool
}

// orderFields are the names of order_by, with the JSON paths that people try first.
var orderFields = map[string]string{
	"name": "name", "metadata.name": "name",
	"namespace": "namespace", "metadata.namespace": "namespace",
	"create_time": "create_time", "createTime": "create_time", "creationTimestamp": "create_time", "metadata.creationTimestamp": "create_time",
	"state": "state", "status.state": "state",
}

// ParseOrder reads an order_by such as "create_time desc, name".
func ParseOrder(text string) (o Order, err error) {
	if strings.TrimSpace(text) == "" {
		return o, nil
	}
	for part := range strings.SplitSeq(text, ",") {
		words := append(strings.Fields(part), "asc")
		field, known := orderFields[words[0]]
		switch direction := words[1:]; {
		case len(direction) == 0:
			return Order{}, fmt.Errorf("empty term in %q: write for example \"create_time desc, name\"", text)
		case len(direction) > 2:
			return Order{}, fmt.Errorf("%q has more than a field and a direction", strings.TrimSpace(part))
		case direction[0] != "asc" && direction[0] != "desc":
			return Order{}, fmt.Errorf("%q is not a direction: write asc or desc", direction[0])
		case !known:
			return Order{}, fmt.Errorf("cannot order by %q: use name, namespace, create_time or state", words[0])
		}
		o.terms = append(o.terms, orderTerm{field, words[1] == "desc"})
	}
	return o, nil
}

// String returns the order in one spelling.
func (o Order) String() string {
	var parts []string
	for _, t := range o.terms {
		if t.desc {
			parts = append(parts, t.field+" desc")
		} else {
			parts = append(parts, t.field)
		}
	}
	return strings.Join(parts, ",")
}

// cursorOf returns the place of an item in an order.
func (s *Store) cursorOf(i *Item, o Order) pageCursor {
	c := pageCursor{Namespace: i.key.Namespace, Name: i.key.Name}
	for _, t := range o.terms {
		value := ""
		switch {
		case t.field == "name":
			value = i.key.Name
		case t.field == "namespace":
			value = i.key.Namespace
		case t.field == "create_time":
			value = i.GetCreationTimestamp().UTC().Format(time.RFC3339)
		case s.kind.State != "":
			value = i.At(s.kind.State).String()
		}
		c.Values = append(c.Values, value)
	}
	return c
}

// compare returns the order of two places.
func (o Order) compare(a, b pageCursor) int {
	for n, t := range o.terms {
		if n >= len(a.Values) || n >= len(b.Values) {
			break
		}
		if d := cmp.Compare(a.Values[n], b.Values[n]); d != 0 {
			if t.desc {
				return -d
			}
			return d
		}
	}
	return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
}
