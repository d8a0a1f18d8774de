package optionalapi

import (
	"context"
	"errors"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/raygate/raygate/internal/testing/raytest"
)

// fakeCache has one informer, and notes which reads it answers.
type fakeCache struct {
	cache.Cache
	cache.Informer
	synced bool
	reads  int
	opts   []cache.InformerGetOption
}

func (f *fakeCache) GetInformer(_ context.Context, _ client.Object, opts ...cache.InformerGetOption) (cache.Informer, error) {
	f.opts = opts
	return f, nil
}

func (f *fakeCache) HasSynced() bool { return f.synced }

func (f *fakeCache) Get(context.Context, client.ObjectKey, client.Object, ...client.GetOption) error {
	f.reads++
	return nil
}

// live is an API server, and notes reads and whether they end by themselves.
type live struct {
	client.Reader
	reads, bounded int
}

func (l *live) Get(ctx context.Context, _ client.ObjectKey, _ client.Object, _ ...client.GetOption) error {
	l.reads++
	if _, ok := ctx.Deadline(); ok {
		l.bounded++
	}
	return nil
}

func TestWatchStartsOnce(t *testing.T) {
	s, c := &server{err: &meta.NoKindMatchError{}}, clocktesting.NewFakePassiveClock(raytest.Epoch.Time)
	started, broken := 0, errors.New("no cache")
	k := NewFixed(s, nil, c)
	k.marked = &fakeCache{}
	w := &Watches{Kinds: k, Start: func(schema.GroupVersionKind, cache.Informer) error {
		started++
		return broken
	}}
	if ready, err := w.Ready(kind); ready || err != nil || started != 0 {
		t.Errorf("ready %t, %v, started %d times; want nothing of a kind that is not there", ready, err, started)
	}
	s.err = nil
	c.SetTime(c.Now().Add(AbsentFor))
	if ready, err := w.Ready(kind); ready || !errors.Is(err, broken) {
		t.Errorf("ready %t, %v; want the error of the watch", ready, err)
	}
	broken = nil
	for range 3 {
		if ready, err := w.Ready(kind); !ready || err != nil || started != 2 {
			t.Errorf("ready %t, %v, started %d times; want one more", ready, err, started)
		}
	}
}

func TestReadsDoNotWaitForTheWatch(t *testing.T) {
	c, api, ca := clocktesting.NewFakePassiveClock(raytest.Epoch.Time), &live{}, &fakeCache{}
	k := NewFixed(&server{}, api, c)
	k.all = ca
	w := &Watches{Kinds: k, Everything: true, Start: func(schema.GroupVersionKind, cache.Informer) error { return nil }}
	o := &unstructured.Unstructured{}
	o.SetGroupVersionKind(kind)
	read := func(wantLive, wantCached int, wantRecheck time.Duration) {
		t.Helper()
		if err := w.Get(t.Context(), client.ObjectKey{Name: "x"}, o); err != nil {
			t.Fatal(err)
		}
		if api.reads != wantLive || api.bounded != wantLive || ca.reads != wantCached {
			t.Errorf("%d reads of the server, %d of them bounded, %d of the cache; want %d and %d", api.reads, api.bounded, ca.reads, wantLive, wantCached)
		}
		if got := w.Recheck(kind); got != wantRecheck {
			t.Errorf("look again after %s, want %s", got, wantRecheck)
		}
	}
	read(1, 0, 0) // nobody watches
	if ready, err := w.Ready(kind); !ready || err != nil {
		t.Fatal(ready, err)
	}
	options := cache.InformerGetOptions{}
	for _, set := range ca.opts {
		set(&options)
	}
	if options.BlockUntilSynced == nil || *options.BlockUntilSynced {
		t.Error("the start of the watch waits for it to be filled")
	}
	read(2, 0, syncCheck)
	c.SetTime(c.Now().Add(soonSynced))
	read(3, 0, AbsentFor)
	ca.synced = true
	read(3, 1, 0)
}
