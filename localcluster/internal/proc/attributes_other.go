//go:build !linux

package proc

import "syscall"

// childAttributes cannot tie a child to its parent here; only Linux can. The parts outlive a supervisor that is killed with
// SIGKILL.
func childAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true}
}

// forbidPrivileges does nothing: only Linux supports it.
func forbidPrivileges() {}
