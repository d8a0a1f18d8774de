package store

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/utils/clock"

	"github.com/raygate/raygate/apiserver/internal/authn"
	"github.com/raygate/raygate/apiserver/internal/encoding"
)

// Bounds of the changes that a cache keeps for its watchers: how many, and how many bytes of objects that are kept for them alone. They limit how far a slow
// client may fall behind and how old a resume token may be. All clients share the memory.
const (
	defaultLogLength = 4096
	defaultLogBytes  = 64 << 20
)

// reconnect is the back-off of the cache towards the API server. The default of client-go grows to a minute, for which readers would see old objects after
// the API server is back.
var reconnect = wait.Backoff{Duration: 500 * time.Millisecond, Factor: 2, Jitter: 1, Steps: 10, Cap: 5 * time.Second}

// watchCache holds all objects of one kind and the latest changes, fed by one reflector.
//
// It is not a client-go informer, because watchers want to follow the changes in order from a resourceVersion of their choice,
// which an informer's handlers cannot do without a buffer per client.
type watchCache struct {
	kind     *Kind
	max      int
	maxBytes int
	clock    clock.PassiveClock
	views    *encoding.Cache
	// restored is called, with mu held, after versions have started over.
	restored func()

	mu       sync.RWMutex
	items    []*Item // sorted by namespace and name
	byReqID  map[requestKey]types.NamespacedName
	synced   bool
	version  uint64 // newest resourceVersion seen
	log      []change
	logBytes int           // bytes of the log besides items
	first    uint64        // number of log[0] since the start
	since    uint64        // every change after this resourceVersion is in log
	moved    chan struct{} // closed and replaced when version grows
	// lastContact is the last time the API server answered or sent something, initially the creation time of the cache; lost means that a
	// later request failed.
	lastContact time.Time
	lost        bool
	// absent is set while the API server does not have the kind.
	absent bool
	// refused is the error of Kubernetes while the gateway itself may not read; nil while it may.
	refused error
}

// change is one step from prev to next; one of them is nil on creation and deletion.
type change struct {
	prev, next *Item
	version    uint64
	// resume is the version to resume from once this change has been sent. It is version, but for changes found by a list: deletions among them share its
	// version, and resuming from it would lose those not sent yet.
	resume uint64
	// token of resume, made once for all watchers.
	token string
}

// size returns the bytes that the log keeps for the change. They do not include next, which is among the items or the prev of a later change.
func (ch *change) size() int {
	const overhead = 256
	if ch.prev == nil {
		return overhead
	}
	return overhead + len(ch.prev.raw)
}

// held returns the bytes that a change keeps in memory if nothing else refers to its objects.
func (ch *change) held() int {
	if ch.next == nil {
		return ch.size()
	}
	return ch.size() + len(ch.next.raw)
}

func newWatchCache(kind *Kind, o Options, restored func()) *watchCache {
	return &watchCache{
		restored: restored, kind: kind, max: o.LogLength, maxBytes: o.LogBytes, clock: o.Clock, views: o.Views,
		moved: make(chan struct{}), byReqID: map[requestKey]types.NamespacedName{}, lastContact: o.Clock.Now(),
	}
}

// contact records the result of a request to the API server.
func (c *watchCache) contact(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.absent = apierrors.IsNotFound(err)
	c.refused = nil
	if errors.Is(err, authn.ErrOwnCredentials) {
		c.refused = err
	}
	var answered apierrors.APIStatus // a refusal is an answer, unless a proxy in front of the API server sent it
	if c.lost = err != nil && !(errors.As(err, &answered) && answered.Status().Code < http.StatusInternalServerError); !c.lost {
		c.lastContact = c.clock.Now()
	}
}

// age is how long ago the API server was last in contact; zero while it is.
func (c *watchCache) age() time.Duration {
	c.mu.RLock()
	defer c.mu.RUnlock()
	if !c.lost {
		return 0
	}
	return c.clock.Since(c.lastContact)
}

func (c *watchCache) cast(obj any) (*Item, error) {
	i, ok := obj.(*Item)
	if !ok {
		return nil, fmt.Errorf("caching %s: unexpected %T", c.kind.Resource, obj)
	}
	i.ofKind(c.kind.GroupVersionKind)
	return i, nil
}

// Add is called by the reflector.
func (c *watchCache) Add(obj any) error { return c.Update(obj) }

// Update is called by the reflector.
func (c *watchCache) Update(obj any) error {
	t, err := c.cast(obj)
	if err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.put(t, t.rv)
	return nil
}

// Delete is called by the reflector; the object carries the resourceVersion of its deletion.
func (c *watchCache) Delete(obj any) error {
	t, err := c.cast(obj)
	if err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.remove(t.key, t.rv, t.rv)
	return nil
}

// Resync is called by the reflector and has nothing to do here.
func (c *watchCache) Resync() error { return nil }

// Bookmark is called by the reflector: all changes up to rv have been seen.
func (c *watchCache) Bookmark(rv string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.advance(parseVersion(rv), false)
	return nil
}

