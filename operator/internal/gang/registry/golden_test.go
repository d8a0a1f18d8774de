package registry_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/internal/testing/golden"
	"github.com/raygate/raygate/internal/testing/raytest"
	"github.com/raygate/raygate/operator/internal/build/pod"
	"github.com/raygate/raygate/operator/internal/gang"
	"github.com/raygate/raygate/operator/internal/gang/registry"
)

const was = "" // the scheduler of Kubernetes has no name in settings

func labels(pairs ...string) raytest.ClusterOption {
	kv := map[string]string{}
	for i := 0; i+1 < len(pairs); i += 2 {
		kv[pairs[i]] = pairs[i+1]
	}
	return raytest.Labels(kv)
}

func scheduler(name string) gang.Scheduler {
	if name == was {
		return registry.Kubernetes()
	}
	return registry.Find(name)
}

// cluster has a head with 1 CPU and 2Gi and two groups whose workers have 1 CPU and 1Gi: cpu with 3 of at least 2
// replicas, and slice with 2 of at least 1 replica of 4 hosts.
func cluster(opts ...raytest.ClusterOption) *rayv1.RayCluster {
	return raytest.RayCluster("ns/demo", append([]raytest.ClusterOption{
		raytest.Workers("cpu", 3, raytest.Bounds(2, 10)),
		raytest.Workers("slice", 2, raytest.Bounds(1, 10), raytest.Hosts(4)),
	}, opts...)...)
}

func ofCluster(rc *rayv1.RayCluster) *gang.Workload { return gang.ForCluster(rc, pod.Options{}) }

func job(change func(*gang.Workload)) *gang.Workload {
	w := ofCluster(cluster(labels(rayv1.LabelVolcanoQueueName, "research", rayv1.LabelKAIQueue, "research",
		rayv1.LabelYuniKornAppID, "app-1", rayv1.LabelGangSchedulingEnabled, "true")))
	w.Owner.Kind, w.Owner.Name = gang.KindRayJob, "train"
	w.Submitter = &gang.Member{
		Name: rayv1.SubmitterGroupName, Desired: 1, Min: 1, Template: &corev1.PodTemplateSpec{},
		Resources: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("500m")},
	}
	change(w)
	return w
}

func asks(cpu, memory string) corev1.Container {
	return corev1.Container{Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{
		corev1.ResourceCPU: resource.MustParse(cpu), corev1.ResourceMemory: resource.MustParse(memory),
	}}}
}

