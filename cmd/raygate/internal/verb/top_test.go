package verb

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	raygatev2 "github.com/raygate/raygate/proto/gen/go/raygate/v2"
)

func TestTop(t *testing.T) {
	cluster := func(name, state, cpu, gpu, memory string) *raygatev2.RayCluster {
		return &raygatev2.RayCluster{Metadata: &raygatev2.ObjectMeta{Namespace: "team", Name: name}, Status: &raygatev2.RayClusterStatus{
			State: state, DesiredCpu: cpu, DesiredGpu: gpu, DesiredMemory: memory, ReadyWorkerReplicas: 1, DesiredWorkerReplicas: 2,
		}}
	}
	var out strings.Builder
	clusters := []*raygatev2.RayCluster{cluster("small", "ready", "500m", "", "1Gi"), cluster("asleep", "suspended", "9", "9", "9Gi"), cluster("large", "", "3500m", "4", "3Gi"), cluster("odd", "ready", "x", "", "")}
	demands, sum := demandsOf(clusters)
	if err := printTop(&out, demands, sum, false); err != nil {
		t.Fatal(err)
	}
	want := [][]string{
		{"NAME", "STATUS", "READY", "WORKERS", "CPUS", "GPUS", "TPUS", "MEMORY"},
		{"large", "provisioning", "1/2", "3500m", "4", "0", "3Gi"}, {"small", "ready", "1/2", "500m", "0", "0", "1Gi"},
		{"asleep", "suspended", "0/0", "0", "0", "0", "0"}, {"odd", "ready", "1/2", "0", "0", "0", "0"}, {"TOTAL", "3/6", "4", "4", "0", "4Gi"},
	}
	for i, line := range strings.Split(strings.TrimSpace(out.String()), "\n") {
		if got := strings.Join(strings.Fields(line), " "); i >= len(want) || got != strings.Join(want[i], " ") {
			t.Errorf("line %d is %q", i, got)
		}
	}
	out.Reset()
	if err := printFor(&out, "yaml", topTree(demands[:1], sum)); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff("clusters:\n- cpus: 3500m\n  gpus: \"4\"\n  memory: 3Gi\n  name: large\n  namespace: team\n  readyWorkers: 1\n  state: provisioning\n  tpus: \"0\"\n  workers: 2\n"+
		"total:\n  cpus: \"4\"\n  gpus: \"4\"\n  memory: 4Gi\n  readyWorkers: 3\n  tpus: \"0\"\n  workers: 6\n", out.String()); diff != "" {
		t.Error(diff)
	}
}
