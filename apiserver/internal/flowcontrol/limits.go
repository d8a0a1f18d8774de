package flowcontrol

import (
	"cmp"
	"context"
	"io"
	"math"
	"sync"
	"time"

	"golang.org/x/time/rate"
	"google.golang.org/grpc/codes"
	"k8s.io/utils/lru"

	"github.com/raygate/raygate/apiserver/internal/rpcstatus"
)

// Limits of calls and bytes in flight. Zero means no limit, except for bytes: 64 MiB per caller and 512 MiB in total.
type Limits struct {
	// Calls that are short, and calls that stay open (watches, waiting), at once.
	Calls, CallerCalls int
	Long, CallerLong   int
	// Bytes held for callers: request bodies and the objects decoded from them, answers of dashboards, and answers until clients have read them. A
	// caller gets CallerBytes at most, and beyond a small amount no more than a quarter of the free bytes.
	Bytes, CallerBytes int64
	// CallerRate is the number of calls per second that each caller may begin on average, and CallerBurst the number at once.
	CallerRate  float64
	CallerBurst int
	// Unidentified is the maximum number of calls that wait at once for the API server to identify their callers.
	Unidentified int
}

const (
	// bytesPatience is how long a call waits for room for bytes. A call that holds more than waitingBytes does not wait: such calls could wait for each
	// other.
	bytesPatience = 5 * time.Second
	waitingBytes  = 1 << 20
	// One caller may have one part in freeShare of the free bytes, and littleBytes in any case.
	freeShare   = 4
	littleBytes = 512 << 10
	// maxRates bounds the token buckets; the least recently used one is dropped first.
	maxRates = 10000
)

// room counts calls and bytes in flight.
type room struct {
	limits Limits
	rates  *lru.Cache // caller -> *rate.Limiter

	mu      sync.Mutex
	total   counts
	callers map[string]*counts // those with a call in flight
	freed   chan struct{}      // closed and replaced when bytes become free while somebody waits
	waiting int
}

type counts struct {
	short, long int
	bytes       int64
}

func newRoom(l Limits) *room {
	for n, fallback := range map[*int]int{&l.Calls: math.MaxInt, &l.CallerCalls: math.MaxInt, &l.Long: math.MaxInt, &l.CallerLong: math.MaxInt, &l.Unidentified: math.MaxInt} {
		if *n <= 0 {
			*n = fallback
		}
	}
	l.Bytes, l.CallerBytes = cmp.Or(max(l.Bytes, 0), 512<<20), cmp.Or(max(l.CallerBytes, 0), 64<<20)
	return &room{limits: l, rates: lru.New(maxRates), callers: map[string]*counts{}, freed: make(chan struct{})}
}

// full is RESOURCE_EXHAUSTED with a hint when to try again.
func full(reason, message string, after time.Duration) error {
	return &rpcstatus.Error{Code: codes.ResourceExhausted, Reason: reason, Message: message, RetryAfter: max(after, time.Second)}
}

// Visit is an admitted call.
type Visit struct {
	room   *room
	caller string
	own    *counts
	long   bool
	bytes  int64 // with room.mu held
}

