package overlay_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/raygate/raygate/internal/testing/raytest"
	"github.com/raygate/raygate/operator/internal/overlay"
)

type pods = overlay.Overlay[*corev1.Pod]

func newPods(c *clocktesting.FakeClock) *pods {
	return overlay.New(c, func(p *corev1.Pod, since metav1.Time) *corev1.Pod {
		leaving := *p
		leaving.DeletionTimestamp = &since
		return &leaving
	})
}

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
		"created, not shown": {do: func(x *pods, _ *clocktesting.FakeClock) { x.Written(rc.UID, "", b) }, cached: []*corev1.Pod{a}, want: []string{"a", "b"}},
		"created and shown":  {do: func(x *pods, _ *clocktesting.FakeClock) { x.Written(rc.UID, "", a) }, cached: []*corev1.Pod{a}, want: []string{"a"}},
		"another cluster's":  {do: func(x *pods, _ *clocktesting.FakeClock) { x.Written("other", "", b) }, cached: []*corev1.Pod{a}, want: []string{"a"}},
		"deleted, not shown": {do: func(x *pods, _ *clocktesting.FakeClock) { x.Deleted(rc.UID, a.UID) }, cached: []*corev1.Pod{a}, want: []string{"a terminating"}},
		"deleted and shown":  {do: func(x *pods, _ *clocktesting.FakeClock) { x.Deleted(rc.UID, a.UID) }, cached: []*corev1.Pod{leaving}, want: []string{"a terminating"}},
		"deleted and gone":   {do: func(x *pods, _ *clocktesting.FakeClock) { x.Deleted(rc.UID, a.UID) }},
		"cluster forgotten":  {do: func(x *pods, _ *clocktesting.FakeClock) { x.Written(rc.UID, "", b); x.Forget(rc.UID) }},
		"created, seen to go": {do: func(x *pods, _ *clocktesting.FakeClock) {
			x.Written(rc.UID, "", b)
			x.Gone(rc.UID, b.UID)
		}},
		"created, then deleted before it was shown": {do: func(x *pods, _ *clocktesting.FakeClock) {
			x.Written(rc.UID, "", b)
			x.Deleted(rc.UID, b.UID)
		}},
		"a watch that never shows it": {do: func(x *pods, c *clocktesting.FakeClock) {
			x.Written(rc.UID, "", b)
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
	x.Written(rc.UID, "", a)
	x.Deleted(rc.UID, b.UID)
	if x.List(rc.UID, []*corev1.Pod{b}); !x.Pending(rc.UID) {
		t.Error("not pending while the cache shows neither")
	}
	if x.List(rc.UID, []*corev1.Pod{a}); x.Pending(rc.UID) {
		t.Error("pending though the cache shows both")
	}
}

func TestFind(t *testing.T) {
	const owner, id = "uid-of-cluster", "Secret demo"
	version := func(uid types.UID, number string) client.Object {
		return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{UID: uid, ResourceVersion: number}}
	}
	made, older, newer, another := version("uid", "5"), version("uid", "4"), version("uid", "6"), version("another", "9")
	cases := map[string]struct {
		do     func(*overlay.Overlay[client.Object])
		cached client.Object
		after  time.Duration
		want   client.Object
	}{
		"not shown":                  {want: made},
		"shown":                      {cached: newer, want: newer},
		"the same version is shown":  {cached: version("uid", "5"), want: made},
		"an older version is shown":  {cached: older, want: made},
		"its predecessor is shown":   {cached: version("predecessor", "4"), want: made},
		"another has the name":       {cached: another, want: another},
		"for a while":                {after: overlay.Timeout - 1, want: made},
		"not for ever":               {after: overlay.Timeout},
		"an older one, not for ever": {cached: older, after: overlay.Timeout, want: older},
		"not when it is gone":        {do: func(o *overlay.Overlay[client.Object]) { o.Gone(owner, made.GetUID()) }},
		"when another is gone": {do: func(o *overlay.Overlay[client.Object]) {
			o.Gone(owner, "another")
			o.Gone("another", made.GetUID())
		}, want: made},
		"not of an owner that is forgotten": {do: func(o *overlay.Overlay[client.Object]) { o.Forget(owner) }},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			c := clocktesting.NewFakeClock(time.Unix(0, 0))
			o := overlay.New[client.Object](c, nil)
			o.Written(owner, id, made)
			if tc.do != nil {
				tc.do(o)
			}
			c.Step(tc.after)
			var cached *client.Object
			if tc.cached != nil {
				cached = &tc.cached
			}
			var got client.Object
			if found := o.Find(owner, id, cached); found != nil {
				got = *found
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("object (-want +got):\n%s", diff)
			}
		})
	}
	t.Run("not after the cache has shown it", func(t *testing.T) {
		o := overlay.New[client.Object](clocktesting.NewFakeClock(time.Unix(0, 0)), nil)
		o.Written(owner, id, made)
		o.Find(owner, id, &newer)
		if got := o.Find(owner, id, nil); got != nil {
			t.Errorf("shows %v, which is gone", *got)
		}
	})
}
