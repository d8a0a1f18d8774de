package podplan

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/internal/testing/raytest"
)

const rolled = ReasonRollingUpdate

// rolling returns a cluster with a rolling upgrade, with more annotations as pairs of key and value.
func rolling(opts []raytest.ClusterOption, pairs ...string) *rayv1.RayCluster {
	annotations := map[string]string{rayv1.AnnotationUpgradeStrategy: rayv1.UpgradeRollingUpdate}
	for pair := range slices.Chunk(pairs, 2) {
		annotations[pair[0]] = pair[1]
	}
	return raytest.RayCluster("ns/demo", append(opts, raytest.Annotations(annotations))...)
}

func planOf(rc *rayv1.RayCluster, pods []*corev1.Pod) Plan {
	in := Input{Cluster: rc, Pods: pods, Replicas: true, Hash: "spec", Version: "v1"}
	if u := rc.RollingUpdate(); u != nil {
		in.Rolling = &Rolling{RollingUpdate: u, Hashes: map[string]string{"headgroup": "new", "cpu": "new"}}
	}
	return For(in)
}

func TestRolling(t *testing.T) {
	const unavailable, surge, paused = rayv1.AnnotationMaxUnavailable, rayv1.AnnotationMaxSurge, rayv1.AnnotationUpgradePaused
	workers := func(n int32, opts ...raytest.GroupOption) []raytest.ClusterOption {
		return []raytest.ClusterOption{raytest.Workers("cpu", n, opts...)}
	}
	ours := raytest.RayCluster("ns/demo")
	hash := func(h string) raytest.PodOption { return raytest.PodAnnotation(rayv1.AnnotationTemplateHash, h) }
	worker := func(name, template string, opts ...raytest.PodOption) *corev1.Pod {
		return raytest.WorkerPod(ours, "cpu", name, append(opts, hash(template))...)
	}
	headFrom := func(template string, opts ...raytest.PodOption) *corev1.Pod {
		return raytest.HeadPod(ours, "head", append(opts, hash(template))...)
	}
	head := headFrom("new")
	tolerant := raytest.PodAnnotation(rayv1.AnnotationFTEnabled, "true")
	spec := func(p *corev1.Pod) {
		raytest.PodAnnotation(rayv1.AnnotationUpgradeStrategyRecreateHash, "spec")(p)
		raytest.PodAnnotation(rayv1.AnnotationKubeRayVersion, "v1")(p)
	}
	one := []Create{{Replicas: at(0)}}
	gone := func(names ...string) map[string]Reason {
		m := map[string]Reason{}
		for _, name := range names {
			m[name] = rolled
		}
		return m
	}
	cases := map[string]struct {
		cluster *rayv1.RayCluster
		pods    []*corev1.Pod
		want    outcome
		mark    []string
		upgrade Upgrade
	}{
		"without the annotation, templates are not compared": {
			raytest.RayCluster("ns/demo", workers(1)...), []*corev1.Pod{head, worker("a", "old")}, outcome{Keep: []string{"a", "head"}}, nil, Upgrade{},
		},
		"one at a time": {
			rolling(workers(3)), []*corev1.Pod{head, worker("a", "old"), worker("b", "old"), worker("c", "old", raytest.CreatedAfter(time.Hour))},
			outcome{Delete: gone("c"), Keep: []string{"a", "b", "head"}}, nil, Upgrade{InProgress: true, Groups: []GroupUpgrade{{"cpu", 0, 3}}},
		},
		"its replacement follows": {
			rolling(workers(3)), []*corev1.Pod{head, worker("a", "old"), worker("b", "old"), worker("c", "old", raytest.Terminating())},
			outcome{Workers: one, Keep: []string{"a", "b", "head"}}, nil, Upgrade{InProgress: true, Groups: []GroupUpgrade{{"cpu", 0, 3}}},
		},
		"the next waits for the replacement": {
			rolling(workers(3)), []*corev1.Pod{head, worker("a", "old"), worker("b", "old"), worker("c", "new", raytest.NotReady())},
			outcome{Keep: []string{"a", "b", "c", "head"}}, nil, Upgrade{InProgress: true, Groups: []GroupUpgrade{{"cpu", 0, 3}}},
		},
		"a percentage of the replicas": {
			rolling(workers(4), unavailable, "50%"), []*corev1.Pod{head, worker("a", "old"), worker("b", "old"), worker("c", "old"), worker("d", "old")},
			outcome{Delete: gone("c", "d"), Keep: []string{"a", "b", "head"}}, nil,
			Upgrade{InProgress: true, Groups: []GroupUpgrade{{"cpu", 0, 4}}},
		},
		"no more than a disruption budget allows": {
			rolling(workers(4), unavailable, "50%", rayv1.AnnotationDisruptionBudget, "20%"), []*corev1.Pod{head, worker("a", "old"), worker("b", "old"), worker("c", "old"), worker("d", "old")},
			outcome{Delete: gone("d"), Keep: []string{"a", "b", "c", "head"}}, nil, Upgrade{InProgress: true, Groups: []GroupUpgrade{{"cpu", 0, 4}}},
		},
		"outdated workers that are not ready go first": {
			rolling(workers(3)), []*corev1.Pod{head, worker("a", "old", raytest.NotReady()), worker("b", "old"), worker("c", "new")},
			outcome{Delete: gone("a"), Keep: []string{"b", "c", "head"}}, nil, Upgrade{InProgress: true, Groups: []GroupUpgrade{{"cpu", 1, 3}}},
		},
		"no more in transition than allowed, though none is ready": {
			rolling(workers(3)), []*corev1.Pod{head, worker("a", "old", raytest.NotReady()), worker("b", "old", raytest.NotReady()), worker("c", "old", raytest.NotReady())},
			outcome{Delete: gone("c"), Keep: []string{"a", "b", "head"}}, nil, Upgrade{InProgress: true, Groups: []GroupUpgrade{{"cpu", 0, 3}}},
		},
		"surge first": {
			rolling(workers(2), unavailable, "0", surge, "1"), []*corev1.Pod{head, worker("a", "old"), worker("b", "old")},
			outcome{Workers: one, Keep: []string{"a", "b", "head"}}, nil, Upgrade{InProgress: true, Groups: []GroupUpgrade{{"cpu", 0, 2}}},
		},
		"the surge is ready": {
			rolling(workers(2), unavailable, "0", surge, "1"), []*corev1.Pod{head, worker("a", "old"), worker("b", "old"), worker("c", "new")},
			outcome{Delete: gone("b"), Keep: []string{"a", "c", "head"}}, nil, Upgrade{InProgress: true, Groups: []GroupUpgrade{{"cpu", 1, 2}}},
		},
		"a pause holds the surge as it is": {
			rolling(workers(2), unavailable, "0", surge, "2", paused, "true"), []*corev1.Pod{head, worker("a", "old"), worker("b", "old"), worker("c", "new")},
			outcome{Keep: []string{"a", "b", "c", "head"}}, nil, Upgrade{InProgress: true, Groups: []GroupUpgrade{{"cpu", 1, 2}}},
		},
		"a lost worker is replaced during a pause": {
			rolling(workers(2), paused, "true"), []*corev1.Pod{head, worker("a", "old")},
			outcome{Workers: one, Keep: []string{"a", "head"}}, nil, Upgrade{InProgress: true, Groups: []GroupUpgrade{{"cpu", 0, 2}}},
		},
		"a rollback keeps what has the template": {
			rolling(workers(2)), []*corev1.Pod{head, worker("a", "new"), worker("b", "broken", raytest.NotReady())},
			outcome{Delete: gone("b"), Keep: []string{"a", "head"}}, nil, Upgrade{InProgress: true, Groups: []GroupUpgrade{{"cpu", 1, 2}}},
		},
		"nothing is replaced while the head is not ready": {
			rolling(workers(1)), []*corev1.Pod{headFrom("new", raytest.NotReady()), worker("a", "old")}, outcome{Keep: []string{"a", "head"}}, nil,
			Upgrade{InProgress: true, Groups: []GroupUpgrade{{"cpu", 0, 1}}},
		},
		"a smaller group loses outdated workers first": {
			rolling(workers(2)), []*corev1.Pod{head, worker("a", "new"), worker("b", "old"), worker("c", "new", raytest.CreatedAfter(time.Hour))},
			outcome{Delete: gone("b"), Keep: []string{"a", "c", "head"}}, nil, Upgrade{InProgress: true, Groups: []GroupUpgrade{{"cpu", 2, 2}}},
		},
		"the autoscaler removes surplus workers, the upgrade outdated ones": {
			rolling(append(workers(2), raytest.Autoscaling())), []*corev1.Pod{head, worker("a", "old"), worker("b", "old"), worker("c", "new")},
			outcome{Delete: gone("a", "b"), Keep: []string{"c", "head"}}, nil, Upgrade{InProgress: true, Groups: []GroupUpgrade{{"cpu", 1, 2}}},
		},
		"the replicas of several hosts go as a whole": {
			rolling(workers(2, raytest.Hosts(2))), []*corev1.Pod{
				head, worker("a0", "old", raytest.Host("a", 0, 0)), worker("a1", "old", raytest.Host("a", 0, 1)),
				worker("b0", "new", raytest.Host("b", 1, 0)), worker("b1", "old", raytest.Host("b", 1, 1)),
			},
			outcome{Delete: gone("b0", "b1"), Keep: []string{"a0", "a1", "head"}}, nil,
			Upgrade{InProgress: true, Groups: []GroupUpgrade{{"cpu", 0, 4}}},
		},
		"no outdated replica gets hosts with another template": {
			rolling(workers(1, raytest.Hosts(2)), paused, "true"), []*corev1.Pod{head, worker("a0", "old", raytest.Host("a", 0, 0), raytest.Phase(corev1.PodPending))},
			outcome{Workers: []Create{{Replicas: []Replica{{Index: 1, Hosts: []int{0, 1}}}}}, Delete: map[string]Reason{"a0": ReasonReplicaIncomplete}, Keep: []string{"head"}},
			nil, Upgrade{Groups: []GroupUpgrade{{"cpu", 0, 2}}},
		},
		"the head is last": {
			rolling(workers(1)), []*corev1.Pod{headFrom("old", tolerant), worker("a", "new", raytest.NotReady())},
			outcome{Keep: []string{"a", "head"}}, nil, Upgrade{InProgress: true, Groups: []GroupUpgrade{{"cpu", 0, 1}}, HeadFollows: true},
		},
		"the head with fault tolerance": {
			rolling(workers(1)), []*corev1.Pod{headFrom("old", tolerant), worker("a", "new")},
			outcome{Delete: gone("head"), Keep: []string{"a"}}, nil, Upgrade{InProgress: true, Groups: []GroupUpgrade{{"cpu", 1, 1}}, HeadFollows: true},
		},
		"the head without fault tolerance": {
			rolling(workers(1)), []*corev1.Pod{headFrom("old"), worker("a", "new")},
			outcome{Keep: []string{"a", "head"}}, nil, Upgrade{Groups: []GroupUpgrade{{"cpu", 1, 1}}, HeadStays: true},
		},
		"an upgrade ends when the new head is ready": {
			rolling(append(workers(1), raytest.Condition(rayv1.RayClusterUpgradeInProgress, metav1.ConditionTrue))),
			[]*corev1.Pod{headFrom("new", raytest.NotReady()), worker("a", "new")},
			outcome{Keep: []string{"a", "head"}}, nil, Upgrade{InProgress: true, Groups: []GroupUpgrade{{"cpu", 1, 1}}},
		},
		"Pods of before the annotation are marked if the spec is that of the head": {
			rolling(workers(1)), []*corev1.Pod{headFrom("", spec), worker("a", "")},
			outcome{Keep: []string{"a", "head"}}, []string{"head", "a"}, Upgrade{Groups: []GroupUpgrade{{"cpu", 1, 1}}},
		},
		"and else are outdated": {
			rolling(workers(1)), []*corev1.Pod{headFrom("", spec, raytest.CreatedAfter(time.Hour)), worker("a", "")},
			outcome{Delete: gone("a"), Keep: []string{"head"}}, []string{"head"}, Upgrade{InProgress: true, Groups: []GroupUpgrade{{"cpu", 0, 1}}},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := planOf(tc.cluster, tc.pods)
			if diff := gocmp.Diff(tc.want, outcomeOf(got)); diff != "" {
				t.Errorf("plan (-want +got):\n%s", diff)
			}
			var mark []string
			for _, pod := range got.Mark {
				mark = append(mark, pod.Name)
			}
			if diff := gocmp.Diff(tc.mark, mark); diff != "" {
				t.Errorf("marked Pods (-want +got):\n%s", diff)
			}
			if got.Upgrade == nil {
				got.Upgrade = &Upgrade{}
			}
			if diff := gocmp.Diff(tc.upgrade, *got.Upgrade); diff != "" {
				t.Errorf("progress (-want +got):\n%s", diff)
			}
		})
	}
}

