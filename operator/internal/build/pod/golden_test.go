package pod

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	rayv1 "github.com/raygate/raygate/operator/api/ray/v1"
)

var update = flag.Bool("update", false, "rewrite the .out.yaml files")

// TestGolden builds the head of every head-*.in.yaml and the first worker of every worker-*.in.yaml.
func TestGolden(t *testing.T) {
	inputs, err := filepath.Glob("testdata/*.in.yaml")
	if err != nil || len(inputs) == 0 {
		t.Fatalf("finding inputs: %v, %d found", err, len(inputs))
	}
	for _, input := range inputs {
		name := strings.TrimSuffix(filepath.Base(input), ".in.yaml")
		t.Run(name, func(t *testing.T) {
			rc := readCluster(t, input)
			got, err := yaml.Marshal(buildFor(name, rc))
			if err != nil {
				t.Fatal(err)
			}
			golden := strings.TrimSuffix(input, ".in.yaml") + ".out.yaml"
			if *update {
				if err := os.WriteFile(golden, got, 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), string(got)); diff != "" {
				t.Errorf("%s (-want +got, -update rewrites):\n%s", golden, diff)
			}
			if diff := cmp.Diff(rc, readCluster(t, input)); diff != "" {
				t.Errorf("building changed the cluster (-want +got):\n%s", diff)
			}
		})
	}
}

func buildFor(name string, rc *rayv1.RayCluster) *corev1.Pod {
	o := Options{OperatorVersion: "raygate-test", MTLS: true, HistoryServer: true}
	if strings.HasPrefix(name, "worker-") {
		return Worker(rc, &rc.Spec.WorkerGroupSpecs[0], o)
	}
	return Head(rc, o)
}

func readCluster(t *testing.T, file string) *rayv1.RayCluster {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	rc := &rayv1.RayCluster{}
	if err := yaml.UnmarshalStrict(text, rc); err != nil {
		t.Fatalf("decoding %s: %v", file, err)
	}
	return rc
}