// enter takes a place for a call of caller. The error is RESOURCE_EXHAUSTED.
func (r *room) enter(caller string, long bool) (*Visit, error) {
	if err := r.limitRate(caller); err != nil {
		return nil, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	c := r.callers[caller]
	if c == nil {
		c = &counts{}
	}
	switch {
	case long && c.long >= r.limits.CallerLong:
		return nil, full("TOO_MANY_STREAMS", "you have as many watches and waiting calls open as one caller may", time.Second)
	case !long && c.short >= r.limits.CallerCalls:
		return nil, full("TOO_MANY_REQUESTS", "you have as many calls in flight as one caller may", time.Second)
	case long && r.total.long >= r.limits.Long:
		return nil, full("OVERLOADED", "the gateway has as many watches and waiting calls open as it may", time.Second)
	case !long && r.total.short >= r.limits.Calls:
		return nil, full("OVERLOADED", "the gateway has as many calls in flight as it may", time.Second)
	}
	r.callers[caller] = c
	c.add(long, 1)
	r.total.add(long, 1)
	return &Visit{room: r, caller: caller, own: c, long: long}, nil
}

// limitRate takes one token from the caller's bucket.
func (r *room) limitRate(caller string) error {
	if r.limits.CallerRate <= 0 {
		return nil
	}
	delay := reserve(r.rates, caller, rate.Limit(r.limits.CallerRate), max(r.limits.CallerBurst, 1))
	if delay > 0 {
		return full("RATE_LIMITED", "you send more calls a second than one caller may", delay)
	}
	return nil
}

// reserve takes a token from the bucket of key, or returns the time until there is one.
func reserve(buckets *lru.Cache, key string, limit rate.Limit, burst int) time.Duration {
	var bucket *rate.Limiter
	if kept, ok := buckets.Get(key); ok { // two first calls at once may both make one
		bucket = kept.(*rate.Limiter)
	} else {
		bucket = rate.NewLimiter(limit, burst)
		buckets.Add(key, bucket)
	}
	turn := bucket.Reserve()
	delay := turn.Delay()
	if delay > 0 {
		turn.Cancel()
	}
	return delay
}

// Leave releases the place and the bytes of the call.
func (v *Visit) Leave() {
	v.Shrink(0)
	v.room.mu.Lock()
	defer v.room.mu.Unlock()
	v.own.add(v.long, -1)
	v.room.total.add(v.long, -1)
	if *v.own == (counts{}) {
		delete(v.room.callers, v.caller)
	}
}

func (c *counts) add(long bool, n int) {
	if long {
		c.long += n
	} else {
		c.short += n
	}
}

// Body replaces the bytes that the call holds by n bytes. It waits up to bytesPatience for room.
func (v *Visit) Body(ctx context.Context, n int64) error {
	v.Shrink(0)
	return v.hold(ctx, min(n, v.room.limits.CallerBytes, v.room.limits.Bytes/2))
}

// try takes room for n bytes, at most those of one caller, without waiting.
func (v *Visit) try(n int64) bool {
	r := v.room
	n = min(n, r.limits.CallerBytes, r.limits.Bytes)
	r.mu.Lock()
	defer r.mu.Unlock()
	fits := r.fits(v, n)
	if fits {
		r.count(v, n)
	}
	return fits
}

// Shrink releases the bytes that the call holds beyond n.
func (v *Visit) Shrink(n int64) {
	r := v.room
	r.mu.Lock()
	defer r.mu.Unlock()
	if v.bytes <= n {
		return
	}
	r.count(v, n-v.bytes)
	if r.waiting > 0 {
		close(r.freed)
		r.freed = make(chan struct{})
	}
}

// hold takes room for n more bytes.
func (v *Visit) hold(ctx context.Context, n int64) error {
	r := v.room
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.fits(v, n): // the usual case, without a timer
		r.count(v, n)
		return nil
	case v.bytes+n > r.limits.CallerBytes:
		return &rpcstatus.Error{Code: codes.ResourceExhausted, Reason: "TOO_LARGE", Message: "the call needs more memory than one caller may use; request less at once"}
	}
	var late <-chan time.Time
	if v.bytes <= waitingBytes {
		timer := time.NewTimer(bytesPatience)
		defer timer.Stop()
		late = timer.C
	}
	for late != nil && !r.fits(v, n) {
		freed := r.freed
		r.waiting++
		r.mu.Unlock()
		select {
		case <-freed:
		case <-ctx.Done():
			late = nil
		case <-late:
			late = nil
		}
		r.mu.Lock()
		r.waiting--
	}
	switch {
	case r.fits(v, n):
		r.count(v, n)
		return nil
	case v.own.bytes+n > r.limits.CallerBytes:
		return full("TOO_MANY_BYTES", "you have as many bytes in flight as one caller may", time.Second)
	}
	return full("OVERLOADED", "the gateway has as many bytes in flight as it may", time.Second)
}

// fits reports whether a call may hold n more bytes. An eighth of all bytes is for callers that hold little, so that greedy callers leave room for
// short answers.
func (r *room) fits(v *Visit, n int64) bool {
	own, free := v.own.bytes+n, r.limits.Bytes-r.total.bytes
	switch {
	case own > r.limits.CallerBytes || n > free:
		return false
	case own <= littleBytes || r.limits.CallerBytes >= r.limits.Bytes:
		return true
	}
	return own <= (free-r.limits.Bytes/8)/freeShare
}

func (r *room) count(v *Visit, n int64) {
	v.bytes += n
	v.own.bytes += n
	r.total.bytes += n
}

type visitKey struct{}

// Hold takes room for n more bytes until the call of ctx ends. It waits up to bytesPatience for room. A context without a call has room for everything.
func Hold(ctx context.Context, n int64) error {
	v, ok := ctx.Value(visitKey{}).(*Visit)
	if !ok {
		return nil
	}
	return v.hold(ctx, n)
}

// Counted returns in with its bytes held for the call of ctx, as so many copies.
func Counted(ctx context.Context, in io.Reader, copies int64) io.Reader {
	return counted{ctx, in, copies}
}

type counted struct {
	ctx    context.Context // that of the call: Read has none
	in     io.Reader
	copies int64
}

// Read implements io.Reader.
func (c counted) Read(p []byte) (int, error) {
	n, err := c.in.Read(p)
	if full := Hold(c.ctx, c.copies*int64(n)); full != nil {
		return n, full
	}
	return n, err
}

// Room returns how many bytes an answer of which so many copies are held may have now: most, or a few if others hold so much that most does not fit.
// Callers that hold little get room for these.
func Room(ctx context.Context, copies, most int) int {
	v, ok := ctx.Value(visitKey{}).(*Visit)
	if !ok {
		return most
	}
	v.room.mu.Lock()
	defer v.room.mu.Unlock()
	if v.room.fits(v, int64(copies*most)) {
		return most
	}
	return littleBytes / 2 / copies
}

// Shrink releases the bytes that the call of ctx holds beyond n.
func Shrink(ctx context.Context, n int64) {
	if v, ok := ctx.Value(visitKey{}).(*Visit); ok {
		v.Shrink(n)
	}
}

// Held returns the number of bytes that the call of ctx holds.
func Held(ctx context.Context) int64 {
	v, ok := ctx.Value(visitKey{}).(*Visit)
	if !ok {
		return 0
	}
	v.room.mu.Lock()
	defer v.room.mu.Unlock()
	return v.bytes
}
