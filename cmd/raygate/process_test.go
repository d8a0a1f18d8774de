package main

import (
	"errors"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/raygate/raygate/internal/testing/programs"
	"github.com/raygate/raygate/test/controlplane"
)

// process is the built program.
type process struct {
	cmd  *exec.Cmd
	done chan error
}

// startRaygate runs the built program, with both outputs to one place.
func startRaygate(t *testing.T, out io.Writer, args ...string) *process {
	t.Helper()
	p := &process{cmd: exec.Command(programs.Binary("raygate"), args...), done: make(chan error, 1)}
	p.cmd.Stdout, p.cmd.Stderr, p.cmd.Env, p.cmd.Stdin = out, out, os.Environ(), strings.NewReader("")
	if err := p.cmd.Start(); err != nil {
		t.Fatalf("starting raygate (run `make build` first): %v", err)
	}
	go func() { p.done <- p.cmd.Wait() }()
	t.Cleanup(func() { _ = p.cmd.Process.Kill() })
	return p
}

// interrupt presses Ctrl-C and returns the exit code.
func (p *process) interrupt(t *testing.T) int {
	t.Helper()
	if err := p.cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	return p.wait(t)
}

// wait returns the exit code.
func (p *process) wait(t *testing.T) int {
	t.Helper()
	select {
	case err := <-p.done:
		if exit, ok := errors.AsType[*exec.ExitError](err); ok {
			return exit.ExitCode()
		} else if err != nil {
			t.Fatal(err)
		}
		return 0
	case <-time.After(controlplane.WaitTimeout):
		t.Fatal("raygate does not end")
	}
	return 0
}
