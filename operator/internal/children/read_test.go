package children

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/raygate/raygate/operator/internal/backoff"
	"github.com/raygate/raygate/operator/internal/overlay"
)

func TestOwnWritesThatTheCacheDoesNotShow(t *testing.T) {
	const owner = "uid-of-cluster"
	a := attempt{key: backoff.Key{Owner: owner, Attempt: "Secret demo"}}
	version := func(uid types.UID, number string) client.Object {
		return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{UID: uid, ResourceVersion: number}}
	}
	made, older, newer, another := version("uid", "5"), version("uid", "4"), version("uid", "6"), version("another", "9")
	newWriter := func() (*Writer, *clocktesting.FakeClock) {
		c := clocktesting.NewFakeClock(time.Unix(0, 0))
		w := New(Config{Clock: c})
		w.written.Set(owner, a.key.Attempt, write{object: made, at: c.Now()})
		return w, c
	}
	cases := map[string]struct {
		do     func(*Writer)
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
		"not when it is gone":        {do: func(w *Writer) { w.Gone(owner, made.GetUID()) }},
		"when another is gone": {do: func(w *Writer) {
			w.Gone(owner, "another")
			w.Gone("another", made.GetUID())
		}, want: made},
		"not of an owner that is forgotten": {do: func(w *Writer) { w.Forget(owner) }},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			w, c := newWriter()
			if tc.do != nil {
				tc.do(w)
			}
			c.Step(tc.after)
			if diff := cmp.Diff(tc.want, w.latest(a, tc.cached)); diff != "" {
				t.Errorf("object (-want +got):\n%s", diff)
			}
		})
	}
	t.Run("not after the cache has shown it", func(t *testing.T) {
		w, _ := newWriter()
		w.latest(a, newer)
		if got := w.latest(a, nil); got != nil {
			t.Errorf("shows %v, which is gone", got)
		}
	})
}
