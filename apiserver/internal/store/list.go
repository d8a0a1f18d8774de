package store

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
)

// Bounds of a page, as AIP-158 wants them: too large is cut, zero is the default.
const (
	DefaultPageSize = 100
	MaxPageSize     = 1000
)

// Match decides whether an object belongs to a result. Nil means that all do.
type Match[T Object] func(*Item[T]) (bool, error)

// ListOptions of List.
type ListOptions[T Object] struct {
	ReadOptions
	// Namespace to list. Empty means all.
	Namespace string
	// PageSize is the longest page wanted. Zero means DefaultPageSize, more than MaxPageSize means MaxPageSize.
	PageSize int
	// PageToken continues an earlier List with the same options. Empty means from the start.
	PageToken string
	// Selector chooses by labels. Nil means everything.
	Selector labels.Selector
	// Match chooses further. FilterText must identify it, for the page token.
	Match      Match[T]
	FilterText string
	// View is the form in which the caller will show the objects; pages of one list do not change it.
	View string
	// OrderBy from ParseOrder. The zero value is namespace, name.
	OrderBy Order
}

// Page is one answer of List.
type Page[T Object] struct {
	Items []*Item[T]
	// NextPageToken is empty on the last page.
	NextPageToken string
	// Total counts all matching objects, on all pages, at the time of this answer.
	Total int
	// Version is the resourceVersion of the collection that the page was read at.
	Version string
}

// List returns one page of objects in a stable order.
func (s *Store[T]) List(ctx context.Context, o ListOptions[T]) (*Page[T], error) {
	query := strings.Join([]string{s.kind.Resource, o.Namespace, selectorText(o.Selector), o.FilterText, o.OrderBy.String(), o.View}, "\x00")
	var after pageCursor
	if o.PageToken != "" {
		var err error
		if after, err = s.tokens.open(o.PageToken, query); err != nil {
			return nil, err
		}
	}
	items, version, err := s.snapshot(ctx, o.Namespace, o.ReadOptions)
	if err != nil {
		return nil, err
	}
	items, err = filterItems(items, o.Selector, o.Match)
	if err != nil {
		return nil, err
	}
	page := &Page[T]{Total: len(items), Version: version}
	order := s.comparer(o.OrderBy)
	if len(o.OrderBy.terms) > 0 {
		slices.SortFunc(items, func(a, b *Item[T]) int { return order(s.cursorOf(a, o.OrderBy), s.cursorOf(b, o.OrderBy)) })
	}
	if o.PageToken != "" {
		from, found := slices.BinarySearchFunc(items, after, func(i *Item[T], c pageCursor) int { return order(s.cursorOf(i, o.OrderBy), c) })
		if found {
			from++
		}
		items = items[from:]
	}
	size := o.PageSize
	switch {
	case size <= 0:
		size = DefaultPageSize
	case size > MaxPageSize:
		size = MaxPageSize
	}
	if len(items) > size {
		items = items[:size]
		page.NextPageToken = s.tokens.seal(s.cursorOf(items[size-1], o.OrderBy), query)
	}
	page.Items = items
	return page, nil
}

func selectorText(sel labels.Selector) string {
	if sel == nil {
		return ""
	}
	return sel.String()
}

func filterItems[T Object](items []*Item[T], sel labels.Selector, match Match[T]) ([]*Item[T], error) {
	if (sel == nil || sel.Empty()) && match == nil {
		return items, nil
	}
	kept := items[:0]
	for _, item := range items {
		ok, err := matches(item, sel, match)
		if err != nil {
			return nil, err
		}
		if ok {
			kept = append(kept, item)
		}
	}
	return kept, nil
}

func matches[T Object](item *Item[T], sel labels.Selector, match Match[T]) (bool, error) {
	if sel != nil && !sel.Matches(labels.Set(item.Object.GetLabels())) {
		return false, nil
	}
	if match == nil {
		return true, nil
	}
	return match(item)
}

func sortByKey[T Object](items []*Item[T]) {
	slices.SortFunc(items, func(a, b *Item[T]) int { return compareKeys(a.key, b.key) })
}

// Order is a parsed order_by. Namespace and name always decide last, so that every order is total.
type Order struct{ terms []orderTerm }

type orderTerm struct {
	field string
	desc  bool
}

// orderFields are the names order_by knows, with the JSON paths people try first.
var orderFields = map[string]string{
	"name": "name", "metadata.name": "name",
	"namespace": "namespace", "metadata.namespace": "namespace",
	"create_time": "create_time", "createTime": "create_time", "creationTimestamp": "create_time", "metadata.creationTimestamp": "create_time",
	"state": "state", "status.state": "state",
}

// ParseOrder reads an order_by such as "create_time desc, name".
func ParseOrder(text string) (Order, error) {
	var o Order
	if strings.TrimSpace(text) == "" {
		return o, nil
	}
	for part := range strings.SplitSeq(text, ",") {
		words := strings.Fields(part)
		var term orderTerm
		switch {
		case len(words) == 0:
			return Order{}, fmt.Errorf("empty term in %q: write for example \"create_time desc, name\"", text)
		case len(words) > 2:
			return Order{}, fmt.Errorf("%q has more than a field and a direction", strings.TrimSpace(part))
		case len(words) == 2 && words[1] == "desc":
			term.desc = true
		case len(words) == 2 && words[1] != "asc":
			return Order{}, fmt.Errorf("%q is not a direction: write asc or desc", words[1])
		}
		field, ok := orderFields[words[0]]
		if !ok {
			return Order{}, fmt.Errorf("cannot order by %q: use name, namespace, create_time or state", words[0])
		}
		term.field = field
		o.terms = append(o.terms, term)
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
func (s *Store[T]) cursorOf(i *Item[T], o Order) pageCursor {
	c := pageCursor{Namespace: i.key.Namespace, Name: i.key.Name}
	for _, t := range o.terms {
		switch t.field {
		case "name":
			c.Values = append(c.Values, i.key.Name)
		case "namespace":
			c.Values = append(c.Values, i.key.Namespace)
		case "create_time":
			c.Values = append(c.Values, i.Object.GetCreationTimestamp().UTC().Format(time.RFC3339))
		case "state":
			var state string
			if s.kind.State != nil {
				state = s.kind.State(i.Object)
			}
			c.Values = append(c.Values, state)
		}
	}
	return c
}

func (s *Store[T]) comparer(o Order) func(a, b pageCursor) int {
	return func(a, b pageCursor) int {
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
		return compareKeys(types.NamespacedName{Namespace: a.Namespace, Name: a.Name}, types.NamespacedName{Namespace: b.Namespace, Name: b.Name})
	}
}
