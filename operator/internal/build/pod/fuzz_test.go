package pod

import (
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/resource"
	"sigs.k8s.io/randfill"
	"sigs.k8s.io/yaml"

	rayv1 "github.com/raygate/raygate/operator/api/ray/v1"
)

// FuzzBuild builds from whatever can be decoded.
func FuzzBuild(f *testing.F) {
	inputs, _ := filepath.Glob("testdata/*.in.yaml")
	for _, input := range inputs {
		text, err := os.ReadFile(input)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	f.Add([]byte(`{}`))
	f.Add([]byte(`{"spec":{"workerGroupSpecs":[{"resources":{"CPU":"-1e99","gpu":"1","x":"1Ei"}},{"template":{"spec":{"containers":[{}]}}}]}}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		rc := &rayv1.RayCluster{}
		if yaml.Unmarshal(text, rc) == nil {
			assertBuilds(t, rc)
		}
	})
}

// FuzzBuildRandom builds from objects with every field filled at random, which text hardly ever reaches.
func FuzzBuildRandom(f *testing.F) {
	for seed := range int64(50) {
		f.Add(seed)
	}
	words := []string{"", "true", "FALSE", "-1", "6379", "port", "resources", `'{"TPU":1e400}'`, "1e999", "cpu", "nvidia.com/gpu", "/dev/shm", "ray start", "é'\"$("}
	quantities := []string{"0", "-3", "500m", "1Gi", "9223372036854775807", "1e30", "1n"}
	f.Fuzz(func(t *testing.T, seed int64) {
		rc := &rayv1.RayCluster{}
		randfill.NewWithSeed(seed).NilChance(0.5).NumElements(0, 3).Funcs(
			func(s *string, c randfill.Continue) { *s = words[c.Intn(len(words))] },
			func(q *resource.Quantity, c randfill.Continue) {
				*q = resource.MustParse(quantities[c.Intn(len(quantities))])
			},
		).Fill(rc)
		assertBuilds(t, rc)
	})
}

// assertBuilds demands that building does not panic, gives the same twice and leaves the cluster as it was.
func assertBuilds(t *testing.T, rc *rayv1.RayCluster) {
	t.Helper()
	before := rc.DeepCopy()
	for _, o := range []Options{{}, {DeterministicHeadName: true, NoProbes: true, NoInitContainer: true}} {
		if one, two := Head(rc, o), Head(rc, o); !reflect.DeepEqual(one, two) {
			t.Errorf("two heads differ:\n%s", cmp.Diff(one, two))
		}
		for i := range rc.Spec.WorkerGroupSpecs {
			g := &rc.Spec.WorkerGroupSpecs[i]
			if one, two := Worker(rc, g, o), Worker(rc, g, o); !reflect.DeepEqual(one, two) {
				t.Errorf("two workers differ:\n%s", cmp.Diff(one, two))
			}
		}
	}
	if !reflect.DeepEqual(before, rc) {
		t.Errorf("building changed the cluster (-want +got):\n%s", cmp.Diff(before, rc))
	}
}
