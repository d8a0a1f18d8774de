// Package suite separates the tests that every change needs (`make test`) from those that are long or that only rarely can fail (`make test-all`).
package suite

import (
	"os"
	"testing"
)

// Variable is the environment variable that selects the suite: "all" runs every test.
const Variable = "TESTS"

// All skips the test unless all tests run. The reason is why the test takes long, or what must change before it can fail.
func All(tb testing.TB, why string) {
	tb.Helper()
	if !IsAll() {
		tb.Skipf("runs in make test-all (%s=all): %s", Variable, why)
	}
}

// IsAll reports whether all tests run, for tests that take a sample otherwise.
func IsAll() bool { return os.Getenv(Variable) == "all" }
