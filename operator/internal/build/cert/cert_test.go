package cert

import (
	"testing"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/internal/testing/golden"
)

func build(rc *rayv1.RayCluster) []any {
	return []any{SelfSignedIssuer(rc).Object, AuthorityCertificate(rc).Object, AuthorityIssuer(rc).Object, Head(rc, "", []string{"10.0.0.7", "no address"}).Object, Worker(rc, []string{"10.0.0.9", "10.0.0.8", "10.0.0.9"}).Object}
}

func TestGolden(t *testing.T) { golden.Run(t, build) }

func FuzzBuild(f *testing.F) { golden.Fuzz(f, build) }
