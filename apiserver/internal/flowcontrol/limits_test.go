package flowcontrol

import (
	"context"
	"fmt"
	"testing"
)

// TestRoomForAPage has callers that hold nearly all bytes: others get room for a short page.
func TestRoomForAPage(t *testing.T) {
	r := newRoom(Limits{Bytes: 32 << 20, CallerBytes: 32<<20 - 1})
	enter := func(caller string) *Visit {
		v, err := r.enter(caller, false)
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	ctx := func(caller string) context.Context { return context.WithValue(t.Context(), visitKey{}, enter(caller)) }
	const most = 2 << 20
	if got := Room(t.Context(), 2, most); got != most {
		t.Errorf("without a call: %d", got)
	}
	if got := Room(ctx("first"), 2, most); got != most {
		t.Errorf("in an empty room: %d", got)
	}
	for n := 0; enter(fmt.Sprint("greedy-", n)).try(most); n++ {
		continue
	}
	honest := ctx("honest")
	got := Room(honest, 2, most)
	if got >= most || got == 0 {
		t.Errorf("in a full room: %d", got)
	}
	if err := Hold(honest, int64(2*got)); err != nil {
		t.Error(err)
	}
}
