// Package await waits in tests for what other goroutines and programs do. No wait depends on the speed of the machine.
package await

import (
	"errors"
	"testing"
	"time"
)

// Limit bounds what ends by itself unless it hangs, such as a program or a request. It is generous, for busy machines.
const Limit = 10 * time.Minute

// Most waits end within two seconds. Those that take longer ask a third as often: of 20,000 requests to the API server of test/e2e,
// 4,000 were those of waits.
const (
	pause, soon  = 50 * time.Millisecond, 40
	longer, late = 150 * time.Millisecond, 2360
)

// NoError waits until check returns nil. It fails the test with the last error after soon and late checks, some six minutes of pauses. Their number is
// the bound, and not time: where a machine is busy, the checks are slow, too.
func NoError(tb testing.TB, what string, check func() error) {
	tb.Helper()
	begin := time.Now()
	var err error
	for i := range soon + late {
		if err = check(); err == nil {
			return
		}
		if i < soon {
			time.Sleep(pause)
		} else {
			time.Sleep(longer)
		}
	}
	tb.Fatalf("waited %s for %s in vain: %v", time.Since(begin).Round(time.Second), what, err)
}

// True waits until ok returns true. It fails the test after too many checks.
func True(tb testing.TB, what string, ok func() bool) {
	tb.Helper()
	NoError(tb, what, func() error {
		if !ok() {
			return errors.New("it is not so")
		}
		return nil
	})
}
