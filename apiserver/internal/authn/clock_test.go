package authn

import (
	"context"
	"errors"
	"testing"
	"time"
	"unsafe"
)

// jumping is a clock whose wall time is set back or forth under a monotonic reading that runs on, as when somebody corrects a machine's time.
type jumping struct{ now time.Time }

func (c *jumping) Now() time.Time                  { return c.now }
func (c *jumping) Since(t time.Time) time.Duration { return c.now.Sub(t) }

func (c *jumping) pass(d time.Duration) { c.now = c.now.Add(d) }

// set moves the wall time only: its seconds stand in a time.Time above the nanoseconds, beside the monotonic reading.
func (c *jumping) set(t *testing.T, d time.Duration) {
	t.Helper()
	before := c.now
	*(*uint64)(unsafe.Pointer(&c.now)) += uint64(int64(d/time.Second)) << 30
	if c.now.Sub(before) != 0 || c.now.Round(0).Sub(before.Round(0)) != d {
		t.Fatal("a time.Time has another form than this test knows")
	}
}

// A verdict ends when its time has passed, whatever the clock on the wall says meanwhile, and neither earlier.
func TestVerdictsWhenTheClockJumps(t *testing.T) {
	for _, jump := range []time.Duration{-24 * time.Hour, 24 * time.Hour} {
		t.Run(jump.String(), func(t *testing.T) {
			clock := &jumping{time.Now()}
			v := NewVerdicts[int](clock)
			asked, away := 0, false
			get := func() int {
				t.Helper()
				got, err := v.Get(t.Context(), "caller", func(context.Context) (Answer[int], error) {
					if asked++; away {
						return Answer[int]{}, errors.New("no contact")
					}
					return Answer[int]{Value: asked, Fresh: 10 * time.Second, Stale: 5 * time.Minute}, nil
				})
				if err != nil {
					t.Fatal(err)
				}
				return got
			}
			get()
			clock.set(t, jump)
			if get(); asked != 1 {
				t.Error("a fresh verdict did not survive the jump")
			}
			clock.pass(11 * time.Second)
			if got := get(); got != 2 {
				t.Errorf("verdict %d after its time, want a new one", got)
			}
			clock.pass(11 * time.Second)
			away = true
			get() // keeps the old one, and the API server is not asked for a while
			away = false
			clock.set(t, jump)
			clock.pass(awayPause + time.Second)
			if got := get(); got != 4 {
				t.Errorf("verdict %d when the API server is back, want a new one", got)
			}
		})
	}
}
