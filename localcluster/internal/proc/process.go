package proc

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"time"
)

// Spec configures a process.
type Spec struct {
	Name string   // for messages
	Path string   // of the executable
	Args []string // without the program's name
	Env  []string // added to the environment of the supervisor
	Log  string   // file for output; a previous one is kept as Log.1
}

// Process is a running or ended part.
type Process struct {
	Spec

	cmd  *exec.Cmd
	done chan struct{}
	err  error // set before done is closed
}

// Start runs the part.
func Start(spec Spec) (*Process, error) {
	if _, err := os.Stat(spec.Log); err == nil {
		_ = os.Rename(spec.Log, spec.Log+".1")
	}
	log, err := os.OpenFile(spec.Log, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return nil, fmt.Errorf("opening log of %s: %w", spec.Name, err)
	}
	defer log.Close()

	cmd := exec.Command(spec.Path, spec.Args...)
	cmd.Stdout, cmd.Stderr = log, log
	cmd.Env = append(os.Environ(), spec.Env...)
	cmd.SysProcAttr = childAttributes()
	if err := onSpawner(cmd.Start); err != nil {
		return nil, fmt.Errorf("starting %s: %w", spec.Name, err)
	}
	p := &Process{Spec: spec, cmd: cmd, done: make(chan struct{})}
	go func() {
		p.err = cmd.Wait()
		close(p.done)
	}()
	return p, nil
}

// PID returns the pid of the process, also after its end.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// Done returns a channel that is closed when the process has ended.
func (p *Process) Done() <-chan struct{} { return p.done }

// Exit describes how the process ended. Call it after Done is closed.
func (p *Process) Exit() string {
	if p.err == nil {
		return "exit status 0"
	}
	return p.err.Error()
}

// Stop sends SIGTERM, kills the process if it has not ended after grace, and waits for its end. It reports whether killing was
// necessary.
func (p *Process) Stop(grace time.Duration) (killed bool) {
	p.signal(syscall.SIGTERM)
	select {
	case <-p.done:
		return false
	case <-time.After(grace):
	}
	p.Kill()
	return true
}

// Kill sends SIGKILL and waits for the end of the process.
func (p *Process) Kill() {
	p.signal(syscall.SIGKILL)
	<-p.done
}

// signal sends a signal to the process group of the part. The pid cannot be reused before Wait has returned.
func (p *Process) signal(sig syscall.Signal) {
	select {
	case <-p.done:
	default:
		_ = syscall.Kill(-p.PID(), sig)
	}
}

// Tail returns the last n lines of the part's log.
func (p *Process) Tail(n int) []string { return Tail(p.Log, n) }

// Tail returns the last n lines of a file, from at most its last 64 KiB, or nothing if it cannot be read.
func Tail(path string, n int) []string {
	f, err := os.Open(path)
	if err != nil {
		return nil
	}
	defer f.Close()
	const limit = 64 << 10
	info, err := f.Stat()
	if err != nil {
		return nil
	}
	offset := max(0, info.Size()-limit)
	buf := make([]byte, info.Size()-offset)
	m, _ := f.ReadAt(buf, offset)
	return lastLines(buf[:m], n, offset > 0)
}

// lastLines returns the last n lines of data. cut means that data starts within a line.
func lastLines(data []byte, n int, cut bool) []string {
	data = bytes.TrimRight(data, "\n")
	if len(data) == 0 {
		return nil
	}
	lines := bytes.Split(data, []byte("\n"))
	if cut && len(lines) > 1 {
		lines = lines[1:]
	}
	lines = lines[max(0, len(lines)-n):]
	out := make([]string, len(lines))
	for i, l := range lines {
		out[i] = string(l)
	}
	return out
}
