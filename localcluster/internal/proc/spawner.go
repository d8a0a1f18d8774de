package proc

import (
	"os/exec"
	"runtime"
	"sync"
	"syscall"
)

// thread runs functions on one operating system thread that lives as long as the
// supervisor. Linux ties the death signal of a child to the thread that started
// it, and the Go runtime may end other threads early.
type thread struct {
	once  sync.Once
	work  chan func()
	setUp func() // runs first; what it does to the thread stays; may be nil
}

func (t *thread) do(f func() error) error {
	t.once.Do(func() {
		t.work = make(chan func())
		go func() {
			runtime.LockOSThread()
			if t.setUp != nil {
				t.setUp()
			}
			for work := range t.work {
				work()
			}
		}()
	})
	result := make(chan error)
	t.work <- func() { result <- f() }
	return <-result
}

var (
	parts     thread
	strangers = thread{setUp: forbidPrivileges}
)

func onSpawner(f func() error) error { return parts.do(f) }

// StartStranger starts a command that is not ours: it dies with the supervisor
// and cannot get more rights than it, both as far as the system has this. The
// command gets a process group of its own unless it asks for a session.
func StartStranger(cmd *exec.Cmd) error {
	attr := childAttributes()
	if own := cmd.SysProcAttr; own != nil && own.Setsid {
		attr.Setpgid, attr.Setsid, attr.Setctty, attr.Ctty = false, true, own.Setctty, own.Ctty
	}
	cmd.SysProcAttr = attr
	return strangers.do(cmd.Start)
}

// SignalGroup signals the process group of a command that was started here and
// has not been waited for.
func SignalGroup(cmd *exec.Cmd, sig syscall.Signal) { _ = syscall.Kill(-cmd.Process.Pid, sig) }
