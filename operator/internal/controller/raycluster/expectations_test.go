package raycluster

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/raygate/raygate/test/raytest"
)

func TestViewOfPods(t *testing.T) {
	rc := raytest.RayCluster("ns/demo", raytest.Workers("cpu", 2))
	a, b := raytest.WorkerPod(rc, "cpu", "a"), raytest.WorkerPod(rc, "cpu", "b")
	leaving := raytest.WorkerPod(rc, "cpu", "a", raytest.Terminating())
	cases := map[string]struct {
		do     func(*expectations, *clocktesting.FakeClock)
		cached []*corev1.Pod
		want   []string
	}{
		"nothing expected":   {cached: []*corev1.Pod{a}, want: []string{"a"}},
		"created, not shown": {do: func(x *expectations, _ *clocktesting.FakeClock) { x.podCreated(rc.UID, b) }, cached: []*corev1.Pod{a}, want: []string{"a", "b"}},
		"created and shown":  {do: func(x *expectations, _ *clocktesting.FakeClock) { x.podCreated(rc.UID, a) }, cached: []*corev1.Pod{a}, want: []string{"a"}},
		"another cluster's":  {do: func(x *expectations, _ *clocktesting.FakeClock) { x.podCreated("other", b) }, cached: []*corev1.Pod{a}, want: []string{"a"}},
		"deleted, not shown": {do: func(x *expectations, _ *clocktesting.FakeClock) { x.podDeleted(rc.UID, a.UID) }, cached: []*corev1.Pod{a}, want: []string{"a terminating"}},
		"deleted and shown":  {do: func(x *expectations, _ *clocktesting.FakeClock) { x.podDeleted(rc.UID, a.UID) }, cached: []*corev1.Pod{leaving}, want: []string{"a terminating"}},
		"deleted and gone":   {do: func(x *expectations, _ *clocktesting.FakeClock) { x.podDeleted(rc.UID, a.UID) }},
		"cluster forgotten":  {do: func(x *expectations, _ *clocktesting.FakeClock) { x.podCreated(rc.UID, b); x.forget(rc.UID) }},
		"created, seen to go": {do: func(x *expectations, _ *clocktesting.FakeClock) {
			x.podCreated(rc.UID, b)
			x.observeGone(rc.UID, b.UID)
		}},
		"created, then deleted before it was shown": {do: func(x *expectations, _ *clocktesting.FakeClock) {
			x.podCreated(rc.UID, b)
			x.podDeleted(rc.UID, b.UID)
		}},
		"a watch that never tells": {do: func(x *expectations, c *clocktesting.FakeClock) {
			x.podCreated(rc.UID, b)
			x.podDeleted(rc.UID, a.UID)
			c.Step(expectationTimeout)
		}, cached: []*corev1.Pod{a}, want: []string{"a"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			c := clocktesting.NewFakeClock(time.Unix(0, 0))
			x := newExpectations(c)
			if tc.do != nil {
				tc.do(x, c)
			}
			x.viewPods(rc.UID, tc.cached) // looking once must not make it forget
			var got []string
			for _, p := range x.viewPods(rc.UID, tc.cached) {
				text := p.Name
				if p.DeletionTimestamp != nil {
					text += " terminating"
				}
				got = append(got, text)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("view (-want +got):\n%s", diff)
			}
			if a.DeletionTimestamp != nil {
				t.Fatal("a Pod of the cache was changed")
			}
		})
	}
}

func TestViewOfServices(t *testing.T) {
	const cluster = "uid-of-cluster"
	svc := &corev1.Service{}
	svc.Name, svc.UID = "s", "uid-of-service"
	cases := map[string]struct {
		do     func(*expectations, *clocktesting.FakeClock)
		cached []*corev1.Service
		want   int
	}{
		"not shown":   {want: 1},
		"shown":       {cached: []*corev1.Service{svc}, want: 1},
		"seen to go":  {do: func(x *expectations, _ *clocktesting.FakeClock) { x.observeGone(cluster, svc.UID) }},
		"never shown": {do: func(_ *expectations, c *clocktesting.FakeClock) { c.Step(expectationTimeout) }},
		"forgotten":   {do: func(x *expectations, _ *clocktesting.FakeClock) { x.forget(cluster) }},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			c := clocktesting.NewFakeClock(time.Unix(0, 0))
			x := newExpectations(c)
			x.serviceCreated(cluster, svc)
			if tc.do != nil {
				tc.do(x, c)
			}
			if got := x.viewServices(cluster, tc.cached); len(got) != tc.want {
				t.Errorf("want %d Services, got %d", tc.want, len(got))
			}
			if got := x.viewServices("other", nil); len(got) != 0 {
				t.Errorf("another cluster has %d Services", len(got))
			}
		})
	}
}
