package e2e

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/internal/testing/await"
	"github.com/raygate/raygate/internal/testing/programs"
)

// raygate runs the command-line tool against the gateway.
func raygate(t *testing.T, ns string, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	return command(t, nil, "raygate", append([]string{"--server", "http://" + product.grpc, "--namespace", ns}, args...)...)
}

// A person submits a command, sees its output and gets its exit code; the log can be read again afterwards.
func TestSubmitFromTheCommandLine(t *testing.T) {
	t.Parallel()
	ns := namespace(t)
	stdout, stderr, code := raygate(t, ns, "submit", "--name", "good", "--", "sh", "-c", "echo one; echo two")
	if diff := cmp.Diff("one\ntwo\n", stdout); diff != "" || code != 0 {
		t.Errorf("exit code %d, standard error %s, output (-want +got):\n%s", code, stderr, diff)
	}
	stdout, stderr, code = raygate(t, ns, "submit", "--name", "bad", "--", "sh", "-c", "echo begun; exit 7")
	if stdout != "begun\n" || code != 7 {
		t.Errorf("exit code %d, want 7; output %q, standard error %s", code, stdout, stderr)
	}
	if stdout, stderr, code = raygate(t, ns, "logs", "-f", "rayjob/nosuch"); code == 0 || stdout != "" || !strings.Contains(stderr, "nosuch") {
		t.Errorf("the log of a job that is not there: exit code %d, output %q, standard error %q", code, stdout, stderr)
	}
}

// Following a log continues with the next attempt.
func TestFollowedLogShowsEachAttempt(t *testing.T) {
	t.Parallel()
	ns, dir := namespace(t), t.TempDir()
	program := fmt.Sprintf(`test -e %s/first && n=second || n=first; echo $n; until test -e %[1]s/$n; do sleep 0.2; done; test $n = second`, dir)
	rest(t, "POST", jobsOf(ns), "application/yaml", rayJob("demo", ns, rayv1.HTTPMode, program, "backoffLimit: 1")).want(t, 201)
	ctx, cancel := context.WithTimeout(t.Context(), await.Limit)
	defer cancel()
	cmd := exec.CommandContext(ctx, programs.Binary("raygate"), "--server", "http://"+product.grpc, "-n", ns, "logs", "-f", "demo")
	cmd.Env = append(os.Environ(), "RAYGATE_TOKEN="+product.token)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	for _, attempt := range []string{"first", "second"} {
		if !lines.Scan() || lines.Text() != attempt {
			t.Errorf("the log goes on with %q, want %q", lines.Text(), attempt)
		}
		touch(t, filepath.Join(dir, attempt))
	}
	if lines.Scan() {
		t.Errorf("the log goes on with %q", lines.Text())
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("%v: %s", err, stderr.String())
	}
}

// TestSubmitFolder: a folder with an import among its files runs on a running cluster and on one of its own, and is sent once to each place.
func TestSubmitFolder(t *testing.T) {
	t.Parallel()
	ns, dir := namespace(t), t.TempDir()
	rest(t, "POST", clustersOf(ns), "application/yaml", manifest("demo", ns, 0)).want(t, 201)
	waitReady(t, ns, "demo", 0)
	head := headPod(t, ns, "demo").Name
	if stdout, stderr, code := raygate(t, ns, "logs", "--cluster", "demo", "--file", "raylet.out", "--node", head); code != 0 || !strings.HasPrefix(stdout, "(raylet) ") {
		t.Errorf("the log of a node: exit code %d, output %q, standard error:\n%s", code, stdout, stderr)
	}
	write := func(path, content string) {
		t.Helper()
		if err := errors.Join(os.MkdirAll(filepath.Dir(filepath.Join(dir, path)), 0o755), os.WriteFile(filepath.Join(dir, path), []byte(content), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 198 {
		write(fmt.Sprintf("lib/part%03d.sh", i), fmt.Sprintf("echo part %d\n", i))
	}
	write("main.sh", "cat secret 2>/dev/null; . lib/part197.sh; exit 7\n")
	write(".gitignore", "secret\n")
	write("secret", "secret")
	for i, said := range []string{"uploaded 200 files", "not sent again: 200 files", "uploaded 200 files", "not sent again: 200 files"} {
		where := []string{"submit", dir, "--cluster", "demo", "--", "sh", "main.sh"}
		if i > 1 {
			where = slices.Delete(where, 2, 4)
		}
		stdout, stderr, code := raygate(t, ns, where...)
		if stdout != "part 197\n" || code != 7 || !strings.Contains(stderr, said) {
			t.Errorf("exit code %d, output %q, want %q in standard error:\n%s", code, stdout, said, stderr)
		}
	}
	write("main.sh", "echo changed\n")
	if stdout, stderr, code := raygate(t, ns, "submit", "--working-dir", dir, "--cluster", "demo", "--", "sh", "main.sh"); stdout != "changed\n" || code != 0 || !strings.Contains(stderr, "uploaded 200 files") {
		t.Errorf("exit code %d, output %q, standard error:\n%s", code, stdout, stderr)
	}
}
