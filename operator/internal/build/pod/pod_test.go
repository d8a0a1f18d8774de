package pod

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/internal/testing/raytest"
)

func TestOptions(t *testing.T) {
	rc := raytest.RayCluster("ns/demo",
		raytest.Head(func(h *rayv1.HeadGroupSpec) {
			h.Template.Labels = map[string]string{"team": "user"}
			h.Template.Spec.Containers[0].Env = []corev1.EnvVar{{Name: "A", Value: "user"}}
		}),
		raytest.Workers("cpu", 1))
	o := Options{
		ClusterDomain:         "corp.example",
		NoInitContainer:       true,
		NoProbes:              true,
		LoginShell:            true,
		DeterministicHeadName: true,
		Env:                   []corev1.EnvVar{{Name: "A", Value: "operator"}, {Name: "B", Value: "operator"}},
		Labels:                map[string]string{"team": "operator", "cost": "operator", rayv1.LabelCluster: "operator"},
		Annotations:           map[string]string{"note": "operator", rayv1.AnnotationFTEnabled: "operator"},
		HeadSidecars:          []corev1.Container{{Name: "for-head"}},
		WorkerSidecars:        []corev1.Container{{Name: "for-worker"}},
	}
	head, worker := Head(rc, o), Worker(rc, &rc.Spec.WorkerGroupSpecs[0], o)
	got := map[string]string{
		"name":        head.Name + "/" + head.GenerateName,
		"team":        head.Labels["team"],
		"cost":        head.Labels["cost"],
		"cluster":     head.Labels[rayv1.LabelCluster],
		"note":        head.Annotations["note"],
		"ft":          head.Annotations[rayv1.AnnotationFTEnabled],
		"A":           valueOf(t, head, "A"),
		"B":           valueOf(t, head, "B"),
		"shell":       head.Spec.Containers[0].Command[1],
		"head side":   head.Spec.Containers[1].Name,
		"worker side": worker.Spec.Containers[1].Name,
		"host":        valueOf(t, worker, "FQ_RAY_IP"),
	}
	want := map[string]string{
		"name": "demo-head/", "team": "user", "cost": "operator", "cluster": "demo", "note": "operator", "ft": "false", "A": "user", "B": "operator",
		"shell": "-cl", "head side": "for-head", "worker side": "for-worker", "host": "demo-head-svc.ns.svc.corp.example",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("effects of the options (-want +got):\n%s", diff)
	}
	if ray := worker.Spec.Containers[0]; len(worker.Spec.InitContainers) > 0 || ray.LivenessProbe != nil || ray.ReadinessProbe != nil {
		t.Errorf("want neither init container nor probes, got %+v", worker.Spec)
	}
}

func TestAnnotationsOfAClusterWinOverTheOperator(t *testing.T) {
	off := Options{NoInitContainer: true, NoProbes: true}
	login := Options{LoginShell: true}
	type effects struct{ Waits, Probes, Login bool }
	cases := map[string]struct {
		o           Options
		annotations map[string]string
		want        effects
	}{
		"nothing said":           {want: effects{Waits: true, Probes: true}},
		"no init container":      {annotations: map[string]string{rayv1.AnnotationWaitForHead: "False"}, want: effects{Probes: true}},
		"no probes":              {annotations: map[string]string{rayv1.AnnotationProbes: "false"}, want: effects{Waits: true}},
		"a login shell":          {annotations: map[string]string{rayv1.AnnotationLoginShell: "TRUE"}, want: effects{Waits: true, Probes: true, Login: true}},
		"as the operator has it": {o: off, want: effects{}},
		"in spite of the operator": {
			o: off, annotations: map[string]string{rayv1.AnnotationWaitForHead: "true", rayv1.AnnotationProbes: "true"}, want: effects{Waits: true, Probes: true},
		},
		"no login shell in spite of it": {o: login, annotations: map[string]string{rayv1.AnnotationLoginShell: "false"}, want: effects{Waits: true, Probes: true}},
		"what is neither":               {o: login, annotations: map[string]string{rayv1.AnnotationLoginShell: "no"}, want: effects{Waits: true, Probes: true, Login: true}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			rc := raytest.RayCluster("ns/demo", raytest.Workers("a", 1), raytest.Annotations(tc.annotations))
			for _, p := range []*corev1.Pod{Head(rc, tc.o), Worker(rc, &rc.Spec.WorkerGroupSpecs[0], tc.o)} {
				ray := p.Spec.Containers[0]
				got := effects{
					Waits:  len(p.Spec.InitContainers) > 0 || p.Labels[rayv1.LabelNodeType] == string(rayv1.HeadNode) && tc.want.Waits, // heads never do
					Probes: ray.ReadinessProbe != nil && ray.LivenessProbe != nil,
					Login:  ray.Command[1] == "-cl",
				}
				if diff := cmp.Diff(tc.want, got); diff != "" {
					t.Errorf("%s (-want +got):\n%s", p.GenerateName, diff)
				}
			}
		})
	}
}

func TestReplicaLabel(t *testing.T) {
	p := &corev1.Pod{}
	Replica{Index: 3}.Label(p)
	if diff := cmp.Diff(map[string]string{rayv1.LabelWorkerGroupReplicaIndex: "3"}, p.Labels); diff != "" {
		t.Errorf("labels of one host (-want +got):\n%s", diff)
	}
	Replica{Index: 1, Name: "tpu-abcde", Host: 2}.Label(p)
	want := map[string]string{
		rayv1.LabelWorkerGroupReplicaIndex: "1", rayv1.LabelWorkerGroupReplicaName: "tpu-abcde", rayv1.LabelReplicaHostIndex: "2",
	}
	if diff := cmp.Diff(want, p.Labels); diff != "" {
		t.Errorf("labels of several hosts (-want +got):\n%s", diff)
	}
}
