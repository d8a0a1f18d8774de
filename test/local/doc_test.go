// Package local uses the local product as people do who clone the repository: up, down, run, reset, and the commands of README.md. All of it runs in
// `make test-all`; `make test` starts the same programs in test/e2e and cmd/raygate.
package local

import (
	"bytes"
	"context"
	"os/exec"
	"testing"
	"time"

	"github.com/raygate/raygate/internal/testing/programs"
)

// settle bounds every wait. It is generous, for slow machines.
const settle = 3 * time.Minute

// local runs raygate-local and returns what it printed and its exit code.
func local(t *testing.T, args ...string) (printed string, code int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), settle)
	defer cancel()
	cmd := exec.CommandContext(ctx, programs.Binary("raygate-local"), args...)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Run(); cmd.ProcessState == nil {
		t.Fatalf("running raygate-local: %v", err)
	}
	return out.String(), cmd.ProcessState.ExitCode()
}
