package secret

import (
	"testing"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/internal/testing/golden"
)

func build(rc *rayv1.RayCluster) []any {
	return []any{Token(rc, []byte("0123456789abcdef0123456789abcdef"))}
}

func TestGolden(t *testing.T) { golden.Run(t, build) }

func FuzzBuild(f *testing.F) { golden.Fuzz(f, build) }
