package raycluster

import (
	"context"
	"fmt"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	clocktesting "k8s.io/utils/clock/testing"
)

// grants lets clusters queue up for slots that are all taken, then frees one after the other and returns who got them.
func grants(t *testing.T, f *fairSlots, holder types.UID, taken int, queue []types.UID) []types.UID {
	t.Helper()
	got := make(chan types.UID)
	for i, cluster := range queue {
		go func() {
			if err := f.acquire(t.Context(), cluster); err == nil {
				got <- cluster
			}
		}()
		for n := 0; n <= i; { // in this order
			f.mu.Lock()
			n = 0
			for _, list := range f.waiting {
				n += len(list)
			}
			f.mu.Unlock()
		}
	}
	var order []types.UID
	for range min(taken, len(queue)) {
		f.release(holder)
		order = append(order, <-got)
	}
	return order
}

func TestAFreeSlotGoesToTheClusterWithTheFewest(t *testing.T) {
	f := newFairSlots(clock.RealClock{}, 4, 4)
	for range 4 {
		if err := f.acquire(t.Context(), "big"); err != nil {
			t.Fatal(err)
		}
	}
	got := grants(t, f, "big", 4, []types.UID{"big", "big", "a", "a", "b"})
	// Both small ones first, though they came later. Then all have one, and big has waited longest.
	want := []types.UID{"a", "b", "big", "a"}
	for i := range want {
		if got[i] != want[i] {
			t.Fatalf("slots went to %v, want %v", got, want)
		}
	}
}

func TestAClusterAloneLeavesSlotsForOthers(t *testing.T) {
	f := newFairSlots(clock.RealClock{}, 3, 2)
	for range 2 {
		if err := f.acquire(t.Context(), "big"); err != nil {
			t.Fatal(err)
		}
	}
	third := make(chan error, 1)
	go func() { third <- f.acquire(t.Context(), "big") }()
	if err := f.acquire(t.Context(), "small"); err != nil {
		t.Fatal(err)
	}
	select {
	case <-third:
		t.Error("big has three slots, want at most two")
	default:
	}
	f.release("big")
	if err := <-third; err != nil {
		t.Error(err)
	}
}

func TestALargeChangeMakesRoomWhileOthersAreActive(t *testing.T) {
	c := clocktesting.NewFakeClock(time.Unix(0, 0))
	f := newFairSlots(c, 64, 32)
	limits := func() [2]int {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.sweep()
		return [2]int{f.limit("big", f.small()), f.limit("small", f.small())}
	}
	use := func(cluster types.UID, n int) {
		for range n {
			if err := f.acquire(t.Context(), cluster); err != nil {
				t.Fatal(err)
			}
			f.release(cluster)
		}
	}
	use("big", 100)
	if got := limits(); got != [2]int{32, firstBatch} {
		t.Errorf("limits alone are %v", got)
	}
	for i := range 20 {
		use(types.UID(string(rune('a'+i))), 4)
	}
	use("small", 4)
	if got := limits(); got != [2]int{fewParallel, firstBatch} {
		t.Errorf("limits beside 21 small clusters are %v", got)
	}
	c.Step(activeFor / 2)
	use("big", 1)
	c.Step(activeFor / 2)
	if got := limits(); got[0] != 32 {
		t.Errorf("limits after the others are done are %v", got)
	}
	if len(f.active) != 1 {
		t.Errorf("%d clusters are remembered, want the big one", len(f.active))
	}
}

func TestLargeChangesShareAllThereIs(t *testing.T) {
	f := newFairSlots(clocktesting.NewFakeClock(time.Unix(0, 0)), 64, 32)
	for _, cluster := range []types.UID{"a", "b", "c", "d"} {
		for range manyRequests {
			if err := f.acquire(t.Context(), cluster); err != nil {
				t.Fatal(err)
			}
			f.release(cluster)
		}
	}
	if got := f.limit("a", f.small()); got != 16 {
		t.Errorf("one of four large clusters may have %d of 64 requests in flight, want 16", got)
	}
	if f.makesRoom("a") {
		t.Error("makes room although no cluster is small")
	}
	f.announce("small")
	if !f.makesRoom("a") || f.makesRoom("small") {
		t.Error("want that the large cluster makes room, and the small one does not")
	}
	if got := f.limit("a", f.small()); got != 32/5 {
		t.Errorf("beside a small one it may have %d, want %d", got, 32/5)
	}
}

func TestALargeChangeMakesRoomForAnnouncedClusters(t *testing.T) {
	f := newFairSlots(clocktesting.NewFakeClock(time.Unix(0, 0)), 64, 32)
	for range 100 {
		if err := f.acquire(t.Context(), "big"); err != nil {
			t.Fatal(err)
		}
		f.release("big")
	}
	for i := range 40 {
		f.announce(types.UID(fmt.Sprint("small", i)))
	}
	if got := f.limit("big", f.small()); got != fewParallel {
		t.Errorf("the large cluster may have %d requests in flight, want %d", got, fewParallel)
	}
	f.announce("big")
	if got := f.limit("big", f.small()); got != fewParallel {
		t.Errorf("the large cluster may have %d requests in flight after its own announcement, want %d", got, fewParallel)
	}
}

func TestASlotIsNotLostWithItsContext(t *testing.T) {
	f := newFairSlots(clock.RealClock{}, 1, 1)
	if err := f.acquire(t.Context(), "a"); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- f.acquire(ctx, "b") }()
	cancel()
	if err := <-ended; err == nil {
		t.Error("got a slot that was taken")
	}
	f.release("a")
	if err := f.acquire(t.Context(), "c"); err != nil {
		t.Error(err)
	}
	f.release("c")
	if f.free != 1 || len(f.held)+len(f.waiting)+len(f.order) != 0 {
		t.Errorf("something is left: %+v", f)
	}
}
