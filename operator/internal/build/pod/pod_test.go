package pod

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	rayv1 "github.com/raygate/raygate/operator/api/ray/v1"
	"github.com/raygate/raygate/test/raytest"
)

func TestCommand(t *testing.T) {
	const (
		ulimit = "ulimit -n ${RAY_START_ULIMIT_OPEN_FILES:-65536}; "
		start  = "START"
	)
	overwrite := map[string]string{rayv1.AnnotationOverwriteContainerCmd: "True"}
	cases := map[string]struct {
		command, args, wantCommand, wantArgs []string
		annotations                          map[string]string
		login                                bool
	}{
		"no command":           {wantCommand: []string{"/bin/bash", "-c", "--"}, wantArgs: []string{ulimit + start}},
		"in a login shell":     {login: true, wantCommand: []string{"/bin/bash", "-cl", "--"}, wantArgs: []string{ulimit + start}},
		"after the user's own": {command: []string{"echo", "hi"}, args: []string{"there"}, wantCommand: []string{"/bin/bash", "-c", "--"}, wantArgs: []string{" echo  hi  there  && " + ulimit + start}},
		"the user starts Ray":  {args: []string{"exec ray start --head"}, wantArgs: []string{"exec ray start --head"}},
		"the user says so":     {command: []string{"mine"}, annotations: overwrite, wantCommand: []string{"mine"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			c := corev1.Container{Command: tc.command, Args: tc.args}
			setCommand(&c, tc.annotations, start, tc.login)
			if diff := cmp.Diff([][]string{tc.wantCommand, tc.wantArgs}, [][]string{c.Command, c.Args}); diff != "" {
				t.Errorf("command and args (-want +got):\n%s", diff)
			}
		})
	}
}

func TestTheClusterCanKeepAllCommands(t *testing.T) {
	rc := raytest.RayCluster("ns/demo", raytest.Workers("cpu", 1),
		raytest.Annotations(map[string]string{rayv1.AnnotationOverwriteContainerCmd: "TRUE"}))
	for _, p := range []*corev1.Pod{Head(rc, Options{}), Worker(rc, &rc.Spec.WorkerGroupSpecs[0], Options{})} {
		if p.Annotations[rayv1.AnnotationOverwriteContainerCmd] != "true" || p.Spec.Containers[0].Args != nil {
			t.Errorf("%s: want the annotation and no command, got %v and %v", p.GenerateName, p.Annotations, p.Spec.Containers[0].Args)
		}
		valueOf(t, p, "KUBERAY_GEN_RAY_START_CMD") // what users build their own command from
	}
}

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

func TestSharedMemory(t *testing.T) {
	cases := map[string]struct {
		change     func(*rayv1.HeadGroupSpec)
		wantVolume int
		wantMount  int
	}{
		"added": {func(*rayv1.HeadGroupSpec) {}, 1, 1},
		"not beside a mount of the user": {func(h *rayv1.HeadGroupSpec) {
			h.Template.Spec.Containers[0].VolumeMounts = []corev1.VolumeMount{{Name: "x", MountPath: "/dev/shm"}}
		}, 0, 1},
		"in a volume of the user": {func(h *rayv1.HeadGroupSpec) {
			h.Template.Spec.Volumes = []corev1.Volume{{Name: rayv1.VolumeSharedMemory}}
		}, 1, 1},
		"not with a plasma directory": {func(h *rayv1.HeadGroupSpec) { h.RayStartParams["plasma-directory"] = "" }, 0, 0},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			p := Head(raytest.RayCluster("ns/demo", raytest.HeadParams(nil), raytest.Head(tc.change)), Options{})
			if v, m := len(p.Spec.Volumes), len(p.Spec.Containers[0].VolumeMounts); v != tc.wantVolume || m != tc.wantMount {
				t.Errorf("want %d volumes and %d mounts, got %d and %d", tc.wantVolume, tc.wantMount, v, m)
			}
		})
	}
}

func TestProbeByRayVersion(t *testing.T) {
	for v, wantHTTP := range map[string]bool{"2.53.0": true, "2.53": true, "2.53.0rc1": true, "3.0": true, "2.52.9": false, "2": false, "nightly": false, "": false} {
		p := Head(raytest.RayCluster("ns/demo", raytest.RayVersion(v)), Options{})
		if got := p.Spec.Containers[0].LivenessProbe.HTTPGet != nil; got != wantHTTP {
			t.Errorf("HTTP probe with Ray %q: want %t, got %t", v, wantHTTP, got)
		}
	}
}

func TestSpecHash(t *testing.T) {
	base := func() *rayv1.RayCluster { return raytest.RayCluster("ns/demo", raytest.Workers("cpu", 1)) }
	recreate := rayv1.RayClusterRecreate
	gate := []corev1.PodSchedulingGate{{Name: "g"}}
	same := map[string]func(*rayv1.RayClusterSpec){
		"nothing":  func(*rayv1.RayClusterSpec) {},
		"replicas": func(s *rayv1.RayClusterSpec) { s.WorkerGroupSpecs[0].Replicas = new(int32(7)) },
		"bounds": func(s *rayv1.RayClusterSpec) {
			s.WorkerGroupSpecs[0].MinReplicas, s.WorkerGroupSpecs[0].MaxReplicas = new(int32(1)), nil
		},
		"workersToDelete": func(s *rayv1.RayClusterSpec) { s.WorkerGroupSpecs[0].ScaleStrategy.WorkersToDelete = []string{"a"} },
		"tolerations": func(s *rayv1.RayClusterSpec) {
			s.HeadGroupSpec.Template.Spec.Tolerations = []corev1.Toleration{{Key: "k"}}
		},
		"schedulingGates": func(s *rayv1.RayClusterSpec) { s.WorkerGroupSpecs[0].Template.Spec.SchedulingGates = gate },
		"upgradeStrategy": func(s *rayv1.RayClusterSpec) { s.UpgradeStrategy = &rayv1.RayClusterUpgradeStrategy{Type: &recreate} },
		"empty parameters": func(s *rayv1.RayClusterSpec) {
			s.HeadGroupSpec.RayStartParams, s.WorkerGroupSpecs[0].RayStartParams = map[string]string{}, nil
		},
	}
	other := map[string]func(*rayv1.RayClusterSpec){
		"image":      func(s *rayv1.RayClusterSpec) { s.HeadGroupSpec.Template.Spec.Containers[0].Image = "x" },
		"parameters": func(s *rayv1.RayClusterSpec) { s.WorkerGroupSpecs[0].RayStartParams = map[string]string{"a": "b"} },
		"rayVersion": func(s *rayv1.RayClusterSpec) { s.RayVersion = "3" },
		"new group": func(s *rayv1.RayClusterSpec) {
			s.WorkerGroupSpecs = append(s.WorkerGroupSpecs, rayv1.WorkerGroupSpec{})
		},
	}
	want := SpecHash(&base().Spec)
	if len(want) != 32 {
		t.Errorf("want 32 characters, got %q", want)
	}
	for name, change := range same {
		rc := base()
		change(&rc.Spec)
		if got := SpecHash(&rc.Spec); got != want {
			t.Errorf("%s changed the hash", name)
		}
	}
	for name, change := range other {
		rc := base()
		change(&rc.Spec)
		if got := SpecHash(&rc.Spec); got == want {
			t.Errorf("%s did not change the hash", name)
		}
	}
}
