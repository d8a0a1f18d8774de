package overlay_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/raygate/raygate/internal/testing/raytest"
	"github.com/raygate/raygate/operator/internal/overlay"
)

type pods = overlay.Overlay

func newPods(c *clocktesting.FakeClock) *pods { return overlay.New(c) }

func TestList(t *testing.T) {
	rc := raytest.RayCluster("ns/demo", raytest.Workers("cpu", 2))
	a, b := raytest.WorkerPod(rc, "cpu", "a"), raytest.WorkerPod(rc, "cpu", "b")
	leaving := raytest.WorkerPod(rc, "cpu", "a", raytest.Terminating())
	cases := map[string]struct {
		do     func(*pods, *clocktesting.FakeClock)
		cached []*corev1.Pod
		want   []string
	}{
		"nothing written":    {cached: []*corev1.Pod{a}, want: []string{"a"}},
		"created, not shown": {do: func(x *pods, _ *clocktesting.FakeClock) { x.Written(rc.UID, b) }, cached: []*corev1.Pod{a}, want: []string{"a", "b"}},
		"created and shown":  {do: func(x *pods, _ *clocktesting.FakeClock) { x.Written(rc.UID, a) }, cached: []*corev1.Pod{a}, want: []string{"a"}},
		"another cluster's":  {do: func(x *pods, _ *clocktesting.FakeClock) { x.Written("other", b) }, cached: []*corev1.Pod{a}, want: []string{"a"}},
		"deleted, not shown": {do: func(x *pods, _ *clocktesting.FakeClock) { x.Deleted(rc.UID, a.UID) }, cached: []*corev1.Pod{a}, want: []string{"a terminating"}},
		"deleted and shown":  {do: func(x *pods, _ *clocktesting.FakeClock) { x.Deleted(rc.UID, a.UID) }, cached: []*corev1.Pod{leaving}, want: []string{"a terminating"}},
		"deleted and gone":   {do: func(x *pods, _ *clocktesting.FakeClock) { x.Deleted(rc.UID, a.UID) }},
		"cluster forgotten":  {do: func(x *pods, _ *clocktesting.FakeClock) { x.Written(rc.UID, b); x.Forget(rc.UID) }},
		"created, seen to go": {do: func(x *pods, _ *clocktesting.FakeClock) {
			x.Written(rc.UID, b)
			x.Gone(rc.UID, b.UID)
		}},
		"created, then deleted before it was shown": {do: func(x *pods, _ *clocktesting.FakeClock) {
			x.Written(rc.UID, b)
			x.Deleted(rc.UID, b.UID)
		}},
		"a watch that never shows it": {do: func(x *pods, c *clocktesting.FakeClock) {
			x.Written(rc.UID, b)
			x.Deleted(rc.UID, a.UID)
			c.Step(overlay.Timeout)
		}, cached: []*corev1.Pod{a}, want: []string{"a"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			c := clocktesting.NewFakeClock(time.Unix(0, 0))
			x := newPods(c)
			if tc.do != nil {
				tc.do(x, c)
			}
			x.List(rc.UID, tc.cached) // looking once must not make it forget
			var got []string
			for _, p := range x.List(rc.UID, tc.cached) {
				text := p.Name
				if p.DeletionTimestamp != nil {
					text += " terminating"
				}
				got = append(got, text)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("Pods (-want +got):\n%s", diff)
			}
		})
	}
	if a.DeletionTimestamp != nil {
		t.Error("the cached Pod was changed")
	}
}

func TestPendingEndsWhenTheCacheShowsAllWrites(t *testing.T) {
	rc := raytest.RayCluster("ns/demo", raytest.Workers("cpu", 2))
	a, b := raytest.WorkerPod(rc, "cpu", "a"), raytest.WorkerPod(rc, "cpu", "b")
	x := newPods(clocktesting.NewFakeClock(time.Unix(0, 0)))
	if x.Pending(rc.UID) {
		t.Error("pending before the first write")
	}
	x.Written(rc.UID, a)
	x.Deleted(rc.UID, b.UID)
	if x.List(rc.UID, []*corev1.Pod{b}); !x.Pending(rc.UID) {
		t.Error("not pending while the cache shows neither")
	}
	if x.List(rc.UID, []*corev1.Pod{a}); x.Pending(rc.UID) {
		t.Error("pending though the cache shows both")
	}
}