// Replace is called by the reflector after a list. After the first one the difference goes into the log as ordinary changes, so a lost
// upstream watch does not disturb the watchers.
func (c *watchCache) Replace(list []any, rv string) error {
	version := parseVersion(rv)
	fresh := make([]*Item, 0, len(list))
	present := make(map[types.NamespacedName]bool, len(list))
	for _, obj := range list {
		t, err := c.cast(obj)
		if err != nil {
			return err
		}
		fresh = append(fresh, t)
		present[t.key] = true
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if version < c.version {
		// The API server was restored from a backup: versions start over, and all tokens are invalid.
		c.items, c.log, c.logBytes, c.first, c.byReqID = nil, nil, 0, c.first+uint64(len(c.log))+1, map[requestKey]types.NamespacedName{}
		c.version, c.synced = 0, false
		c.restored()
	}
	if !c.synced {
		c.since = version
		slices.SortFunc(fresh, func(a, b *Item) int { return compareKeys(a.key, b.key) })
		c.items = fresh
		for _, item := range fresh {
			c.index(item)
		}
		c.synced = true
		c.advance(version, false)
		return nil
	}
	slices.SortFunc(fresh, func(a, b *Item) int { return cmp.Compare(a.rv, b.rv) }) // the log grows by version
	// A watcher that is cut off among these changes resumes before all of them: the newest version among them may be that of the list, which deletions share.
	resume := c.version
	for _, item := range fresh {
		if old := c.find(item.key); old == nil || old.rv != item.rv {
			c.put(item, resume)
		}
	}
	for _, item := range slices.Clone(c.items) {
		if !present[item.key] {
			c.remove(item.key, version, resume)
		}
	}
	c.advance(version, false)
	return nil
}

func (c *watchCache) put(item *Item, resume uint64) {
	at, found := c.search(item.key)
	var prev *Item
	switch {
	case found:
		prev = c.items[at]
		c.items[at] = item
		c.forget(prev)
	default:
		c.items = slices.Insert(c.items, at, item)
	}
	c.index(item)
	c.append(change{prev: prev, next: item, version: item.rv, resume: resume})
}

func (c *watchCache) remove(key types.NamespacedName, version, resume uint64) {
	at, found := c.search(key)
	if !found {
		c.advance(version, false)
		return
	}
	prev := c.items[at]
	c.items = slices.Delete(c.items, at, at+1)
	c.forget(prev)
	c.append(change{prev: prev, version: version, resume: resume})
}

func (c *watchCache) index(item *Item) {
	if rk, ok := requestKeyOf(item); ok {
		c.byReqID[rk] = item.key
	}
}

// forget drops encoded forms and the request id of a replaced version of an object.
func (c *watchCache) forget(prev *Item) {
	c.views.Forget(&prev.Views)
	if rk, ok := requestKeyOf(prev); ok && c.byReqID[rk] == prev.key {
		delete(c.byReqID, rk)
	}
}

func (c *watchCache) append(ch change) {
	if cut := c.surplus(ch.size()); cut > 0 {
		for n := range c.log[:cut] {
			c.logBytes -= c.log[n].size()
		}
		c.since = c.log[cut-1].version
		c.log = slices.Clone(c.log[cut:])
		c.first += uint64(cut)
	}
	ch.token = resumeToken(ch.resume)
	c.log = append(c.log, ch)
	c.logBytes += ch.size()
	c.advance(ch.version, true)
}

// surplus returns how many of the oldest changes are dropped for a new one. A quarter is dropped at once, since moving the slice costs its whole length.
func (c *watchCache) surplus(size int) int {
	cut := 0
	if len(c.log) >= c.max {
		cut = max(c.max/4, 1)
	}
	if c.logBytes+size <= c.maxBytes {
		return cut
	}
	held := c.logBytes + size
	for n := range c.log {
		if n >= cut && held <= c.maxBytes*3/4 {
			return n
		}
		held -= c.log[n].size()
	}
	return len(c.log)
}

// advance notes that the cache has reached a version. It wakes readers and watchers if that is new; logged is set if there is a change to read in any case.
func (c *watchCache) advance(version uint64, logged bool) {
	c.lastContact, c.lost = c.clock.Now(), false
	if version > c.version || logged {
		c.version = max(c.version, version)
		close(c.moved)
		c.moved = make(chan struct{})
	}
}

func (c *watchCache) search(key types.NamespacedName) (int, bool) {
	return slices.BinarySearchFunc(c.items, key, func(i *Item, k types.NamespacedName) int { return compareKeys(i.key, k) })
}

func (c *watchCache) find(key types.NamespacedName) *Item {
	if at, ok := c.search(key); ok {
		return c.items[at]
	}
	return nil
}

func (c *watchCache) listLocked(namespace string) []*Item {
	if namespace == "" {
		return slices.Clone(c.items)
	}
	from, _ := c.search(types.NamespacedName{Namespace: namespace})
	to := from
	for to < len(c.items) && c.items[to].key.Namespace == namespace {
		to++
	}
	return slices.Clone(c.items[from:to])
}
