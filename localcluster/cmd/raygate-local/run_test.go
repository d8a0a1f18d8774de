package main

import (
	"strings"
	"testing"
)

func TestNegativeNodesAreRefusedBeforeAnythingStarts(t *testing.T) {
	dir := t.TempDir()
	for name, check := range map[string]func() error{
		"run":           func() error { return run(t.Context(), runOptions{dir: dir, nodes: -1}) },
		"up":            func() error { return up(t.Context(), runOptions{dir: dir, nodes: -1}) },
		"control-plane": func() error { return controlPlaneOptions{dir: dir, nodes: -1}.validate() },
	} {
		t.Run(name, func(t *testing.T) {
			if err := check(); err == nil || !strings.Contains(err.Error(), "--nodes") {
				t.Errorf("error %v, want one about --nodes", err)
			}
		})
	}
	if err := checkNodes(0); err != nil {
		t.Errorf("no nodes at all: %v, want no error", err)
	}
}
