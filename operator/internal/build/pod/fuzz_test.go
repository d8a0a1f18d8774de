package pod

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	rayv1 "github.com/raygate/raygate/operator/api/ray/v1"
)

// FuzzBuild builds from whatever can be decoded, valid or not: no panic, the same twice, and the input left as it was.
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
		if yaml.Unmarshal(text, rc) != nil {
			return
		}
		before := rc.DeepCopy()
		for _, o := range []Options{{}, {DeterministicHeadName: true, NoProbes: true, NoInitContainer: true}} {
			if diff := cmp.Diff(Head(rc, o), Head(rc, o)); diff != "" {
				t.Errorf("two heads differ:\n%s", diff)
			}
			for i := range rc.Spec.WorkerGroupSpecs {
				g := &rc.Spec.WorkerGroupSpecs[i]
				if diff := cmp.Diff(Worker(rc, g, o), Worker(rc, g, o)); diff != "" {
					t.Errorf("two workers differ:\n%s", diff)
				}
			}
		}
		if diff := cmp.Diff(before, rc); diff != "" {
			t.Errorf("building changed the cluster (-want +got):\n%s", diff)
		}
	})
}
