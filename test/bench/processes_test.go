package main

import (
	"context"
	"errors"
	"os/exec"
	"strings"
	"testing"
	"time"
)

func TestParseCPU(t *testing.T) {
	got, err := parseCPU("42 (a) b) S 1 2 3 4 5 6 7 8 9 10 150 27 0 0 20 0 9 0")
	if err != nil || got != 1.77 {
		t.Errorf("parseCPU = %v, %v; want 1.77", got, err)
	}
	if _, err := parseCPU("nonsense"); err == nil {
		t.Error("parseCPU of nonsense succeeds")
	}
}

func TestParseMemory(t *testing.T) {
	got, err := parseMemory("Name:\traygate-operator\nVmPeak:\t  999999 kB\nVmRSS:\t  102912 kB\nThreads:\t9\n")
	if err != nil || got != 100.5 {
		t.Errorf("parseMemory = %v, %v; want 100.5", got, err)
	}
	if _, err := parseMemory("Name:\tgone\n"); err == nil {
		t.Error("parseMemory without VmRSS succeeds")
	}
}

func TestProcess(t *testing.T) {
	sh, err := exec.LookPath("sh")
	if err != nil {
		t.Skip("there is no sh")
	}
	never := errors.New("not yet")
	t.Run("await tells the last lines of a program that ended", func(t *testing.T) {
		p, err := startProcess(t.TempDir(), "failing", sh, "-c", "echo the reason; exit 3")
		if err != nil {
			t.Fatal(err)
		}
		err = p.await(t.Context(), "an answer", 10*time.Second, func(context.Context) error { return never })
		if err == nil || !strings.Contains(err.Error(), "the reason") || !strings.Contains(err.Error(), "exit status 3") {
			t.Errorf("await = %v, want the log and the exit status", err)
		}
	})
	t.Run("await gives up at its limit and stop ends the program", func(t *testing.T) {
		p, err := startProcess(t.TempDir(), "waiting", sh, "-c", "read line")
		if err != nil {
			t.Fatal(err)
		}
		err = p.await(t.Context(), "an answer", 10*time.Millisecond, func(context.Context) error { return never })
		if !errors.Is(err, context.DeadlineExceeded) || !errors.Is(err, never) {
			t.Errorf("await = %v, want a deadline and the last answer", err)
		}
		p.stop()
		select {
		case <-p.done:
		default:
			t.Error("stop returned before the program had ended")
		}
	})
}
