package raysim

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"syscall"
	"time"
)

// Shell runs entrypoints as processes of this machine, by /bin/sh and in their own process group. The zero value is ready for use.
type Shell struct {
	// Env is the environment, as KEY=value, which the job's environment overrides; nil means that of this process.
	Env []string
	// Grace is how long an entrypoint that is stopped has to end; 0 means 3 s.
	Grace time.Duration
	// Start starts the command, which it may wrap; nil means exec.Cmd.Start. It must keep the process group.
	Start func(context.Context, *exec.Cmd) error
}

// Run is for Options.Run.
func (s Shell) Run(ctx context.Context, l Launch) (int, error) {
	env := s.Env
	if env == nil {
		env = os.Environ()
	}
	cmd := exec.Command("/bin/sh", "-c", l.Entrypoint)
	cmd.Dir, cmd.Stdout, cmd.Stderr = l.Dir, l.Output, l.Output
	cmd.Env = append(append([]string{}, env...), l.Env...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	start := s.Start
	if start == nil {
		start = func(_ context.Context, cmd *exec.Cmd) error { return cmd.Start() }
	}
	if err := start(ctx, cmd); err != nil {
		return 0, err
	}
	l.Started()
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	group := -cmd.Process.Pid
	select {
	case err := <-ended:
		_ = syscall.Kill(group, syscall.SIGKILL) // its processes in the background
		return exitCode(cmd, err)
	case <-ctx.Done():
	}
	_ = syscall.Kill(group, s.stopSignal(l))
	grace := s.Grace
	if grace == 0 {
		grace = 3 * time.Second
	}
	select {
	case err := <-ended:
		_ = syscall.Kill(group, syscall.SIGKILL)
		return exitCode(cmd, err)
	case <-time.After(grace):
	}
	_ = syscall.Kill(group, syscall.SIGKILL)
	return exitCode(cmd, <-ended)
}

// stopSignal is SIGTERM unless the job requests SIGINT.
func (s Shell) stopSignal(l Launch) syscall.Signal {
	sig := syscall.SIGTERM
	for _, v := range l.Env {
		if v == "RAY_JOB_STOP_SIGNAL=SIGINT" {
			sig = syscall.SIGINT
		}
	}
	return sig
}

// exitCode is a shell's exit code for a process that a signal has ended: 128 and the signal.
func exitCode(cmd *exec.Cmd, err error) (int, error) {
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		return 0, err
	}
	if ws, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
		return 128 + int(ws.Signal()), nil
	}
	return cmd.ProcessState.ExitCode(), nil
}
