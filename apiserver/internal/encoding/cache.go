package encoding

import (
	"container/list"
	"sync"
	"sync/atomic"

	"google.golang.org/grpc/mem"
)

// Form is an encoded form of an object.
type Form int

// The forms that are kept. The full JSON of an object is the stored one.
const (
	ProtoFull Form = iota
	ProtoBasic
	JSONFull // only with Modified
	JSONBasic
	// Modified plus the form of the object is a whole message of a watch, which is the same for all watchers. By REST it is a frame.
	Modified
)

// The forms of KubeRay's V1 API.
const (
	ProtoV1 = 2*Modified + iota
	JSONV1
	forms
)

// Views are the encoded forms of one version of one object. The zero value is ready for use; it must not be copied after that.
type Views struct{ kept atomic.Pointer[entries] }

// entries are apart from Views, which are part of an object: an entry that pointed to Views would keep a replaced version of the object in memory.
type entries [forms]atomic.Pointer[entry]

// of returns the entries of v, which it makes if there are none.
func (v *Views) of() *entries {
	if kept := v.kept.Load(); kept != nil {
		return kept
	}
	v.kept.CompareAndSwap(nil, &entries{})
	return v.kept.Load()
}

type entry struct {
	data  []byte
	parts mem.BufferSlice // data as gRPC sends it
	views *entries
	form  Form
	// used gives the entry a second round before it is dropped.
	used atomic.Bool
	// place is in Cache.entries, nil once the entry has left it.
	place *list.Element
}

// DefaultCacheSize is the size in bytes of a Cache that sets none.
const DefaultCacheSize = 128 << 20

// Cache bounds the bytes of all Views together. It drops forms that were not used since the last round first; they are encoded again when needed.
type Cache struct {
	limit int

	mu      sync.Mutex
	size    int
	entries list.List // of *entry, the oldest in front
}

// NewCache returns a Cache of at most limit bytes. Zero means DefaultCacheSize.
func NewCache(limit int) *Cache {
	if limit <= 0 {
		limit = DefaultCacheSize
	}
	return &Cache{limit: limit}
}

// Get returns a form from views, or the result of encode, which it then keeps. Two concurrent first callers may both encode, and get the
// same bytes.
func (c *Cache) Get(views *Views, form Form, encode func() ([]byte, error)) ([]byte, error) {
	e, err := c.get(views, form, encode)
	if err != nil {
		return nil, err
	}
	return e.data, nil
}

// Parts is Get for a form that gRPC sends as it is. The result is shared by all senders.
func (c *Cache) Parts(views *Views, form Form, encode func() ([]byte, error)) (*mem.BufferSlice, error) {
	e, err := c.get(views, form, encode)
	if err != nil {
		return nil, err
	}
	return &e.parts, nil
}

func (c *Cache) get(of *Views, form Form, encode func() ([]byte, error)) (*entry, error) {
	views := of.of()
	if e := views[form].Load(); e != nil {
		e.used.Store(true)
		return e, nil
	}
	data, err := encode()
	if err != nil {
		return nil, err
	}
	e := &entry{data: data, parts: mem.BufferSlice{mem.SliceBuffer(data)}, views: views, form: form}
	c.mu.Lock()
	defer c.mu.Unlock()
	if !views[form].CompareAndSwap(nil, e) {
		return e, nil
	}
	e.place = c.entries.PushBack(e)
	c.size += e.size()
	for c.size > c.limit {
		oldest := c.entries.Front().Value.(*entry)
		if oldest.used.CompareAndSwap(true, false) {
			c.entries.MoveToBack(oldest.place)
			continue
		}
		c.drop(oldest)
	}
	return e, nil
}

// Forget drops all forms of views, for a version that was replaced.
func (c *Cache) Forget(views *Views) {
	kept := views.kept.Load()
	if kept == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for form := range kept {
		if e := kept[form].Load(); e != nil && e.place != nil {
			c.drop(e)
		}
	}
}

// Size returns the bytes held, for metrics.
func (c *Cache) Size() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.size
}

func (c *Cache) drop(e *entry) {
	c.entries.Remove(e.place)
	e.place = nil
	c.size -= e.size()
	e.views[e.form].Store(nil)
}

// entryOverhead is the approximate size of an entry without its data.
const entryOverhead = 400

func (e *entry) size() int { return cap(e.data) + entryOverhead }
