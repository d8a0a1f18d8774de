package registry_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/operator/internal/gang"
	"github.com/raygate/raygate/operator/internal/gang/registry"
)

// TestSamples: the scheduler that a sample is for has nothing to complain about, and takes the Pods.
func TestSamples(t *testing.T) {
	files, err := filepath.Glob("../../../../samples/raycluster.scheduler-*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	tested := map[string]bool{}
	for _, file := range files {
		name := strings.TrimSuffix(strings.TrimPrefix(filepath.Base(file), "raycluster.scheduler-"), ".yaml")
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		rc := &rayv1.RayCluster{}
		if err := yaml.UnmarshalStrict(text, rc); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		var s gang.Scheduler
		for _, candidate := range schedulers() {
			if n := candidate.Name(); n == name || strings.TrimSuffix(n, "-scheduler") == name || candidate == registry.Kubernetes() && name == "workload-aware" {
				s = candidate
			}
		}
		if s == nil {
			t.Errorf("%s is for no scheduler", file)
			continue
		}
		tested[s.Name()] = true
		w := ofCluster(rc)
		if p := s.Plan(w); len(p.Problems) > 0 || p.Refusal != "" {
			t.Errorf("%s: %v %s", file, p.Problems, p.Refusal)
		}
		if got := decorated(t, s, w); strings.Contains(got, "theirs") {
			t.Errorf("%s: Pods are not for the scheduler:\n%s", file, got)
		}
	}
	for _, s := range schedulers() {
		if !tested[s.Name()] {
			t.Errorf("no sample for %s", s.Name())
		}
	}
}
