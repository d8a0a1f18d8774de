package raycluster

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/raygate/raygate/test/raytest"
)

func TestWhatWasMadeIsBelievedInUntilTheCacheShowsIt(t *testing.T) {
	const cluster, id = "uid-of-cluster", "Secret demo"
	now := raytest.Epoch.Time
	made := &corev1.Secret{}
	made.UID = "uid-of-secret"
	shown := made.DeepCopy()
	shown.ResourceVersion = "2"
	cases := map[string]struct {
		do     func(*childMemory)
		cached client.Object
		after  time.Duration
		want   client.Object
	}{
		"not shown":               {want: made},
		"shown":                   {cached: shown, want: shown},
		"for a while":             {after: expectationTimeout - 1, want: made},
		"not for ever":            {after: expectationTimeout},
		"not when it is gone":     {do: func(m *childMemory) { m.gone(cluster, made.UID) }},
		"when another is gone":    {do: func(m *childMemory) { m.gone(cluster, "another"); m.gone("another", made.UID) }, want: made},
		"not once it is dropped":  {do: func(m *childMemory) { m.drop(cluster, id) }},
		"when another is dropped": {do: func(m *childMemory) { m.drop(cluster, "another"); m.drop("another", id) }, want: made},
		"not of a cluster that is forgotten": {do: func(m *childMemory) {
			m.forget(cluster)
		}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			m := newChildMemory()
			m.of(cluster, id).made(made, now)
			if tc.do != nil {
				tc.do(m)
			}
			got := m.of(cluster, id).believed(tc.cached, now.Add(tc.after))
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("believed in (-want +got):\n%s", diff)
			}
		})
	}
	t.Run("nor after the cache has shown it", func(t *testing.T) {
		st := newChildMemory().of(cluster, id)
		st.made(made, now)
		st.believed(shown, now)
		if got := st.believed(nil, now); got != nil {
			t.Errorf("believed in %v, which is gone", got)
		}
	})
}

func TestFailedChildIsTriedLessAndLess(t *testing.T) {
	now := raytest.Epoch.Time
	st := &childState{}
	if got := st.wait(1, now); got != 0 {
		t.Errorf("wait %s before the first attempt", got)
	}
	var waits []time.Duration
	for range 6 {
		waits = append(waits, st.failed(childFailure{reason: "R"}, 1, now))
	}
	want := []time.Duration{15 * time.Second, 30 * time.Second, time.Minute, 2 * time.Minute, 4 * time.Minute, 5 * time.Minute}
	if diff := cmp.Diff(want, waits); diff != "" {
		t.Errorf("waits (-want +got):\n%s", diff)
	}
	if got := st.wait(1, now.Add(time.Minute)); got != 4*time.Minute {
		t.Errorf("%s are left of five minutes after one", got)
	}
	if got := st.wait(1, now.Add(time.Hour)); got != 0 {
		t.Errorf("%s are left after an hour", got)
	}
	if got := st.wait(2, now); got != 0 {
		t.Errorf("a changed spec waits %s", got)
	}
	if got := st.failed(childFailure{}, 2, now); got != want[0] {
		t.Errorf("the first failure of a changed spec waits %s", got)
	}

	s := &scope{}
	st.failed(childFailure{reason: "R"}, 2, now)
	st.repeat(s)
	if len(s.children) != 1 || s.children[0].reason != "R" {
		t.Errorf("failures %v, want the earlier one", s.children)
	}
	st.fine()
	if st.repeat(s); len(s.children) != 1 || st.wait(2, now) != 0 || st.failed(childFailure{}, 2, now) != want[0] {
		t.Error("what is fine has failed before")
	}
}

func TestChildThatIsFoughtOver(t *testing.T) {
	now := raytest.Epoch.Time
	st := &childState{}
	var waits []time.Duration
	for range 6 {
		waits = append(waits, st.fought(now))
		st.patched(now)
	}
	if diff := cmp.Diff([]time.Duration{0, 0, 0, 2 * time.Second, 4 * time.Second, 8 * time.Second}, waits); diff != "" {
		t.Errorf("waits before each repair (-want +got):\n%s", diff)
	}
	if got := st.fought(now.Add(time.Second)); got != 15*time.Second {
		t.Errorf("%s are left of 16 seconds after one", got)
	}
	for range 20 {
		st.patched(now)
	}
	if got := st.fought(now); got != lastChildRetry {
		t.Errorf("at last it waits %s, want %s", got, lastChildRetry)
	}
	if got := st.fought(now.Add(2 * lastChildRetry)); got != 0 {
		t.Errorf("waits %s, long after the last repair", got)
	}
	if got := st.fought(now.Add(2*lastChildRetry + 1)); got != 0 || st.patches != 0 {
		t.Errorf("remembers %d repairs after peace", st.patches)
	}
}
