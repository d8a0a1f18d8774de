package main

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
)

func TestShareOf(t *testing.T) {
	tests := map[string]struct {
		total, n int
		want     []int
	}{
		"as many as clusters":    {total: 3, n: 3, want: []int{1, 1, 1}},
		"more, not a multiple":   {total: 7, n: 3, want: []int{2, 2, 3}},
		"fewer than clusters":    {total: 1, n: 3, want: []int{0, 0, 1}},
		"nothing to write":       {total: 0, n: 2, want: []int{0, 0}},
		"one cluster takes them": {total: 4, n: 1, want: []int{4}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			var got []int
			for i := range tc.n {
				got = append(got, shareOf(tc.total, tc.n, i))
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("shares (-want +got):\n%s", diff)
			}
		})
	}
}

func TestVersionCounter(t *testing.T) {
	version := func(uid, version string) client.Object {
		return &rayv1.RayCluster{ObjectMeta: metav1.ObjectMeta{UID: types.UID(uid), ResourceVersion: version}}
	}
	v := versionCounter{}
	ready := v.count(func(obj client.Object) bool { return obj.GetResourceVersion() == "3" })
	for _, obj := range []client.Object{version("a", "1"), version("b", "2"), version("a", "3"), version("a", "3")} {
		if want := obj.GetResourceVersion() == "3"; ready(obj) != want {
			t.Errorf("version %s is ready: %v, want %v", obj.GetResourceVersion(), !want, want)
		}
	}
	if len(v) != 3 {
		t.Errorf("counted %d versions, want 3: %v", len(v), v)
	}
}
