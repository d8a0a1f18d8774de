package raycluster

import (
	"context"
	"testing"

	"k8s.io/apimachinery/pkg/types"
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
	f := newFairSlots(4, 4)
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
	f := newFairSlots(3, 2)
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

func TestASlotIsNotLostWithItsContext(t *testing.T) {
	f := newFairSlots(1, 1)
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
