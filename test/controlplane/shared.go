package controlplane

import (
	"flag"
	"fmt"
	"os"
	"sync"
	"testing"
)

// Shared is the control plane of a package's tests. It starts with the first test that needs it, so that other tests are quick.
type Shared struct {
	start func() (*Env, error)
	stop  func()
}

// Share prepares a control plane with these options; Main of the result must end it. Packages without Options.Own use the same control plane when
// they run below the command test/controlplane/together.
func Share(o Options) *Shared {
	s := &Shared{stop: func() {}}
	s.start = sync.OnceValues(func() (*Env, error) {
		env, stop, err := StartForMain(o)
		if err == nil {
			s.stop = stop
		}
		return env, err
	})
	return s
}

// Env returns the control plane, and fails the test if it did not start. With -short it skips the test.
func (s *Shared) Env(tb testing.TB) *Env {
	tb.Helper()
	SkipShort(tb)
	env, err := s.start()
	if err != nil {
		tb.Fatal(err)
	}
	return env
}

// Main runs the tests, ends the control plane and the process.
func (s *Shared) Main(m *testing.M) {
	code := m.Run()
	s.stop()
	os.Exit(code)
}

// SkipShort skips a test that needs a control plane when tests run with -short.
func SkipShort(tb testing.TB) {
	tb.Helper()
	if testing.Short() {
		tb.Skip("needs a control plane: run without -short, after make build")
	}
}

// ShortMain reports whether a TestMain must end at once because tests run with -short and all tests of its package need a control plane. It
// prints a message then.
func ShortMain(name string) bool {
	flag.Parse()
	if testing.Short() {
		fmt.Printf("%s: all tests skipped: they need a control plane; run without -short, after make build\n", name)
	}
	return testing.Short()
}
