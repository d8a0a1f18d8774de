package job

import (
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/resource"
	"sigs.k8s.io/randfill"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/operator/internal/build/pod"
)

// FuzzRedisCleanup builds from clusters with every field filled at random: never a panic, the same twice, and the cluster
// stays as it is.
func FuzzRedisCleanup(f *testing.F) {
	for seed := range int64(30) {
		f.Add(seed)
	}
	words := []string{"", "true", "token", "redis", "ray-tls", "RAY_AUTH_TOKEN", "wait-for-tls-ip-san", "$(A)"}
	f.Fuzz(func(t *testing.T, seed int64) {
		rc := &rayv1.RayCluster{}
		randfill.NewWithSeed(seed).NilChance(0.5).NumElements(0, 3).Funcs(
			func(s *string, c randfill.Continue) { *s = words[c.Intn(len(words))] },
			func(q *resource.Quantity, c randfill.Continue) {
				*q = *resource.NewQuantity(c.Int63n(100), resource.DecimalSI)
			},
		).Fill(rc)
		before := rc.DeepCopy()
		o := pod.Options{MTLS: true, HistoryServer: true}
		if one, two := RedisCleanup(rc, o), RedisCleanup(rc, o); !reflect.DeepEqual(one, two) {
			t.Errorf("two Jobs differ:\n%s", cmp.Diff(one, two))
		}
		if !reflect.DeepEqual(before, rc) {
			t.Errorf("building changed the cluster (-want +got):\n%s", cmp.Diff(before, rc))
		}
	})
}
