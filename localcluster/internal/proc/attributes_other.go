//go:build !linux

package proc

import "syscall"

// childAttributes: only Linux can tie a child to its parent. Elsewhere the parts
// outlive a supervisor that is killed with SIGKILL.
func childAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true}
}

// forbidPrivileges: only Linux can forbid a child more rights than it starts with.
func forbidPrivileges() {}
