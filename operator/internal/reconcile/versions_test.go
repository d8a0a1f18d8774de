package reconcile_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"

	"github.com/raygate/raygate/internal/testing/raytest"
	"github.com/raygate/raygate/operator/internal/reconcile"
)

// object is a version of an object.
func object(uid types.UID, version string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "demo", UID: uid, ResourceVersion: version}}
}

// cache answers each read with the next version, and with the last for ever; nil is an object that is not found.
type cache struct {
	client.Reader
	answers []*corev1.ConfigMap
	err     error
}

func (c *cache) Get(_ context.Context, _ client.ObjectKey, o client.Object, _ ...client.GetOption) error {
	if c.err != nil {
		return c.err
	}
	found := c.answers[0]
	if len(c.answers) > 1 {
		c.answers = c.answers[1:]
	}
	if found == nil {
		return apierrors.NewNotFound(schema.GroupResource{Resource: "configmaps"}, "demo")
	}
	found.DeepCopyInto(o.(*corev1.ConfigMap))
	return nil
}

func TestReadWaitsForTheVersionThatReplacesAStaleOne(t *testing.T) {
	stale, next := object("a", "1"), object("a", "2")
	cases := map[string]struct {
		shown     []*corev1.ConfigMap
		later     bool // long after the write
		wantFresh bool
		wantPass  bool // the update that replaces the stale version
	}{
		"the cache lags":                         {shown: []*corev1.ConfigMap{stale}, wantPass: true},
		"the cache is up to date":                {shown: []*corev1.ConfigMap{next}, wantFresh: true},
		"the update comes between the two looks": {shown: []*corev1.ConfigMap{stale, next}, wantFresh: true},
		"the watch is broken":                    {shown: []*corev1.ConfigMap{stale}, later: true, wantFresh: true},
		"another object has the name":            {shown: []*corev1.ConfigMap{object("b", "1")}, wantFresh: true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			c := clocktesting.NewFakePassiveClock(raytest.Epoch.Time)
			v := reconcile.NewVersions(c)
			v.Replaced(stale)
			if v.Awaited().Update(event.UpdateEvent{ObjectOld: stale, ObjectNew: next}) {
				t.Error("an update passes that nobody waits for")
			}
			if tc.later {
				c.SetTime(raytest.Epoch.Add(reconcile.StaleTimeout))
			}
			fresh, err := v.Read(t.Context(), &cache{answers: tc.shown}, client.ObjectKey{}, &corev1.ConfigMap{})
			if err != nil || fresh != tc.wantFresh {
				t.Errorf("fresh %t, %v; want %t", fresh, err, tc.wantFresh)
			}
			if got := v.Awaited().Update(event.UpdateEvent{ObjectOld: stale, ObjectNew: next}); got != tc.wantPass {
				t.Errorf("the update passes: %t, want %t", got, tc.wantPass)
			}
		})
	}
}

func TestWhatIsKnownIsFreedWithTheObject(t *testing.T) {
	steps := []struct {
		name  string
		cache *cache
		want  []types.UID
	}{
		{"it is there", &cache{answers: []*corev1.ConfigMap{object("a", "1")}}, nil},
		{"the cache fails", &cache{err: errors.New("unknown kind")}, nil},
		{"its name was made anew", &cache{answers: []*corev1.ConfigMap{object("b", "2")}}, []types.UID{"a"}},
		{"it is gone", &cache{answers: []*corev1.ConfigMap{nil}}, []types.UID{"a", "b"}},
		{"it is still gone", &cache{answers: []*corev1.ConfigMap{nil}}, []types.UID{"a", "b"}},
	}
	var forgotten []types.UID
	v := reconcile.NewVersions(clocktesting.NewFakePassiveClock(raytest.Epoch.Time), func(uid types.UID) { forgotten = append(forgotten, uid) })
	for _, step := range steps {
		_, _ = v.Read(t.Context(), step.cache, client.ObjectKey{Namespace: "ns", Name: "demo"}, &corev1.ConfigMap{})
		if !slices.Equal(forgotten, step.want) {
			t.Errorf("%s: forgotten are %v, want %v", step.name, forgotten, step.want)
		}
	}
}
