package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestDeviceRegistry: off unless asked for, and at fault at the start rather than later.
func TestDeviceRegistry(t *testing.T) {
	file := filepath.Join(t.TempDir(), "registry.yaml")
	if err := os.WriteFile(file, []byte("apiVersion: devices.ray.io/v1alpha1\nkind: DeviceRegistry\nvendors:\n- {name: a, resources: {count: a.io/x}}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for source, want := range map[string]int{"": 0, "shipped": 20, file: 1} {
		o, fs := parse(t, "--device-registry="+source)
		if err := o.Complete(fs); err != nil && strings.Contains(err.Error(), "device") {
			t.Fatal(err)
		}
		r := o.devices.live
		if (r == nil) != (want == 0) {
			t.Errorf("%q: registry %v", source, r)
		}
		if r != nil && len(r.Program().Vendors()) < want {
			t.Errorf("%q: families %v", source, r.Program().Vendors())
		}
		o.devices.follow(t.Context())
	}
	o, fs := parse(t, "--device-registry="+file+"x")
	if err := o.Complete(fs); err == nil || !strings.Contains(err.Error(), "--device-registry") {
		t.Errorf("a file that is not there: %v", err)
	}
}
