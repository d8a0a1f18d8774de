// Package lockfile tells which process runs a local cluster. The kernel is
// asked who holds a lock on a file, so the answer can be neither stale after a
// crash nor the pid of a stranger that was given the same number, as a recorded
// pid could be.
package lockfile

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"
)

// ErrHeld says that another process holds the lock.
var ErrHeld = errors.New("lock is held by another process")

// Lock is held until Release or the end of the process, however it ends.
type Lock struct{ file *os.File }

// Acquire takes the lock. The error is ErrHeld when another process has it.
// A process must not open the file in any other way meanwhile: closing any
// descriptor of it gives the lock up (POSIX record locks).
func Acquire(path string) (*Lock, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("opening lock: %w", err)
	}
	if err := unix.FcntlFlock(f.Fd(), unix.F_SETLK, whole()); err != nil {
		_ = f.Close()
		if errors.Is(err, unix.EAGAIN) || errors.Is(err, unix.EACCES) {
			return nil, ErrHeld
		}
		return nil, fmt.Errorf("locking %s: %w", path, err)
	}
	return &Lock{file: f}, nil
}

// Release gives the lock up.
func (l *Lock) Release() { _ = l.file.Close() }

// Holder returns the pid of the process that holds the lock, 0 when nobody does.
func Holder(path string) (int, error) {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("opening lock: %w", err)
	}
	defer f.Close()
	lk := whole()
	if err := unix.FcntlFlock(f.Fd(), unix.F_GETLK, lk); err != nil {
		return 0, fmt.Errorf("asking for the holder of %s: %w", path, err)
	}
	if lk.Type == unix.F_UNLCK {
		return 0, nil
	}
	return int(lk.Pid), nil
}

func whole() *unix.Flock_t {
	return &unix.Flock_t{Type: unix.F_WRLCK, Whence: io.SeekStart}
}