// FuzzRolling plays random upgrades forward: replacements become ready some time later, and the size, the limits and the template change. Ready
// replicas never fall below what the limits allow, the surge is kept, and all ends with the template.
func FuzzRolling(f *testing.F) {
	for seed := range uint64(200) {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, seed uint64) {
		r := rand.New(rand.NewPCG(seed, 2))
		hosts, template := 1+r.Int32N(2), "old"
		rc := rolling([]raytest.ClusterOption{raytest.Workers("cpu", r.Int32N(6), raytest.Hosts(hosts))},
			rayv1.AnnotationMaxUnavailable, fmt.Sprint(r.IntN(3)), rayv1.AnnotationMaxSurge, []string{"0", "1", "50%"}[r.IntN(3)])
		g := &rc.Spec.WorkerGroupSpecs[0]
		var pods []*corev1.Pod
		for round := range 100 {
			changing := round < 40
			if changing && r.IntN(6) == 0 {
				*g.Replicas = r.Int32N(6)
			}
			if changing && r.IntN(6) == 0 {
				template = []string{"old", "new"}[r.IntN(2)]
			}
			rc.Annotations[rayv1.AnnotationUpgradePaused] = fmt.Sprint(changing && r.IntN(4) == 0)
			for _, pod := range pods {
				if r.IntN(3) == 0 {
					Condition(pod, corev1.PodReady).Status = corev1.ConditionTrue
				}
			}
			plan := For(Input{
				Cluster: rc, Pods: append(pods, raytest.HeadPod(rc, "head", raytest.PodAnnotation(rayv1.AnnotationTemplateHash, "new"))), Replicas: true,
				Rolling: &Rolling{RollingUpdate: rc.RollingUpdate(), Hashes: map[string]string{"cpu": template, "headgroup": "new"}},
			})
			if r.IntN(5) == 0 {
				plan.Delete = nil // is refused
			}
			before := pods
			pods = slices.DeleteFunc(apply(rc, pods, plan, round), func(pod *corev1.Pod) bool { return pod.Name == "head" })
			assertLimits(t, rc, before, pods, plan)
			for _, pod := range pods {
				if pod.Annotations[rayv1.AnnotationTemplateHash] == "" {
					raytest.PodAnnotation(rayv1.AnnotationTemplateHash, template)(pod)
					raytest.NotReady()(pod)
				}
			}
		}
		assertWorkers(t, rc, pods)
		for _, pod := range pods {
			if pod.Annotations[rayv1.AnnotationTemplateHash] != template {
				t.Errorf("%s still has the template %s", pod.Name, pod.Annotations[rayv1.AnnotationTemplateHash])
			}
		}
	})
}

