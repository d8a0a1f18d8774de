// Package lockfile finds the process that runs a local cluster. It asks the kernel for the holder of a file lock. Unlike a
// recorded pid, the answer is never stale after a crash and never names another process that reuses the pid.
package lockfile

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"
)

// ErrHeld reports that another process holds the lock.
var ErrHeld = errors.New("lock is held by another process")

// Lock is held until Release or the end of the process, including a crash.
type Lock struct{ file *os.File }

// Acquire takes the lock. It returns ErrHeld if another process has it. While the lock is held, the process must not open the file
// in another way: closing any descriptor of the file releases a POSIX record lock.
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

// Release releases the lock.
func (l *Lock) Release() { _ = l.file.Close() }

// Holder returns the pid of the process that holds the lock, or 0 if no process does.
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
