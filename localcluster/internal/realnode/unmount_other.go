//go:build !linux

package realnode

func unmount(string) error { return nil }
