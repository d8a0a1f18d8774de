package objectmap

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"
)

func TestMap(t *testing.T) {
	var m Map[string, int]
	holds := func(want map[types.UID]map[string]int) {
		t.Helper()
		got := map[types.UID]map[string]int{"a": {}, "b": {}}
		for owner := range got {
			for _, key := range []string{"x", "y"} {
				if value, ok := m.Get(owner, key); ok {
					got[owner][key] = value
				}
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("values (-want +got):\n%s", diff)
		}
	}
	holds(map[types.UID]map[string]int{"a": {}, "b": {}})
	m.Set("a", "x", 1)
	m.Set("a", "y", 0)
	m.Set("b", "x", 3)
	m.Set("a", "x", 4)
	holds(map[types.UID]map[string]int{"a": {"x": 4, "y": 0}, "b": {"x": 3}})
	if diff := cmp.Diff(map[string]int{"x": 4, "y": 0}, m.All("a")); diff != "" {
		t.Errorf("all (-want +got):\n%s", diff)
	}
	m.Delete("a", "y")
	holds(map[types.UID]map[string]int{"a": {"x": 4}, "b": {"x": 3}})
	m.Forget("a")
	holds(map[types.UID]map[string]int{"a": {}, "b": {"x": 3}})
}
