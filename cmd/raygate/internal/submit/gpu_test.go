package submit

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
)

func TestGPUType(t *testing.T) {
	t.Parallel()
	labels := []string{"nvidia.com/gpu.product in Tesla-T4", "cloud.google.com/gke-accelerator in nvidia-tesla-t4", "karpenter.k8s.aws/instance-gpu-name in t4"}
	tests := map[string]struct {
		kind, head, worker     string
		workers                int32
		wantHead, wantOfWorker []string
		want                   string // of the error
	}{
		"workers":              {kind: "t4", head: "0", worker: "4", workers: 2, wantOfWorker: labels},
		"a head alone":         {kind: "t4", head: "1", worker: "0", wantHead: labels},
		"both":                 {kind: "t4", head: "1", worker: "1", workers: 1, wantHead: labels, wantOfWorker: labels},
		"a GPU that GKE lacks": {kind: "a10", worker: "1", workers: 1, wantOfWorker: []string{"nvidia.com/gpu.product in NVIDIA-A10", "karpenter.k8s.aws/instance-gpu-name in a10"}},
		"any":                  {worker: "1", workers: 1},
		"no GPUs":              {kind: "t4", head: "0", worker: "0", workers: 1, want: "--gpu-type needs Pods with GPUs"},
		"no workers":           {kind: "t4", worker: "1", want: "--gpu-type needs Pods with GPUs: set --workers"},
		"no such type":         {kind: "A100", worker: "1", workers: 1, want: `--gpu-type: "A100" is not a type of GPU; use a10, a100,`},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := options()
			o.GPUType, o.Head.GPU, o.Worker.GPU, o.Workers = tc.kind, tc.head, tc.worker, tc.workers
			job := rayJob(t, &o, tc.want)
			if job == nil {
				return
			}
			cluster := job.Spec.RayClusterSpec
			if diff := cmp.Diff(tc.wantHead, nodeLabels(cluster.HeadGroupSpec.Template.Spec)); diff != "" {
				t.Errorf("head (-want +got):\n%s", diff)
			}
			for _, group := range cluster.WorkerGroupSpecs {
				if diff := cmp.Diff(tc.wantOfWorker, nodeLabels(group.Template.Spec)); diff != "" {
					t.Errorf("workers (-want +got):\n%s", diff)
				}
			}
		})
	}
}

// nodeLabels returns the labels of nodes, of which a node needs one.
func nodeLabels(pod corev1.PodSpec) (labels []string) {
	if pod.Affinity == nil {
		return nil
	}
	for _, term := range pod.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms {
		for _, e := range term.MatchExpressions {
			labels = append(labels, e.Key+" in "+strings.Join(e.Values, " "))
		}
	}
	return labels
}

// The command line and the Python client have the same types of GPUs, with the same labels of nodes.
func TestGPUTypesOfPython(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile("../../../../clients/python/src/raygate/gpus.py")
	if err != nil {
		t.Fatal(err)
	}
	for table, want := range map[string]map[string][]string{"_PRODUCTS": gpuProducts, "_GKE": gpusOfGKE} {
		_, text, _ := strings.Cut(string(data), "\n"+table+": ")
		text, _, _ = strings.Cut(text, "\n}\n")
		got := map[string][]string{}
		for _, line := range regexp.MustCompile(`(?m)^    "(\w+)": \["(.*)"\],$`).FindAllStringSubmatch(text, -1) {
			got[line[1]] = strings.Split(line[2], `", "`)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s of gpus.py (-of the command line +of Python):\n%s", table, diff)
		}
	}
	for _, label := range nodeLabels(corev1.PodSpec{Affinity: toNodesWith("a100")}) {
		if key, _, _ := strings.Cut(label, " "); !strings.Contains(string(data), `"`+key+`": `) {
			t.Errorf("gpus.py has no label %s", key)
		}
	}
}
