package podrun

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/raygate/raygate/localcluster/internal/proc"
)

var submits = regexp.MustCompile(`(^|[^\w-])ray\s+job\s+(submit|status|logs|stop|list)\b`)

// IsReal reports whether a container runs as a process on this machine. That holds for containers that call `ray job`.
func IsReal(c corev1.Container) bool {
	return submits.MatchString(strings.Join(slices.Concat(c.Command, c.Args), " "))
}

// Reasons of container states, as a kubelet has them.
const (
	reasonCompleted    = "Completed"
	reasonError        = "Error"
	reasonUnknown      = "ContainerStatusUnknown"
	reasonCreating     = "ContainerCreating"
	reasonConfigError  = "CreateContainerConfigError"
	reasonCrashLoop    = "CrashLoopBackOff"
	maxBackOff         = 5 * time.Minute
	configRetry        = 2 * time.Second
	waitForOutput      = time.Second
	exitCodeKilled     = 137
	exitCodeCannotExec = 128
)

// container runs as a process. The mutex of the runtime guards status; only supervise uses the other fields.
type container struct {
	r      *Runtime
	pod    *pod
	name   string
	spec   corev1.Container // with the effective restart policy
	status corev1.ContainerStatus

	env []string // of the last start, used by exec; guarded by the mutex of the runtime
}

// newContainer takes over the status that an earlier supervisor wrote. Containers that ran then count as killed.
func newContainer(r *Runtime, e *pod, p *corev1.Pod, spec corev1.Container) *container {
	c := &container{r: r, pod: e, name: spec.Name, spec: withPolicy(spec, p)}
	c.status = corev1.ContainerStatus{
		Name: spec.Name, Image: spec.Image, ImageID: "sim://" + spec.Image, Started: new(false),
		State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reasonCreating}},
	}
	for _, s := range p.Status.ContainerStatuses {
		if s.Name != spec.Name || s.ContainerID == "" {
			continue
		}
		c.status.RestartCount, c.status.ContainerID = s.RestartCount, s.ContainerID
		c.status.State, c.status.LastTerminationState = s.State, s.LastTerminationState
		if s.State.Running != nil {
			c.status.State = corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{
				ExitCode: exitCodeKilled, Reason: reasonUnknown, Message: "The local cluster was stopped while the container ran.",
				StartedAt: s.State.Running.StartedAt, FinishedAt: metav1.Now(), ContainerID: s.ContainerID,
			}}
		}
	}
	return c
}

// withPolicy returns the container with the Pod's restart policy unless it has its own.
func withPolicy(spec corev1.Container, p *corev1.Pod) corev1.Container {
	if spec.RestartPolicy == nil {
		spec.RestartPolicy = new(corev1.ContainerRestartPolicy(p.Spec.RestartPolicy))
	}
	return spec
}

// set changes the status and notifies the simulated node.
func (c *container) set(change func(*corev1.ContainerStatus)) {
	c.r.mu.Lock()
	change(&c.status)
	c.r.mu.Unlock()
	c.r.opts.Changed(c.pod.key)
}

// dir contains the container's logs, named by the number of the start, and its working directory.
func (c *container) dir() string { return filepath.Join(c.r.podDir(c.pod.uid), c.name) }

func (c *container) logPath(restart int32) string {
	return filepath.Join(c.dir(), fmt.Sprintf("%d.log", restart))
}

// supervise runs the container until it has ended for good or the Pod is stopped.
func (c *container) supervise() {
	delay := time.Duration(0)
	for {
		if done := c.status.State.Terminated; done != nil {
			if !c.restarts(done.ExitCode) {
				return
			}
			c.set(func(s *corev1.ContainerStatus) {
				s.LastTerminationState = s.State
				s.State = corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{
					Reason: reasonCrashLoop, Message: fmt.Sprintf("back-off %s restarting failed container", delay),
				}}
			})
			if !c.sleep(delay) {
				c.set(func(s *corev1.ContainerStatus) { s.State = s.LastTerminationState })
				return
			}
			delay = min(max(2*delay, c.r.opts.BackOff), maxBackOff)
		}
		if !c.once() {
			return
		}
	}
}

func (c *container) restarts(code int32) bool {
	select {
	case <-c.pod.stop:
		return false
	default:
	}
	switch *c.spec.RestartPolicy {
	case corev1.ContainerRestartPolicyAlways:
		return true
	case corev1.ContainerRestartPolicyOnFailure:
		return code != 0
	}
	return false
}

// sleep returns false if the Pod is stopped meanwhile.
func (c *container) sleep(d time.Duration) bool {
	select {
	case <-c.pod.stop:
		return false
	case <-time.After(d):
		return true
	}
}

