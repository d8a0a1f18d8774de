package podrun

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	internalapi "k8s.io/cri-api/pkg/apis"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
	"k8s.io/cri-client/pkg/logs"
)

// Logs writes the log of a container as a kubelet does. For a container that exists only in the status, it writes a note.
func (r *Runtime) Logs(ctx context.Context, p *corev1.Pod, o *corev1.PodLogOptions, stdout, stderr io.Writer) error {
	path, err := r.logOf(p, o.Container, o.Previous)
	if errors.Is(err, ErrNotReal) {
		_, err := fmt.Fprintf(stdout, "%v.%s\n", err, hint(p))
		return err
	}
	if err != nil {
		return err
	}
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("container %s: its log is gone", o.Container)
	}
	running := state{running: func() bool { return !o.Previous && r.running(p, o.Container) }}
	return logs.ReadLogs(ctx, path, o.Container, options(o, time.Now()), running, stdout, stderr)
}

func options(o *corev1.PodLogOptions, now time.Time) *logs.LogOptions {
	out := &logs.LogOptions{TailLines: o.TailLines, LimitBytes: o.LimitBytes, Follow: o.Follow, Timestamp: o.Timestamps}
	switch {
	case o.SinceSeconds != nil:
		out.Since = now.Add(-time.Duration(*o.SinceSeconds) * time.Second)
	case o.SinceTime != nil:
		out.Since = o.SinceTime.Time
	}
	return out
}

func hint(p *corev1.Pod) string {
	if !IsHead(p) {
		return ""
	}
	return " The dashboard of the simulated Ray head has the logs of its jobs."
}

// logOf returns the path of a container's log.
func (r *Runtime) logOf(p *corev1.Pod, name string, previous bool) (string, error) {
	if !slices.ContainsFunc(p.Spec.Containers, func(c corev1.Container) bool { return c.Name == name && IsReal(c) }) {
		return "", fmt.Errorf("container %s: %w", name, ErrNotReal)
	}
	status := r.statusOf(p, name)
	if status.ContainerID == "" {
		reason := reasonCreating
		if status.State.Waiting != nil {
			reason = status.State.Waiting.Reason
		}
		return "", fmt.Errorf("container %q in pod %q is waiting to start: %s", name, p.Name, reason)
	}
	number := status.RestartCount
	// While a container waits for its next start, the last log is also the previous one.
	waits := status.State.Waiting != nil && status.LastTerminationState.Terminated != nil
	if previous && !waits {
		number--
	}
	if number < 0 {
		return "", fmt.Errorf("previous terminated container %q in pod %q not found", name, p.Name)
	}
	c := container{r: r, pod: &pod{uid: p.UID}, name: name}
	return c.logPath(number), nil
}

// statusOf returns the current status of a container, or the one from an earlier supervisor; the zero value if there is none.
func (r *Runtime) statusOf(p *corev1.Pod, name string) corev1.ContainerStatus {
	r.mu.Lock()
	defer r.mu.Unlock()
	if e := r.pods[p.UID]; e != nil && e.containers[name] != nil {
		return *e.containers[name].status.DeepCopy()
	}
	for _, s := range p.Status.ContainerStatuses {
		if s.Name == name {
			return s
		}
	}
	return corev1.ContainerStatus{}
}

func (r *Runtime) running(p *corev1.Pod, name string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	e := r.pods[p.UID]
	return e != nil && e.containers[name] != nil && e.containers[name].status.State.Running != nil
}

// state implements the methods of a container runtime that the log reader calls.
type state struct {
	internalapi.RuntimeService
	running func() bool
}

func (s state) ContainerStatus(context.Context, string, bool) (*runtimeapi.ContainerStatusResponse, error) {
	st := runtimeapi.ContainerState_CONTAINER_EXITED
	if s.running() {
		st = runtimeapi.ContainerState_CONTAINER_RUNNING
	}
	return &runtimeapi.ContainerStatusResponse{Status: &runtimeapi.ContainerStatus{State: st}}, nil
}
