package edge

import (
	"cmp"
	"context"
	"math"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"
	"golang.org/x/time/rate"
	"google.golang.org/grpc/codes"
	"k8s.io/apimachinery/pkg/util/cache"

	"github.com/raygate/raygate/apiserver/internal/rpcstatus"
)

// Limits of what is in flight. Zero means no limit, but for the bytes, where it means 64 MiB per caller and 512 MiB in total.
type Limits struct {
	// Calls that are short, and calls that stay open (watches, waiting), at once.
	Calls, CallerCalls int
	Long, CallerLong   int
	// Bytes of request bodies that are being read or worked on, and of long answers until they are taken.
	Bytes, CallerBytes int64
	// CallerRate is how many calls a second each caller may begin in the long run, and CallerBurst how many at once.
	CallerRate  float64
	CallerBurst int
	// Unidentified is how many calls at once may wait for the API server to say whose they are.
	Unidentified int
}

const (
	// bodyPatience is how long a call waits for room for its body.
	bodyPatience = 5 * time.Second
	// maxRates and rateLife bound the token buckets that are kept of callers without a call in flight.
	maxRates = 10000
	rateLife = time.Minute
)

// room counts what is in flight.
type room struct {
	limits Limits
	bytes  *semaphore.Weighted
	rates  *cache.LRUExpireCache // caller -> *rate.Limiter

	mu      sync.Mutex
	total   counts
	callers map[string]*callerRoom // those with a call in flight
}

type counts struct{ short, long int }

type callerRoom struct {
	counts
	bytes *semaphore.Weighted
}

func newRoom(l Limits) *room {
	for n, fallback := range map[*int]int{&l.Calls: math.MaxInt, &l.CallerCalls: math.MaxInt, &l.Long: math.MaxInt, &l.CallerLong: math.MaxInt, &l.Unidentified: math.MaxInt} {
		if *n <= 0 {
			*n = fallback
		}
	}
	l.Bytes, l.CallerBytes = cmp.Or(max(l.Bytes, 0), 512<<20), cmp.Or(max(l.CallerBytes, 0), 64<<20)
	return &room{limits: l, bytes: semaphore.NewWeighted(l.Bytes), rates: cache.NewLRUExpireCache(maxRates), callers: map[string]*callerRoom{}}
}

// full is RESOURCE_EXHAUSTED with a hint when to try again.
func full(reason, message string, after time.Duration) error {
	return &rpcstatus.Error{Code: codes.ResourceExhausted, Reason: reason, Message: message, RetryAfter: max(after, time.Second)}
}

// Visit is a call that was let in.
type Visit struct {
	room   *room
	caller string
	own    *callerRoom
	long   bool
	bytes  int64
}

// enter takes a place for a call of caller, or says that there is none.
func (r *room) enter(caller string, long bool) (*Visit, error) {
	if err := r.pace(caller); err != nil {
		return nil, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	c := r.callers[caller]
	if c == nil {
		c = &callerRoom{bytes: semaphore.NewWeighted(r.limits.CallerBytes)}
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

// pace takes one token from the caller's bucket.
func (r *room) pace(caller string) error {
	if r.limits.CallerRate <= 0 {
		return nil
	}
	var bucket *rate.Limiter
	if kept, ok := r.rates.Get(caller); ok {
		bucket = kept.(*rate.Limiter)
	} else {
		bucket = rate.NewLimiter(rate.Limit(r.limits.CallerRate), max(r.limits.CallerBurst, 1))
		r.rates.Add(caller, bucket, rateLife)
	}
	turn := bucket.Reserve()
	if delay := turn.Delay(); delay > 0 {
		turn.Cancel()
		return full("RATE_LIMITED", "you send more calls a second than one caller may", delay)
	}
	return nil
}

// Leave gives everything back.
func (v *Visit) Leave() {
	v.Shrink(0)
	v.room.mu.Lock()
	defer v.room.mu.Unlock()
	v.own.add(v.long, -1)
	v.room.total.add(v.long, -1)
	if v.own.counts == (counts{}) {
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

// Body takes room for the n bytes of a request, or of an answer in place of that, first of the caller's and then of everybody's, and waits for it a little.
func (v *Visit) Body(ctx context.Context, n int64) error {
	v.Shrink(0)
	n = min(n, v.room.limits.CallerBytes, v.room.limits.Bytes)
	if err := acquire(ctx, v.own.bytes, n); err != nil {
		return full("TOO_MANY_BYTES", "you have as many bytes in flight as one caller may", time.Second)
	}
	if err := acquire(ctx, v.room.bytes, n); err != nil {
		v.own.bytes.Release(n)
		return full("OVERLOADED", "the gateway has as many bytes in flight as it may", time.Second)
	}
	v.bytes = n
	return nil
}

// Shrink gives back what the body, now that it is read, does not need: its length was not known.
func (v *Visit) Shrink(n int64) {
	if spare := v.bytes - n; spare > 0 {
		v.own.bytes.Release(spare)
		v.room.bytes.Release(spare)
		v.bytes = n
	}
}

func acquire(ctx context.Context, s *semaphore.Weighted, n int64) error {
	if s.TryAcquire(n) {
		return nil // the usual case, without a timer
	}
	ctx, cancel := context.WithTimeout(ctx, bodyPatience)
	defer cancel()
	return s.Acquire(ctx, n)
}
