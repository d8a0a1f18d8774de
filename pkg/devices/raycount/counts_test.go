package raycount

import "testing"

func TestIsGPU(t *testing.T) {
	for name, want := range map[string]bool{
		"nvidia.com/gpu": true, "amd.com/gpu": true, "gpu": true, "nvidia.com/mig-1g.5gb": true,
		"cpu": false, "GPU": false, "nvidia.com/gpus": false, "nvidia.com/mig-1g.5gb.shared": false, "google.com/tpu": false, "": false,
	} {
		if got := IsGPU(name); got != want {
			t.Errorf("IsGPU(%q): want %t, got %t", name, want, got)
		}
	}
}
