package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestDeviceRegistryOptions: off unless asked for, and at fault at the start rather than later.
func TestDeviceRegistryOptions(t *testing.T) {
	o, err := parse(t, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	if o.Devices.live != nil || o.Pod.Devices != nil {
		t.Error("device admission is on by default")
	}
	if o, err = parse(t, []string{"--device-registry=shipped"}, nil); err != nil {
		t.Fatal(err)
	}
	if o.Pod.Devices == nil || len(o.Pod.Devices.Program().Vendors()) < 20 || o.Pod.NoExplicitZeroGPU || !o.Devices.Quota {
		t.Errorf("options %+v", o.Devices)
	}
	file := filepath.Join(t.TempDir(), "registry.yaml")
	if _, err := parse(t, []string{"--device-registry=" + file}, nil); err == nil || !strings.Contains(err.Error(), "--device-registry") {
		t.Errorf("a file that is not there: %v", err)
	}
	const text = "apiVersion: devices.ray.io/v1alpha1\nkind: DeviceRegistry\nvendors:\n- {name: a, resources: {count: a.io/x}}\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if o, err = parse(t, []string{"--device-registry=" + file, "--device-explicit-zero-gpu=false"}, nil); err != nil {
		t.Fatal(err)
	}
	if o.Devices.file == nil || !o.Pod.NoExplicitZeroGPU || strings.Join(o.Pod.Devices.Program().Vendors(), " ") != "a" {
		t.Errorf("options %+v", o.Devices)
	}
}
