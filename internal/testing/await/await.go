// Package await waits in tests for what other goroutines and programs do. No wait depends on the speed of the machine.
package await

import (
	"errors"
	"testing"
	"time"
)

// Limit bounds what ends by itself unless it hangs, such as a program or a request. It is generous, for busy machines.
const Limit = 10 * time.Minute

const (
	pause = 50 * time.Millisecond
	// checks bounds a wait by their number, three minutes of pauses, and not by time: where a machine is busy, the checks are slow, too.
	checks = int(3 * time.Minute / pause)
)

// NoError waits until check returns nil. It fails the test with the last error after too many checks.
func NoError(tb testing.TB, what string, check func() error) {
	tb.Helper()
	begin := time.Now()
	var err error
	for range checks {
		if err = check(); err == nil {
			return
		}
		time.Sleep(pause)
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
