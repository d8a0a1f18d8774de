package devicequota

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/raygate/raygate/pkg/devices/shipped"
)

// TestForecast: what a cluster takes at least is compared with each hard limit that is about it, whatever others take.
func TestForecast(t *testing.T) {
	s := newState(t, string(shipped.HAMi))
	s.quota("a", "limits.nvidia.com/gpu=3 limits.nvidia.com/gpumem=8192 limits.cpu=1 requests.nvidia.com/gpu=0")
	s.engine.SetQuota(&corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "high"}, Spec: corev1.ResourceQuotaSpec{
		Hard: resources("limits.nvidia.com/gpu=0"), Scopes: []corev1.ResourceQuotaScope{corev1.ResourceQuotaScopePriorityClass},
	}})
	share := func(group string, pods, gpus, mib int64, priority string) Share {
		totals := map[string]int64{"nvidia.com/gpu": gpus}
		if mib > 0 {
			totals["nvidia.com/gpumem"] = mib
		}
		return Share{Group: group, Pods: pods, Spec: &corev1.PodSpec{PriorityClassName: priority}, Totals: totals}
	}
	const refused = ": Pods that do not fit will be refused"
	for name, tc := range map[string]struct {
		namespace string
		shares    []Share
		want      []string
	}{
		"nothing":           {namespace: "ns"},
		"it fits":           {namespace: "ns", shares: []Share{share("headgroup", 1, 1, 0, ""), share("small", 2, 1, 4096, "")}},
		"another namespace": {namespace: "other", shares: []Share{share("big", 9, 9, 9999, "")}},
		"no Pods, no need":  {namespace: "ns", shares: []Share{share("big", 0, 9, 9999, "")}},
		"together": {namespace: "ns", shares: []Share{share("headgroup", 1, 1, 0, ""), share("small", 3, 1, 4096, ""), {Group: "cpu", Pods: 5, Spec: &corev1.PodSpec{}}}, want: []string{
			`quota "a": nvidia.com/gpu: at least 4 for headgroup (1 × 1), small (3 × 1), but hard is 3` + refused,
			`quota "a": nvidia.com/gpumem: at least 12288 MiB for small (3 × 4096), but hard is 8192 MiB` + refused,
		}},
		"a scope": {namespace: "ns", shares: []Share{share("headgroup", 1, 1, 0, ""), share("urgent", 1, 1, 0, "high")}, want: []string{
			`quota "high": nvidia.com/gpu: at least 1 for urgent (1 × 1), but hard is 0` + refused,
		}},
		"more than there are numbers": {namespace: "ns", shares: []Share{share("a", math.MaxInt64, 2, 0, ""), share("b", 2, math.MaxInt64, 0, "")}, want: []string{
			`quota "a": nvidia.com/gpu: at least 1152921504606846976 for a (9223372036854775807 × 2), b (2 × 9223372036854775807), but hard is 3` + refused,
		}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, s.engine.Forecast(s.live.Program(), tc.namespace, tc.shares)); diff != "" {
				t.Errorf("lines (-want +got):\n%s", diff)
			}
		})
	}
}