// TestGolden shows what is written for every scheduler and what a Pod of the group cpu gets. A case differs from another in one
// thing.
func TestGolden(t *testing.T) {
	gangLabel := func(value string) raytest.ClusterOption { return labels(rayv1.LabelGangSchedulingEnabled, value) }
	cases := map[string]struct {
		scheduler string
		workload  *gang.Workload
		version   string // of the objects; empty for the preferred one
	}{
		"volcano":             {scheduler: "volcano", workload: ofCluster(cluster(raytest.Annotations(map[string]string{"team": "a", corev1.LastAppliedConfigAnnotation: "{}"})))},
		"volcano-queue":       {scheduler: "volcano", workload: ofCluster(cluster(labels(rayv1.LabelVolcanoQueueName, "research", rayv1.LabelPriorityClassName, "high")))},
		"volcano-topology":    {scheduler: "volcano", workload: ofCluster(cluster(labels(rayv1.LabelVolcanoNetworkTopologyMode, "hard", rayv1.LabelVolcanoNetworkTopologyHighestTierAllowed, "2")))},
		"volcano-bad-tier":    {scheduler: "volcano", workload: ofCluster(cluster(labels(rayv1.LabelVolcanoNetworkTopologyMode, "hard", rayv1.LabelVolcanoNetworkTopologyHighestTierAllowed, "two")))},
		"volcano-tier-alone":  {scheduler: "volcano", workload: ofCluster(cluster(labels(rayv1.LabelVolcanoNetworkTopologyHighestTierAllowed, "2")))},
		"volcano-autoscaling": {scheduler: "volcano", workload: ofCluster(cluster(raytest.Autoscaling()))},
		"volcano-sidecars": {scheduler: "volcano", workload: gang.ForCluster(cluster(), pod.Options{
			HeadSidecars:   []corev1.Container{asks("2", "1Gi")},
			WorkerSidecars: []corev1.Container{asks("100m", "10Mi")},
		})},
		"volcano-of-a-job": {scheduler: "volcano", workload: ofCluster(cluster(labels(rayv1.LabelOriginatedFromCRD, "RayJob", rayv1.LabelOriginatedFromCRName, "train")))},
		"volcano-job":      {scheduler: "volcano", workload: job(func(*gang.Workload) {})},
		"volcano-job-over": {scheduler: "volcano", workload: job(func(w *gang.Workload) { w.Members, w.Submitter = nil, nil })},

		"yunikorn":            {scheduler: "yunikorn", workload: ofCluster(cluster(labels(rayv1.LabelYuniKornAppID, "app-1", rayv1.LabelYuniKornQueue, "root.a")))},
		"yunikorn-gang":       {scheduler: "yunikorn", workload: ofCluster(cluster(gangLabel("false"), labels(rayv1.LabelYuniKornAppID, "app-1")))},
		"yunikorn-own-groups": {scheduler: "yunikorn", workload: ofCluster(cluster(gangLabel(""), labels(rayv1.LabelYuniKornAppID, "app-1"), raytest.Annotations(map[string]string{rayv1.AnnotationYuniKornTaskGroups: "[]"})))},
		"yunikorn-suspended":  {scheduler: "yunikorn", workload: ofCluster(raytest.RayCluster("ns/demo", gangLabel("true"), labels(rayv1.LabelYuniKornAppID, "app-1"), raytest.Workers("cpu", 1, raytest.SuspendGroup())))},
		"yunikorn-no-app":     {scheduler: "yunikorn", workload: ofCluster(raytest.RayCluster("ns/demo", gangLabel("true")))},
		"yunikorn-template": {scheduler: "yunikorn", workload: ofCluster(raytest.RayCluster("ns/demo", gangLabel("true"), labels(rayv1.LabelYuniKornAppID, "app-1"),
			raytest.Head(func(h *rayv1.HeadGroupSpec) {
				h.Template.Spec.NodeSelector = map[string]string{"zone": "a"}
				h.Template.Spec.Tolerations = []corev1.Toleration{{Key: "gpu", Operator: corev1.TolerationOpExists}}
				h.Template.Spec.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{}}
			})))},
		"yunikorn-job": {scheduler: "yunikorn", workload: job(func(*gang.Workload) {})},

		"scheduler-plugins":      {scheduler: "scheduler-plugins", workload: ofCluster(cluster())},
		"scheduler-plugins-gang": {scheduler: "scheduler-plugins", workload: ofCluster(cluster(gangLabel("yes"), raytest.Autoscaling()))},
		"scheduler-plugins-job":  {scheduler: "scheduler-plugins", workload: job(func(*gang.Workload) {})},

		"kai":          {scheduler: "kai-scheduler", workload: ofCluster(cluster(labels(rayv1.LabelKAIQueue, "research")))},
		"kai-no-queue": {scheduler: "kai-scheduler", workload: ofCluster(cluster())},
		"kai-job":      {scheduler: "kai-scheduler", workload: job(func(w *gang.Workload) { w.Submitter = &gang.Member{} })},

		"kubernetes":             {scheduler: was, workload: ofCluster(cluster(gangLabel("True")))},
		"kubernetes-1.36":        {scheduler: was, workload: ofCluster(cluster(gangLabel("true"))), version: "v1alpha2"},
		"kubernetes-autoscaling": {scheduler: was, workload: ofCluster(cluster(gangLabel("true"), raytest.Autoscaling()))},
		"kubernetes-no-gang":     {scheduler: was, workload: ofCluster(cluster(gangLabel("false")))},
		"kubernetes-job":         {scheduler: was, workload: job(func(*gang.Workload) {})},
	}
	unused := map[string]bool{}
	files, err := filepath.Glob("testdata/*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		unused[strings.TrimSuffix(filepath.Base(f), ".yaml")] = true
	}
	for name, tc := range cases {
		delete(unused, name)
		t.Run(name, func(t *testing.T) {
			s := scheduler(tc.scheduler)
			got := planned(t, s.Plan(tc.workload), tc.version) + "---\n" + decorated(t, s, tc.workload)
			golden.Text(t, "testdata/"+name+".yaml", got)
		})
	}
	for name := range unused {
		t.Errorf("testdata/%s.yaml belongs to no case", name)
	}
}

// planned is the plan as YAML.
func planned(t *testing.T, p gang.Plan, version string) string {
	t.Helper()
	var objects []map[string]any
	for _, o := range p.Objects {
		v := version
		if v == "" {
			v = o.Kind.Versions[0]
		}
		shown := map[string]any{"object": o.Kind.Group + "/" + v + " " + o.Kind.Kind + " " + o.Name}
		objects = append(objects, shown)
		if o.Absent {
			shown["absent"] = true
			continue
		}
		shown["spec"] = o.Spec(v)
		for key, value := range map[string]any{
			"labels": o.Labels, "annotations": o.Annotations, "controller": o.Controller, "status": o.Status,
			"follow": o.Follow, "fixed": o.Fixed != nil && o.Fixed(v), "finalizer": o.Finalizer,
		} {
			if text := asYAML(t, value); text != "null\n" && text != "false\n" && text != "\"\"\n" {
				shown[key] = value
			}
		}
	}
	all := map[string]any{}
	if objects != nil {
		all["objects"] = objects
	}
	if p.Problems != nil {
		all["problems"] = p.Problems
	}
	if p.Refusal != "" {
		all["refusal"] = p.Refusal
	}
	return asYAML(t, all)
}

// decorated is what the scheduler adds to a Pod that asks for another one, as YAML.
func decorated(t *testing.T, s gang.Scheduler, w *gang.Workload) string {
	t.Helper()
	p := &corev1.Pod{Spec: corev1.PodSpec{SchedulerName: "theirs"}}
	s.Decorate(w, "cpu", &p.ObjectMeta, &p.Spec)
	var meta metav1.ObjectMeta // of what is no Pod
	s.Decorate(w, "cpu", &meta, nil)
	if diff := cmp.Diff(p.ObjectMeta, meta); diff != "" {
		t.Errorf("metadata without a Pod differs (-Pod +other):\n%s", diff)
	}
	shown := map[string]any{"schedulerName": p.Spec.SchedulerName}
	if p.Labels != nil {
		shown["labels"] = p.Labels
	}
	if p.Annotations != nil {
		shown["annotations"] = p.Annotations
	}
	if p.Spec.SchedulingGroup != nil {
		shown["schedulingGroup"] = p.Spec.SchedulingGroup
	}
	return asYAML(t, shown)
}

func asYAML(t *testing.T, v any) string {
	t.Helper()
	raw, err := yaml.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}
