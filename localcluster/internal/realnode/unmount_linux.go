package realnode

import "golang.org/x/sys/unix"

// unmount also works while somebody uses what is mounted.
func unmount(path string) error { return unix.Unmount(path, unix.MNT_DETACH) }
