package realray

import (
	"path/filepath"
	"strings"
	"testing"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
)

// One GPU of Ray is one visible device. Two halves of it run at a time, two of it never. Ray compares the number with the devices that it finds, so
// that this says nothing where there is no GPU.
func TestOneGPUIsOneDevice(t *testing.T) {
	if cards, err := filepath.Glob("/dev/nvidia[0-9]*"); err != nil || len(cards) == 0 {
		t.Skip("this machine has no NVIDIA GPU")
	}
	t.Parallel()
	w := newWorld(t)
	rc := w.cluster("demo", 0, func(rc *rayv1.RayCluster) { rc.Spec.HeadGroupSpec.RayStartParams["num-gpus"] = "1" })
	w.ready(rc)
	w.gateway("POST", "/clusters/demo/submissions", map[string]any{"submissionId": "devices", "entrypoint": "python " + scripts + "/devices.py"})
	w.submissionEnds("demo", "devices", "SUCCEEDED")
	log := string(w.gateway("GET", "/clusters/demo/submissions/devices/logs", nil).body)
	for _, text := range []string{"halves 0,0\n", "two pending\n"} {
		if !strings.Contains(log, text) {
			t.Errorf("the log is %q, want %q", log, text)
		}
	}
}
