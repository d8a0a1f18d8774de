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
	if o.Devices.QuotaConsistency != relaxed {
		t.Errorf("consistency %s by default", o.Devices.QuotaConsistency)
	}
	if _, err := parse(t, []string{"--device-quota-consistency=eventual"}, nil); err == nil || !strings.Contains(err.Error(), "must be Relaxed or Strict") {
		t.Errorf("a consistency that there is not: %v", err)
	}
	if o, err = parse(t, []string{"--device-quota-consistency=Strict"}, nil); err != nil || o.Devices.QuotaConsistency != strict {
		t.Errorf("Strict: %v", err)
	}
	if ns := o.ownNamespace(); ns != "" {
		t.Errorf("namespace %s outside of a cluster", ns)
	}
	if _, err := addDeviceQuota(t.Context(), nil, o); err == nil || !strings.Contains(err.Error(), "--webhook-namespace") {
		t.Errorf("Strict without a namespace: %v", err)
	}
	o.Webhook.Namespace = "system"
	if ns := o.ownNamespace(); ns != "system" {
		t.Errorf("namespace %s", ns)
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
