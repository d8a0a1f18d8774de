package local

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/raygate/raygate/internal/testing/programs"
	"github.com/raygate/raygate/internal/testing/suite"
	"github.com/raygate/raygate/test/docs"
)

// TestReadme runs the commands that README.md gives to try, in their order and as they stand there, on a local cluster of its own.
func TestReadme(t *testing.T) {
	suite.All(t, "starts the whole product")
	const root = "../.."
	blocks, err := docs.RunBy(root, "test/local TestReadme")
	if err != nil || len(blocks) != 1 {
		t.Fatalf("%d blocks of commands, want 1: %v", len(blocks), err)
	}
	dir := filepath.Join(t.TempDir(), "local")
	if out, code := local(t, "up", "--dir", dir); code != 0 {
		t.Fatalf("raygate-local up: exit code %d\n%s", code, out)
	}
	t.Cleanup(func() { _ = exec.Command(programs.Binary("raygate-local"), "reset", "--dir", dir).Run() })
	bin, err := filepath.Abs(filepath.Join(root, "bin"))
	if err != nil {
		t.Fatal(err)
	}
	path := "PATH=" + bin + ":" + filepath.Join(bin, "k8s") + ":" + os.Getenv("PATH")
	commands := blocks[0].Commands()
	if len(commands) < 10 {
		t.Fatalf("%d commands, want those of the page: %q", len(commands), commands)
	}
	settings := ""
	for _, line := range commands {
		if file, ok := strings.CutPrefix(line, "source .local/"); ok {
			settings = "source '" + filepath.Join(dir, file) + "'; curl() { command curl -sS --fail-with-body \"$@\"; }; "
			continue
		}
		if strings.HasSuffix(line, " -w") { // a watch ends when its reader has seen enough
			line = "timeout 5 " + line + " || test $? -eq 124"
		}
		run := func() ([]byte, error) {
			ctx, cancel := context.WithTimeout(t.Context(), settle)
			defer cancel()
			cmd := exec.CommandContext(ctx, "bash", "-euo", "pipefail", "-c", settings+line)
			cmd.Dir, cmd.Env = root, append(os.Environ(), path)
			return cmd.CombinedOutput()
		}
		out, err := run()
		// The API server's proxy learns of a Service's endpoints a moment later than the operator, and no reader is so quick.
		for begin := time.Now(); err != nil && strings.Contains(line, "get --raw") && time.Since(begin) < settle; time.Sleep(100 * time.Millisecond) {
			out, err = run()
		}
		if err != nil {
			t.Fatalf("%s: %v\n%s", line, err, out)
		}
		if line == commands[3] && !strings.Contains(string(out), "hello 3 from Ray") {
			t.Errorf("%s printed\n%s", line, out)
		}
	}
}
