package podplan

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/internal/testing/raytest"
)

func TestUpgrade(t *testing.T) {
	none := raytest.Spec(func(s *rayv1.RayClusterSpec) {
		s.UpgradeStrategy = &rayv1.RayClusterUpgradeStrategy{Type: new(rayv1.RayClusterUpgradeNone)}
	})
	cluster := func(opts ...raytest.ClusterOption) *rayv1.RayCluster {
		return raytest.RayCluster("ns/demo", append(opts, raytest.Workers("cpu", 1))...)
	}
	ours := cluster()
	from := func(hash, version string) raytest.PodOption {
		return func(p *corev1.Pod) {
			p.Annotations = map[string]string{
				rayv1.AnnotationUpgradeStrategyRecreateHash: hash, rayv1.AnnotationKubeRayVersion: version,
			}
		}
	}
	head := func(opts ...raytest.PodOption) *corev1.Pod { return raytest.HeadPod(ours, "head", opts...) }
	worker := func(opts ...raytest.PodOption) *corev1.Pod { return raytest.WorkerPod(ours, "cpu", "w", opts...) }
	all := outcome{Keep: []string{"head", "w"}}
	cases := map[string]struct {
		cluster *rayv1.RayCluster
		pods    []*corev1.Pod
		want    outcome
	}{
		"the spec is the same": {
			cluster(raytest.Recreate()), []*corev1.Pod{head(from("new", "v1")), worker()}, all,
		},
		"the spec has changed": {
			cluster(raytest.Recreate()), []*corev1.Pod{head(from("old", "v1")), worker()},
			outcome{Delete: map[string]Reason{"head": ReasonRecreate, "w": ReasonRecreate}},
		},
		"nothing is made while the old head is leaving": {
			cluster(raytest.Recreate()), []*corev1.Pod{head(from("old", "v1"), raytest.Terminating())}, outcome{},
		},
		"workers go also when somebody else deletes the old head": {
			cluster(raytest.Recreate()), []*corev1.Pod{head(from("old", "v1"), raytest.Terminating()), worker()},
			outcome{Delete: map[string]Reason{"w": ReasonRecreate}},
		},
		"a head that leaves for another reason does not take workers along": {
			cluster(raytest.Recreate()), []*corev1.Pod{head(from("new", "v1"), raytest.Terminating()), worker(from("new", "v1"))},
			outcome{Keep: []string{"w"}},
		},
		"a head of another operator is adopted": {
			cluster(raytest.Recreate()), []*corev1.Pod{head(from("theirs", "nightly")), worker()},
			outcome{Adopt: "head", Keep: all.Keep},
		},
		"a head without a hash is left alone": {
			cluster(raytest.Recreate()), []*corev1.Pod{head(from("", "v1")), worker()}, all,
		},
		"a head without annotations is left alone": {
			cluster(raytest.Recreate()), []*corev1.Pod{head(), worker()}, all,
		},
		"a head without a version is compared": {
			cluster(raytest.Recreate()), []*corev1.Pod{head(from("old", "")), worker()},
			outcome{Delete: map[string]Reason{"head": ReasonRecreate, "w": ReasonRecreate}},
		},
		"a stale worker that outlived its head is replaced": {
			cluster(raytest.Recreate()), []*corev1.Pod{worker(from("old", "v1"))},
			outcome{Head: true, Workers: []Create{{Replicas: at(0)}}, Delete: map[string]Reason{"w": ReasonRecreate}},
		},
		"a worker of another operator that outlived its head stays": {
			cluster(raytest.Recreate()), []*corev1.Pod{worker(from("old", "nightly"))},
			outcome{Head: true, Keep: []string{"w"}},
		},
		"without a strategy nothing is compared": {
			cluster(), []*corev1.Pod{head(from("old", "nightly")), worker(from("old", "v1"))}, all,
		},
		"with the strategy None nothing is compared": {
			cluster(none), []*corev1.Pod{head(from("old", "v1")), worker(from("old", "v1"))}, all,
		},
		"a suspension comes first": {
			cluster(raytest.Recreate(), raytest.Condition(rayv1.RayClusterSuspending, metav1.ConditionTrue)), []*corev1.Pod{head(from("old", "v1"))},
			outcome{Delete: map[string]Reason{"head": ReasonSuspended}},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := For(Input{Cluster: tc.cluster, Pods: tc.pods, Replicas: true, Hash: "new", Version: "v1"})
			if diff := cmp.Diff(tc.want, outcomeOf(got)); diff != "" {
				t.Errorf("plan (-want +got):\n%s", diff)
			}
		})
	}
}
