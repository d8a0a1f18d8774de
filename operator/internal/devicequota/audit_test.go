package devicequota

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"

	"github.com/raygate/raygate/pkg/devices/shipped"
)

// TestAuditor: what is wrong is said once, and again when it has been right in between.
func TestAuditor(t *testing.T) {
	s := newState(t, string(shipped.HAMi))
	recorder := events.NewFakeRecorder(10)
	a := &Auditor{Engine: s.engine, Recorder: recorder}
	look := func(want ...string) {
		t.Helper()
		a.look()
		var got []string
		for len(recorder.Events) > 0 {
			got = append(got, <-recorder.Events)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("events (-want +got):\n%s", diff)
		}
	}
	quota := func(hard string) {
		s.engine.SetQuota(&corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "q", UID: "q"}, Spec: corev1.ResourceQuotaSpec{Hard: resources(hard)}})
	}
	const (
		exceeded = "Warning DeviceQuotaExceeded nvidia.com/gpu: in use 2, hard 1"
		memory   = "; nvidia.com/gpumem: in use 200 MiB, hard 1 MiB"
		rounded  = "Warning DeviceQuotaRounded limits.nvidia.com/gpumem is 1500m, which is rounded down to whole units"
	)
	quota("limits.nvidia.com/gpu=1 limits.nvidia.com/gpumem=1500m limits.cpu=1")
	look() // nothing is known yet
	s.engine.synced = func() bool { return true }
	look(rounded)
	s.engine.SetPod(pod("a", "nvidia.com/gpu=2 nvidia.com/gpumem=100"))
	look(exceeded + memory)
	look()
	quota("limits.nvidia.com/gpu=2 limits.nvidia.com/gpumem=200")
	look()
	quota("limits.nvidia.com/gpu=1")
	look(exceeded)
	s.engine.DeletePod(pod("a", "nvidia.com/gpu=2"))
	look()
}
