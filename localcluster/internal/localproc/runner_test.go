package localproc

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
)

func needMarks(t *testing.T) {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Skip("processes are found by their environment on Linux only")
	}
}

func start(t *testing.T, r *Runner, pod, script string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command("/bin/sh", "-c", script)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH")}
	if err := r.Start(cmd, pod); err != nil {
		t.Fatal(err)
	}
	go func() { _ = cmd.Wait() }()
	t.Cleanup(r.Close)
	return cmd
}

// patience is the limit of every wait for something that happens soon on a machine without other load.
const patience = time.Minute

func await(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); !ok(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("timed out: %s", what)
		}
	}
}

// TestLeftoversOfACrash: a new supervisor of the folder ends what the one before has started, and nothing else.
func TestLeftoversOfACrash(t *testing.T) {
	needMarks(t)
	dir, other := t.TempDir(), t.TempDir()
	crashed, n := New(dir, 1)
	if n != 0 {
		t.Fatalf("%d processes in a new folder", n)
	}
	stranger, _ := New(other, 1)
	start(t, crashed, "a", "setsid sleep 300 & sleep 300")
	start(t, stranger, "a", "sleep 300")
	await(t, "start", func() bool { return len(marked(crashed.run)) >= 3 && len(marked(stranger.run)) > 0 })
	if _, n := New(dir, 1); n < 3 {
		t.Errorf("want at least the shell and two sleeps ended, got %d", n)
	}
	if left := marked(crashed.run); len(left) != 0 {
		t.Errorf("processes %v are left", left)
	}
	if len(marked(stranger.run)) == 0 {
		t.Error("the process of another folder was killed")
	}
}

func TestKillPod(t *testing.T) {
	needMarks(t)
	r, _ := New(t.TempDir(), 2)
	start(t, r, "a", "sleep 300")
	start(t, r, "b", "sleep 300")
	await(t, "start", func() bool { return len(marked(markPod+"=a", r.run)) > 0 && len(marked(markPod+"=b", r.run)) > 0 })
	r.KillPod("a")
	if len(marked(markPod+"=a", r.run)) != 0 || len(marked(markPod+"=b", r.run)) == 0 {
		t.Error("want the processes of a ended, and those of b left")
	}
	r.Close()
	if len(marked(r.run)) != 0 {
		t.Error("want nothing left")
	}
	if err := r.Start(exec.Command("/bin/true"), "a"); err == nil {
		t.Error("started after the end")
	}
}

// TestExecution: a process is found while it starts another program, too, when it has no environment for a moment.
func TestExecution(t *testing.T) {
	needMarks(t)
	script := filepath.Join(t.TempDir(), "again")
	if err := os.WriteFile(script, []byte("#!/bin/sh\nexec \"$0\"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	r, _ := New(t.TempDir(), 1)
	start(t, r, "a", "exec "+script)
	for i := range 300 {
		if len(marked(r.run)) == 0 {
			t.Fatalf("not found at look %d", i)
		}
	}
}

func TestLimits(t *testing.T) {
	r, _ := New(t.TempDir(), 1)
	release, err := r.Acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if _, err := r.Acquire(ctx); err == nil {
		t.Error("two places where there is one")
	}
	release()
	release() // does no harm
	if again, err := r.Acquire(t.Context()); err != nil {
		t.Error(err)
	} else {
		again()
	}

	out := filepath.Join(t.TempDir(), "out")
	cmd := exec.Command("/bin/sh", "-c", `ulimit -c; ulimit -f; grep NoNewPrivs /proc/self/status`)
	file, err := os.Create(out)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	cmd.Stdout = file
	if err := r.Start(cmd, "a"); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	data, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	if lines := strings.Fields(string(data)); len(lines) < 2 || lines[0] != "0" || lines[1] == "unlimited" {
		t.Errorf("limits are %q", data)
	}
	if runtime.GOOS == "linux" && !strings.Contains(string(data), "NoNewPrivs:\t1") {
		t.Errorf("the process may gain rights: %q", data)
	}
}
