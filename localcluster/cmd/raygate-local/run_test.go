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

// The commands that a run with an identity provider prints are for the address of gRPC, which the command line speaks.
func TestGuideOfALogin(t *testing.T) {
	printed := state{HTTP: "http://127.0.0.1:1", GRPC: "127.0.0.1:2", Issuer: "https://127.0.0.1:3"}.guide()
	if strings.Count(printed, "--server 127.0.0.1:2") != 2 || strings.Contains(printed, "--server http://") {
		t.Errorf("it prints:%s", printed)
	}
}