// once starts the container and waits for its end. It returns false if the container was stopped before it started.
func (c *container) once() bool {
	ctx, cancel := c.pod.context()
	defer cancel()
	env, ok := c.prepare(ctx)
	if !ok {
		c.never()
		return false
	}
	release, err := c.r.opts.Containers.Acquire(ctx)
	if err != nil {
		c.never()
		return false
	}
	defer release()

	number := c.status.RestartCount
	if c.status.LastTerminationState.Terminated != nil {
		number++
	}
	log, cmd, err := c.command(env, number)
	if err == nil {
		defer log.close()
		err = c.r.opts.Containers.Start(cmd, string(c.pod.uid))
	}
	begin := metav1.Now()
	id := fmt.Sprintf("sim://%s/%s/%d", c.pod.uid, c.spec.Name, number)
	if err != nil {
		c.set(func(s *corev1.ContainerStatus) {
			s.RestartCount, s.ContainerID, s.Ready, s.Started = number, id, false, new(false)
			s.State = corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{
				ExitCode: exitCodeCannotExec, Reason: "StartError", Message: err.Error(), StartedAt: begin, FinishedAt: begin, ContainerID: id,
			}}
		})
		return true
	}
	c.set(func(s *corev1.ContainerStatus) {
		c.env = env
		s.RestartCount, s.ContainerID, s.Ready, s.Started = number, id, true, new(true)
		s.State = corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: begin}}
	})
	code := c.wait(cmd)
	log.close() // before the new status is visible
	reason := reasonCompleted
	if code != 0 {
		reason = reasonError
	}
	c.set(func(s *corev1.ContainerStatus) {
		s.Ready, s.Started = false, new(false)
		s.State = corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{
			ExitCode: code, Reason: reason, StartedAt: begin, FinishedAt: metav1.Now(), ContainerID: id,
		}}
	})
	return true
}

// never sets the status of a container that was stopped before it started.
func (c *container) never() {
	c.set(func(s *corev1.ContainerStatus) {
		now := metav1.Now()
		s.State = corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{
			ExitCode: exitCodeKilled, Reason: reasonUnknown, Message: "The container was stopped before it started.", StartedAt: now, FinishedAt: now,
		}}
	})
}

// command prepares the process and its log.
func (c *container) command(env []string, number int32) (*criLog, *exec.Cmd, error) {
	work := filepath.Join(c.dir(), "work")
	if err := os.MkdirAll(filepath.Join(work, "tmp"), 0o700); err != nil {
		return nil, nil, fmt.Errorf("making working directory: %w", err)
	}
	// A login shell reads this profile after the machine's own files, which may set another PATH.
	profile := "export PATH='" + strings.ReplaceAll(lookup(env, "PATH"), "'", `'\''`) + "'\n"
	if err := os.WriteFile(filepath.Join(work, ".bash_profile"), []byte(profile), 0o600); err != nil {
		return nil, nil, fmt.Errorf("writing profile: %w", err)
	}
	// Clients can request only the current and the previous log.
	if err := os.Remove(c.logPath(number - 2)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		c.r.opts.Logf("simulated node: removing an old log: %v", err)
	}
	words := expand(slices.Concat(c.spec.Command, c.spec.Args), env)
	cmd := exec.Command(program(words[0], lookup(env, "PATH")), words[1:]...)
	cmd.Dir, cmd.Env = work, env
	if dir := c.spec.WorkingDir; dir != "" {
		c.r.opts.Logf("container %s of Pod %s runs in its own folder, not in %s", c.spec.Name, c.pod.key, dir)
	}
	log, err := newCRILog(c.logPath(number))
	if err != nil {
		return nil, nil, err
	}
	cmd.Stdout, cmd.Stderr = log.stream("stdout"), log.stream("stderr")
	cmd.WaitDelay = waitForOutput
	return log, cmd, nil
}

// wait returns the exit code when the container ends. After the Pod is stopped, it kills the container at the end of the grace
// period.
func (c *container) wait(cmd *exec.Cmd) int32 {
	ended := make(chan struct{})
	go func() {
		_ = cmd.Wait() // the result is in ProcessState
		close(ended)
	}()
	select {
	case <-ended:
	case <-c.pod.stop:
		proc.SignalGroup(cmd, syscall.SIGTERM)
		select {
		case <-ended:
		case <-time.After(c.pod.grace):
			proc.SignalGroup(cmd, syscall.SIGKILL)
			<-ended
		}
	}
	proc.SignalGroup(cmd, syscall.SIGKILL) // kills background processes of the container
	if ws, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
		return 128 + int32(ws.Signal())
	}
	return int32(cmd.ProcessState.ExitCode())
}
