package podrun

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"github.com/creack/pty"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/cri-streaming/pkg/streaming/remotecommand"
	utilexec "k8s.io/utils/exec"

	"github.com/raygate/raygate/localcluster/internal/proc"
)

// ErrNotReal reports that a container exists only in the status.
var ErrNotReal = errors.New("nothing runs in this simulated container")

// ExecOptions is a command to run in a container.
type ExecOptions struct {
	Command  []string
	Stdin    io.Reader // nil: none
	Stdout   io.WriteCloser
	Stderr   io.WriteCloser
	Terminal bool
	Resize   <-chan remotecommand.TerminalSize
}

// Exec runs a command next to a container that runs as a process, or next to the entrypoints of a head. It returns a
// utilexec.ExitError for an exit code other than 0.
func (r *Runtime) Exec(ctx context.Context, p *corev1.Pod, name string, o ExecOptions) error {
	if len(o.Command) == 0 {
		return errors.New("there is no command")
	}
	e, env, dir, err := r.where(ctx, p, name)
	if err != nil {
		return err
	}
	r.mu.Lock()
	if e.stopping {
		r.mu.Unlock()
		return errGone
	}
	e.work.Add(1)
	r.mu.Unlock()
	defer e.work.Done()

	cmd := exec.Command(program(o.Command[0], lookup(env, "PATH")), o.Command[1:]...)
	cmd.Env, cmd.Dir, cmd.WaitDelay = env, dir, waitForOutput
	start := r.streams
	if o.Terminal {
		start = r.terminal
	}
	finish, err := start(cmd, string(e.uid), o)
	if err != nil {
		return fmt.Errorf("starting %s: %w", o.Command[0], err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = cmd.Wait() // the result is in ProcessState
		finish()
	}()
	select {
	case <-ended:
	case <-ctx.Done(): // the client has disconnected
		finishCommand(cmd, ended)
	case <-e.stop:
		finishCommand(cmd, ended)
	}
	proc.SignalGroup(cmd, syscall.SIGKILL)
	return exitError(cmd)
}

// finishCommand ends a command that is no longer needed.
func finishCommand(cmd *exec.Cmd, ended <-chan struct{}) {
	proc.SignalGroup(cmd, syscall.SIGTERM)
	select {
	case <-ended:
	case <-time.After(time.Second):
		proc.SignalGroup(cmd, syscall.SIGKILL)
		<-ended
	}
}

// where returns the environment and folder of a container.
func (r *Runtime) where(ctx context.Context, p *corev1.Pod, name string) (*pod, []string, string, error) {
	r.mu.Lock()
	e := r.pods[p.UID]
	if e != nil {
		if c := e.containers[name]; c != nil {
			defer r.mu.Unlock()
			if c.status.State.Running == nil {
				return nil, nil, "", fmt.Errorf("container %s does not run", name)
			}
			return e, c.env, filepath.Join(c.dir(), "work"), nil
		}
	}
	r.mu.Unlock()
	if !IsHead(p) || len(p.Spec.Containers) == 0 || p.Spec.Containers[0].Name != name || p.Status.Phase != corev1.PodRunning {
		return nil, nil, "", fmt.Errorf("container %s: %w", name, ErrNotReal)
	}
	h, err := r.headOf(ctx, p)
	if err != nil {
		return nil, nil, "", err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if e = r.pods[p.UID]; e == nil {
		return nil, nil, "", errGone
	}
	return e, h.env, h.dir, nil
}

// streams starts a command with plain streams.
func (r *Runtime) streams(cmd *exec.Cmd, uid string, o ExecOptions) (finish func(), err error) {
	if o.Stdout != nil {
		cmd.Stdout = o.Stdout
	}
	if o.Stderr != nil {
		cmd.Stderr = o.Stderr
	}
	if o.Stdin != nil {
		// Do not use cmd.Stdin: Wait would then wait for the end of the input.
		in, err := cmd.StdinPipe()
		if err != nil {
			return nil, err
		}
		go func() {
			_, _ = io.Copy(in, o.Stdin)
			_ = in.Close()
		}()
	}
	return func() {}, r.opts.Containers.Start(cmd, uid)
}

// terminal starts a command on a pseudo-terminal.
func (r *Runtime) terminal(cmd *exec.Cmd, uid string, o ExecOptions) (finish func(), err error) {
	master, slave, err := pty.Open()
	if err != nil {
		return nil, fmt.Errorf("opening a terminal: %w", err)
	}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = slave, slave, slave
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	cmd.Env = append(append([]string{}, cmd.Env...), "TERM=xterm")
	err = r.opts.Containers.Start(cmd, uid)
	_ = slave.Close()
	if err != nil {
		_ = master.Close()
		return nil, err
	}
	go func() {
		for size := range o.Resize {
			_ = pty.Setsize(master, &pty.Winsize{Rows: size.Height, Cols: size.Width})
		}
	}()
	if o.Stdin != nil {
		go func() { _, _ = io.Copy(master, o.Stdin) }()
	}
	copied := make(chan struct{})
	go func() {
		defer close(copied)
		_, _ = io.Copy(o.Stdout, master) // returns an error when the last process has ended
	}()
	return func() {
		select {
		case <-copied:
		case <-time.After(waitForOutput):
		}
		_ = master.Close()
	}, nil
}

func exitError(cmd *exec.Cmd) error {
	code := cmd.ProcessState.ExitCode()
	if ws, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
		code = 128 + int(ws.Signal())
	}
	if code == 0 {
		return nil
	}
	return utilexec.CodeExitError{Err: fmt.Errorf("command terminated with exit code %d", code), Code: code}
}