// assertLimits compares the Pods before and after a plan with the limits of the cluster.
func assertLimits(t *testing.T, rc *rayv1.RayCluster, before, after []*corev1.Pod, plan Plan) {
	t.Helper()
	g := &rc.Spec.WorkerGroupSpecs[0]
	unavailable, surge := rc.RollingUpdate().Limits(int(DesiredReplicas(g)))
	ready := func(list []*corev1.Pod) (n int) { // replicas all of whose hosts are ready
		up := map[string]int32{}
		for _, pod := range list {
			if Ready(pod) && pod.Annotations[rayv1.AnnotationTemplateHash] != "" {
				up[cmp.Or(pod.Labels[rayv1.LabelWorkerGroupReplicaName], pod.Name)]++
			}
		}
		for _, hosts := range up {
			if hosts == g.NumOfHosts {
				n++
			}
		}
		return n
	}
	if least := int(DesiredReplicas(g)) - unavailable; ready(after) < min(least, ready(before)) {
		t.Errorf("%d replicas are ready of %d before, at least %d have to be", ready(after), ready(before), least)
	}
	if most := (int(DesiredReplicas(g)) + surge) * int(hosts(g)); len(after) > max(most, len(before)) {
		t.Errorf("%d Pods, at most %d are allowed", len(after), most)
	}
	if rc.RollingUpdate().Paused && slices.ContainsFunc(plan.Delete, func(d Deletion) bool { return d.Reason == rolled }) {
		t.Error("a Pod is replaced during a pause")
	}
}

