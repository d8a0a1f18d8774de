package volume

import (
	"testing"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/internal/testing/golden"
	"github.com/raygate/raygate/internal/testing/raytest"
)

func build(rc *rayv1.RayCluster) []any {
	return []any{Claim(rc)}
}

func TestGolden(t *testing.T) { golden.Run(t, build) }

func TestNeeded(t *testing.T) {
	for want, options := range map[bool][]*rayv1.GcsFaultToleranceOptions{
		true: {{Backend: rayv1.GcsFTBackendRocksDB}}, false: {nil, {}, {Backend: rayv1.GcsFTBackendRedis}},
	} {
		for _, o := range options {
			rc := raytest.RayCluster("ns/demo", raytest.Spec(func(s *rayv1.RayClusterSpec) { s.GcsFaultToleranceOptions = o }))
			if got := Needed(rc); got != want {
				t.Errorf("%+v: want %t, got %t", o, want, got)
			}
		}
	}
}

func FuzzBuild(f *testing.F) { golden.Fuzz(f, build) }
