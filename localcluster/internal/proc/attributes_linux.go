package proc

import (
	"syscall"

	"golang.org/x/sys/unix"
)

func childAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

// forbidPrivileges: children of this thread gain nothing from set-user-id programs.
func forbidPrivileges() { _ = unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) }
