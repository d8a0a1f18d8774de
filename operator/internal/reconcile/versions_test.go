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

	"github.com/raygate/raygate/internal/testing/raytest"
	"github.com/raygate/raygate/operator/internal/reconcile"
)

// object is a version of an object.
func object(uid types.UID, version string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "demo", UID: uid, ResourceVersion: version}}
}

// cache answers each read with the same version; nil is an object that is not found.
type cache struct {
	client.Reader
	answer *corev1.ConfigMap
	err    error
}

func (c *cache) Get(_ context.Context, _ client.ObjectKey, o client.Object, _ ...client.GetOption) error {
	switch {
	case c.err != nil:
		return c.err
	case c.answer == nil:
		return apierrors.NewNotFound(schema.GroupResource{Resource: "configmaps"}, "demo")
	}
	c.answer.DeepCopyInto(o.(*corev1.ConfigMap))
	return nil
}

func TestReadTellsStaleVersions(t *testing.T) {
	stale := object("a", "9")
	cases := map[string]struct {
		shown     *corev1.ConfigMap
		later     bool // long after the write
		wantFresh bool
	}{
		"the cache lags":              {shown: stale},
		"the cache lags by two":       {shown: object("a", "8")},
		"the cache is up to date":     {shown: object("a", "10"), wantFresh: true},
		"the watch is broken":         {shown: stale, later: true, wantFresh: true},
		"another object has the name": {shown: object("b", "1"), wantFresh: true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			c := clocktesting.NewFakePassiveClock(raytest.Epoch.Time)
			v := reconcile.NewVersions(c)
			v.Replaced(stale)
			if tc.later {
				c.SetTime(raytest.Epoch.Add(reconcile.StaleTimeout))
			}
			fresh, err := v.Read(t.Context(), &cache{answer: tc.shown}, client.ObjectKeyFromObject(stale), &corev1.ConfigMap{})
			if err != nil || fresh != tc.wantFresh {
				t.Errorf("fresh %t, %v; want %t", fresh, err, tc.wantFresh)
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
		{"it is there", &cache{answer: object("a", "1")}, nil},
		{"the cache fails", &cache{err: errors.New("unknown kind")}, nil},
		{"its name was made anew", &cache{answer: object("b", "2")}, []types.UID{"a"}},
		{"it is gone", &cache{}, []types.UID{"a", "b"}},
		{"it is still gone", &cache{}, []types.UID{"a", "b"}},
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
