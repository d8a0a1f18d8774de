package main

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
)

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
