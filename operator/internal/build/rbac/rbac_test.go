package rbac

import (
	"testing"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/internal/testing/golden"
	"github.com/raygate/raygate/internal/testing/raytest"
)

func build(rc *rayv1.RayCluster) []any {
	return []any{ServiceAccount(rc), Role(rc), RoleBinding(rc)}
}

func TestGolden(t *testing.T) { golden.Run(t, build) }

func TestNeeded(t *testing.T) {
	for want, switches := range map[bool][]*bool{true: {new(true)}, false: {nil, new(false)}} {
		for _, on := range switches {
			rc := raytest.RayCluster("ns/demo", raytest.Spec(func(s *rayv1.RayClusterSpec) { s.EnableInTreeAutoscaling = on }))
			if got := Needed(rc); got != want {
				t.Errorf("want %t, got %t", want, got)
			}
		}
	}
}

func FuzzBuild(f *testing.F) { golden.Fuzz(f, build) }