// A worker that is drained is on its way out: it counts no more, its replacement begins, and its deletion is in each plan, whatever the cluster wants.
func TestDrainingWorkers(t *testing.T) {
	draining := raytest.PodAnnotation(rayv1.AnnotationDrainingSince, "2026-11-26T18:00:00Z")
	for name, tc := range map[string]struct {
		opts []raytest.ClusterOption
		want outcome
	}{
		"as before":            {nil, outcome{Workers: []Create{{Replicas: at(0)}}, Delete: map[string]Reason{"a": ReasonDraining}, Keep: []string{"b", "head"}}},
		"of a suspended group": {[]raytest.ClusterOption{raytest.Spec(func(s *rayv1.RayClusterSpec) { s.WorkerGroupSpecs[0].Suspend = new(true) })}, outcome{Delete: map[string]Reason{"a": ReasonDraining, "b": ReasonGroupSuspended}, Keep: []string{"head"}}},
		"of a suspended cluster": {
			[]raytest.ClusterOption{raytest.Condition(rayv1.RayClusterSuspending, metav1.ConditionTrue)},
			outcome{Delete: map[string]Reason{"a": ReasonDraining, "b": ReasonSuspended, "head": ReasonSuspended}},
		},
	} {
		rc := raytest.RayCluster("ns/demo", append([]raytest.ClusterOption{raytest.Workers("cpu", 2)}, tc.opts...)...)
		pods := []*corev1.Pod{raytest.HeadPod(rc, "head"), raytest.WorkerPod(rc, "cpu", "a", draining), raytest.WorkerPod(rc, "cpu", "b")}
		if diff := gocmp.Diff(tc.want, outcomeOf(planOf(rc, pods))); diff != "" {
			t.Errorf("%s: plan (-want +got):\n%s", name, diff)
		}
	}
}
