package lockfile

import (
	"bufio"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// TestMain lets the test program be the other process: record locks do not
// exclude their own process.
func TestMain(m *testing.M) {
	if path := os.Getenv("LOCKFILE_TEST_HOLD"); path != "" {
		if _, err := Acquire(path); err != nil {
			os.Exit(3)
		}
		_, _ = os.Stdout.WriteString("held\n")
		_, _ = bufio.NewReader(os.Stdin).ReadByte()
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func TestHolder(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	if pid, err := Holder(path); pid != 0 || err != nil {
		t.Errorf("want nobody without a file, got %d, %v", pid, err)
	}
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "LOCKFILE_TEST_HOLD="+path)
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(stdout).ReadString('\n'); line != "held\n" {
		t.Fatalf("the other process did not take the lock: %q, %v", line, err)
	}
	if pid, err := Holder(path); pid != cmd.Process.Pid || err != nil {
		t.Errorf("want %d, got %d, %v", cmd.Process.Pid, pid, err)
	}
	if _, err := Acquire(path); !errors.Is(err, ErrHeld) {
		t.Errorf("want ErrHeld, got %v", err)
	}
	_ = cmd.Process.Kill() // a crash
	_ = cmd.Wait()
	_ = stdin.Close()
	if pid, err := Holder(path); pid != 0 || err != nil {
		t.Errorf("want nobody after the crash, got %d, %v", pid, err)
	}
	l, err := Acquire(path)
	if err != nil {
		t.Fatalf("acquiring after the crash: %v", err)
	}
	l.Release()
}
