package main

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

// TestResetForgetsNodes: the images and logs of real nodes go with all else.
func TestResetForgetsNodes(t *testing.T) {
	if _, err := os.Stat("/sys/class/net/raygate0"); err == nil {
		t.Skip("real nodes run on this machine, and only their own folder may be cleaned")
	}
	dir := filepath.Join(t.TempDir(), "local")
	if err := os.MkdirAll(filepath.Join(dir, "nodes", "raygate-real-0", "containerd"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := reset(t.Context(), dir); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("reset left %s: %v", dir, err)
	}
}
