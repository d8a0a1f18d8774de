package localproc

import (
	"context"
	"errors"
	"os/exec"
	"sync"
	"syscall"
	"time"

	"github.com/raygate/raygate/localcluster/internal/proc"
	"github.com/raygate/raygate/localcluster/internal/raysim"
)

// Marks of processes: the data folder of their supervisor, and the UID of their Pod.
const (
	markRun = "RAYGATE_LOCAL_RUN"
	markPod = "RAYGATE_LOCAL_POD"
)

// limits is a prefix of every command: no core files, and no file larger than 1 GiB (in blocks of 512 bytes).
var limits = []string{"/bin/sh", "-c", `ulimit -c 0; ulimit -f 2097152; exec "$@"`, "sh"}

// Runner starts processes.
type Runner struct {
	run   string
	slots chan struct{}

	mu     sync.Mutex
	closed bool
}

var errClosed = errors.New("the local cluster is stopping")

// New returns a runner for the supervisor with the data folder dir and at most limit processes at a time. It kills processes that
// an earlier supervisor of the folder has left, and returns their number.
func New(dir string, limit int) (*Runner, int) {
	r := &Runner{run: markRun + "=" + dir, slots: make(chan struct{}, limit)}
	return r, r.killAll(r.run)
}

// Acquire waits for a free slot for a process. release frees the slot.
func (r *Runner) Acquire(ctx context.Context) (release func(), err error) {
	select {
	case r.slots <- struct{}{}:
		return sync.OnceFunc(func() { <-r.slots }), nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Start starts a command for the Pod with this UID. The caller must wait for its end.
func (r *Runner) Start(cmd *exec.Cmd, pod string) error {
	if cmd.Err != nil {
		return cmd.Err
	}
	r.mu.Lock()
	defer r.mu.Unlock() // Close must see the process
	if r.closed {
		return errClosed
	}
	cmd.Args = append(append(append([]string{}, limits...), cmd.Path), cmd.Args[1:]...)
	cmd.Path = limits[0]
	cmd.Env = append(cmd.Env, r.run, markPod+"="+pod)
	return proc.StartStranger(cmd)
}

// Entrypoints returns the function for raysim.Options that runs entrypoints of Ray jobs, for the head Pod with this UID and the
// environment of env.
func (r *Runner) Entrypoints(pod string, env func() []string) func(context.Context, raysim.Launch) (int, error) {
	return func(ctx context.Context, l raysim.Launch) (int, error) {
		release, err := r.Acquire(ctx)
		if err != nil {
			return 0, err
		}
		defer release()
		shell := raysim.Shell{Env: env(), Start: func(_ context.Context, cmd *exec.Cmd) error { return r.Start(cmd, pod) }}
		return shell.Run(ctx, l)
	}
}

// KillPod kills remaining processes of the Pod with this UID, including those that have left their group.
func (r *Runner) KillPod(pod string) { r.killAll(r.run, markPod+"="+pod) }

// Close kills all processes. Start fails afterwards.
func (r *Runner) Close() {
	r.mu.Lock()
	r.closed = true
	r.mu.Unlock()
	r.killAll(r.run)
}

// killTime is how long processes may take to end after they were killed.
const killTime = 5 * time.Second

// killAll kills all processes with these marks, repeatedly while they start others, and returns their initial number.
func (r *Runner) killAll(marks ...string) int {
	first := -1
	for begin := time.Now(); time.Since(begin) < killTime; time.Sleep(2 * time.Millisecond) {
		found := marked(marks...)
		if first < 0 {
			first = len(found)
		}
		if len(found) == 0 {
			break
		}
		for _, pid := range found {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	}
	return first
}
