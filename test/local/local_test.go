package local

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/raygate/raygate/internal/testing/programs"
	"github.com/raygate/raygate/internal/testing/suite"
)

// What `make up`, `make down`, `make run` and `make reset` do, in a folder of the test's own and beside the cluster that the
// other tests use, so that the usual ports may be taken.
func TestLocalProduct(t *testing.T) {
	suite.All(t, "starts the whole product twice")
	dir := filepath.Join(t.TempDir(), "local")
	local := func(wantCode int, args ...string) string {
		t.Helper()
		printed, code := local(t, append(args, "--dir", dir)...)
		if code != wantCode {
			t.Fatalf("raygate-local %v: exit code %d, want %d:\n%s", args, code, wantCode, printed)
		}
		return printed
	}

	printed := local(0, "up")
	t.Cleanup(func() { _ = exec.Command(programs.Binary("raygate-local"), "reset", "--dir", dir).Run() })
	for _, want := range []string{"curl", "kubectl", "go run ./samples/go", "/apis/v2/namespaces/default/clusters", "/metrics", "raygate-local down --dir " + dir} {
		if !strings.Contains(printed, want) {
			t.Errorf("up printed nothing of %q:\n%s", want, printed)
		}
	}
	if again := local(0, "up"); !strings.Contains(again, "running") {
		t.Errorf("a second up does not say that it is running: %s", again)
	}

	shell(t, dir, `curl -sS --fail-with-body --data-binary @../../samples/raycluster.minimal.yaml -H 'Content-Type: application/yaml' "$RAYGATE_URL/apis/v2/namespaces/default/clusters"`)
	shell(t, dir, `kubectl wait raycluster/minimal --for=condition=RayClusterProvisioned --timeout=120s`)
	if got := shell(t, dir, `cd ../.. && go run ./samples/go default minimal`); !strings.Contains(got, "RayCluster") {
		t.Errorf("the printed Go command does not show the cluster: %s", got)
	}
	local(0, "down")
	local(1, "status")
	local(0, "up")
	if got := shell(t, dir, `kubectl get raycluster minimal -o name`); !strings.Contains(got, "raycluster.ray.io/minimal") {
		t.Errorf("the cluster did not survive a restart: %s", got)
	}
	local(0, "reset")
	if _, err := os.Stat(dir); !os.IsNotExist(err) {
		t.Errorf("reset left %s: %v", dir, err)
	}
}

// Ctrl-C ends the foreground run cleanly; the crash of a part ends the rest and shows its last words.
func TestForegroundRunEnds(t *testing.T) {
	suite.All(t, "starts the whole product twice")
	ends := map[string]struct {
		end      func(t *testing.T, supervisor *exec.Cmd, dir string)
		wantCode int
		wantLast string
	}{
		"Ctrl-C": {
			end:      func(_ *testing.T, s *exec.Cmd, _ string) { _ = s.Process.Signal(os.Interrupt) },
			wantCode: 0, wantLast: "stopped",
		},
		"crash of the gateway": {
			end: func(t *testing.T, _ *exec.Cmd, dir string) {
				_ = syscall.Kill(partOf(t, dir, "raygate-apiserver"), syscall.SIGKILL)
			},
			wantCode: 1, wantLast: "raygate-apiserver",
		},
	}
	for name, tc := range ends {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "local")
			var out strings.Builder
			cmd := exec.Command(programs.Binary("raygate-local"), "run", "--dir", dir)
			cmd.Stdout, cmd.Stderr = &out, &out
			cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGTERM}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			ended := make(chan struct{})
			go func() { _ = cmd.Wait(); close(ended) }()
			t.Cleanup(func() { _ = cmd.Process.Kill() })
			awaitFile(t, filepath.Join(dir, "state.json"), ended)

			begin := time.Now()
			tc.end(t, cmd, dir)
			select {
			case <-ended:
			case <-time.After(settle):
				t.Fatal("it did not end")
			}
			t.Logf("ended after %s", time.Since(begin).Round(100*time.Millisecond))
			if got := cmd.ProcessState.ExitCode(); got != tc.wantCode {
				t.Errorf("exit code %d, want %d", got, tc.wantCode)
			}
			if !strings.Contains(out.String(), tc.wantLast) {
				t.Errorf("it said nothing of %q:\n%s", tc.wantLast, out.String())
			}
		})
	}
}

func awaitFile(t *testing.T, path string, ended <-chan struct{}) {
	t.Helper()
	for deadline := time.Now().Add(settle); time.Now().Before(deadline); time.Sleep(100 * time.Millisecond) {
		select {
		case <-ended:
			t.Fatal("it ended before it was ready")
		default:
		}
		if _, err := os.Stat(path); err == nil {
			return
		}
	}
	t.Fatalf("%s did not appear", path)
}

func partOf(t *testing.T, dir, name string) int {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, "state.json"))
	if err != nil {
		t.Fatal(err)
	}
	var state struct{ Parts map[string]int }
	if err := json.Unmarshal(data, &state); err != nil || state.Parts[name] == 0 {
		t.Fatalf("no %s in %s: %v", name, data, err)
	}
	return state.Parts[name]
}

// shell runs a line as a user would who has read the settings.
func shell(t *testing.T, dir, line string) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "sh", "-c", fmt.Sprintf(". '%s/env' && %s", dir, line)).CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", line, err, out)
	}
	return string(out)
}
