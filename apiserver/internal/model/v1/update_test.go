package v1

import (
	"encoding/json"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/pkg/manifest"
	"github.com/raygate/raygate/proto/gen/go/kuberay"
)

// edited is a RayService that V1 made and others have changed since, in what V1 has fields for and in what it has none for.
const edited = `
apiVersion: ray.io/v1
kind: RayService
metadata:
  name: svc
  namespace: default
  resourceVersion: "7"
  finalizers: [example.org/f]
  labels: {ray.io/user: boris, app.kubernetes.io/managed-by: kuberay-apiserver, team: a}
  annotations: {ray.io/creation-timestamp: then, note: b}
spec:
  serveConfigV2: "applications: []"
  upgradeStrategy: {type: None}
  futureField: {x: 1}
  rayClusterConfig:
    rayVersion: 2.46.0
    gcsFaultToleranceOptions: {redisAddress: redis:6379}
    headGroupSpec:
      rayStartParams: {a: b}
      template:
        metadata: {annotations: {ray.io/compute-template: small, ray.io/compute-image: "image:1", sidecar.istio.io/inject: "false"}}
        spec:
          nodeSelector: {disk: ssd}
          tolerations: [{key: spot, operator: Exists}]
          volumes: [{name: tokens, projected: {sources: []}}, {name: code, configMap: {name: code, defaultMode: 420}}]
          containers:
          - name: ray-head
            image: image:1
            imagePullPolicy: IfNotPresent
            env:
            - {name: MY_POD_IP, valueFrom: {fieldRef: {apiVersion: v1, fieldPath: status.podIP}}}
            - {name: A, value: "1"}
            - {name: OPTIONAL, valueFrom: {secretKeyRef: {name: s, key: k, optional: true}}}
            ports: [{name: head, containerPort: 10001, protocol: TCP}]
            volumeMounts: [{name: code, mountPath: /code, subPath: sub}, {name: tokens, mountPath: /tokens}]
            livenessProbe: {exec: {command: [check]}}
            resources: {limits: {cpu: "1", memory: 4Gi, ephemeral-storage: 1Gi}, requests: {cpu: "1", memory: 4Gi}}
          - name: sidecar
            image: sidecar:1
    workerGroupSpecs:
    - groupName: a
      replicas: 1
      minReplicas: 0
      maxReplicas: 5
      numOfHosts: 2
      rayStartParams: {}
      template:
        metadata: {annotations: {ray.io/compute-template: small}}
        spec: {containers: [{name: worker, image: "image:1", resources: {limits: {cpu: "1", memory: 4Gi}, requests: {cpu: "1", memory: 4Gi}}}]}
    - groupName: b
      replicas: 1
      minReplicas: 1
      maxReplicas: 1
      rayStartParams: {}
      template: {spec: {containers: [{name: w, image: "image:1"}]}}
status: {serviceStatus: Running}
`

func treeOf(t testing.TB, text string) map[string]any {
	t.Helper()
	data, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	tree, err := manifest.ParseTree(data)
	if err != nil {
		t.Fatal(err)
	}
	return tree
}

func seenOf(t testing.TB, tree map[string]any) *kuberay.RayService {
	t.Helper()
	data, err := json.Marshal(tree)
	if err != nil {
		t.Fatal(err)
	}
	rs := &rayv1.RayService{}
	if err := json.Unmarshal(data, rs); err != nil {
		t.Fatal(err)
	}
	return ServiceFromRay(rs)
}

// TestUpdateChangesWhatHasChanged sends back what a client has read, with one change, and looks at what is different in the stored object afterwards. want are
// the paths and values that change; nil means that the member goes.
func TestUpdateChangesWhatHasChanged(t *testing.T) {
	for name, tc := range map[string]struct {
		edit func(*kuberay.RayService)
		want func(tree map[string]any)
	}{
		"nothing": {func(*kuberay.RayService) {}, func(map[string]any) {}},
		"the serve config": {
			func(s *kuberay.RayService) { s.ServeConfig_V2 = "applications: [{}]" },
			func(tree map[string]any) { dig(tree, "spec")["serveConfigV2"] = "applications: [{}]" },
		},
		"an image": {
			func(s *kuberay.RayService) { s.ClusterSpec.HeadGroupSpec.Image = "image:2" },
			func(tree map[string]any) {
				dig(tree, "spec", "rayClusterConfig", "headGroupSpec", "template", "metadata", "annotations")["ray.io/compute-image"] = "image:2"
				container(tree)["image"] = "image:2"
			},
		},
		"a variable": {
			func(s *kuberay.RayService) {
				s.ClusterSpec.HeadGroupSpec.Environment.Values = map[string]string{"A": "2", "Z": "3"}
			},
			func(tree map[string]any) {
				env := container(tree)["env"].([]any)
				env[1].(map[string]any)["value"] = "2"
				container(tree)["env"] = append(env, map[string]any{"name": "Z", "value": "3"})
			},
		},
		"no variables": {
			func(s *kuberay.RayService) { s.ClusterSpec.HeadGroupSpec.Environment = nil },
			func(tree map[string]any) { container(tree)["env"] = container(tree)["env"].([]any)[:1] },
		},
		"replicas, which leaves a lower bound of zero": {
			func(s *kuberay.RayService) { s.ClusterSpec.WorkerGroupSpec[0].Replicas = 3 },
			func(tree map[string]any) { groups(tree)[0].(map[string]any)["replicas"] = int64(3) },
		},
		"a lower bound": {
			func(s *kuberay.RayService) { s.ClusterSpec.WorkerGroupSpec[0].MinReplicas = 2 },
			func(tree map[string]any) { groups(tree)[0].(map[string]any)["minReplicas"] = int64(2) },
		},
		"a group": {
			func(s *kuberay.RayService) { s.ClusterSpec.WorkerGroupSpec = s.ClusterSpec.WorkerGroupSpec[:1] },
			func(tree map[string]any) {
				dig(tree, "spec", "rayClusterConfig")["workerGroupSpecs"] = groups(tree)[:1]
			},
		},
		"a size, which leaves what is not a template's": {
			func(s *kuberay.RayService) { s.ClusterSpec.HeadGroupSpec.ComputeTemplate = "gpu" },
			func(tree map[string]any) {
				dig(tree, "spec", "rayClusterConfig", "headGroupSpec", "template", "metadata", "annotations")["ray.io/compute-template"] = "gpu"
				size := map[string]any{"cpu": "2", "memory": "512Mi", "nvidia.com/gpu": "1", "vendor.example/dev": "2"}
				container(tree)["resources"] = map[string]any{"requests": size, "limits": map[string]any{
					"cpu": "2", "memory": "512Mi", "nvidia.com/gpu": "1", "vendor.example/dev": "2", "ephemeral-storage": "1Gi"}}
				pod := dig(tree, "spec", "rayClusterConfig", "headGroupSpec", "template", "spec")
				pod["tolerations"] = append(pod["tolerations"].([]any),
					map[string]any{"key": "a", "operator": "Exists", "effect": "NoSchedule"}, map[string]any{"key": "b", "operator": "Equal", "value": "c", "effect": "PreferNoSchedule"})
			},
		},
		"a volume": {
			func(s *kuberay.RayService) { s.ClusterSpec.HeadGroupSpec.Volumes = nil },
			func(tree map[string]any) {
				pod := dig(tree, "spec", "rayClusterConfig", "headGroupSpec", "template", "spec")
				pod["volumes"] = pod["volumes"].([]any)[:1]
				container(tree)["volumeMounts"] = container(tree)["volumeMounts"].([]any)[1:]
			},
		},
		"the owner": {
			func(s *kuberay.RayService) { s.User = "eva" },
			func(tree map[string]any) { dig(tree, "metadata", "labels")["ray.io/user"] = "eva" },
		},
	} {
		t.Run(name, func(t *testing.T) {
			stored := treeOf(t, edited)
			wanted := seenOf(t, stored)
			for _, g := range wanted.GetClusterSpec().GetWorkerGroupSpec() {
				g.ComputeTemplate = "small" // required, and group b has none
			}
			dig(groups(stored)[1].(map[string]any), "template")["metadata"] = map[string]any{"annotations": map[string]any{"ray.io/compute-template": "small"}}
			dig(groups(stored)[1].(map[string]any), "template", "spec")["containers"].([]any)[0].(map[string]any)["resources"] = map[string]any{
				"limits": map[string]any{"cpu": "1", "memory": "4Gi"}, "requests": map[string]any{"cpu": "1", "memory": "4Gi"}}
			tc.edit(wanted)
			want := runtime.DeepCopyJSON(stored)
			tc.want(want)
			dig(want, "metadata", "annotations")[annotationUpdated] = now.UTC().String()
			if errs, err := UpdateService(stored, wanted, templates, now); len(errs) > 0 || err != nil {
				t.Fatal(errs, err)
			}
			if diff := cmp.Diff(want, stored); diff != "" {
				t.Errorf("stored (-want +got):\n%s", diff)
			}
		})
	}
}

func dig(tree map[string]any, path ...string) map[string]any {
	for _, name := range path {
		tree = tree[name].(map[string]any)
	}
	return tree
}

func container(tree map[string]any) map[string]any {
	return dig(tree, "spec", "rayClusterConfig", "headGroupSpec", "template", "spec")["containers"].([]any)[0].(map[string]any)
}

func groups(tree map[string]any) []any {
	return dig(tree, "spec", "rayClusterConfig")["workerGroupSpecs"].([]any)
}

// FuzzRoundTrip makes a message of random fields, and demands that what V1 makes of it and shows again stays the same from then on, in an object that is
// updated with what it shows as well.
func FuzzRoundTrip(f *testing.F) {
	for seed := range uint64(20) {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, seed uint64) {
		r := rand.New(rand.NewPCG(seed, 1))
		s := &kuberay.RayService{}
		fill(r, s)
		s.Name, s.Namespace, s.Version = "svc", "default", "2.46.0"
		all := Templates{}
		for _, g := range append(groupsOf(s), s.ClusterSpec.HeadGroupSpec) {
			if _, known := all[g.GetComputeTemplate()]; !known {
				all[g.GetComputeTemplate()] = &kuberay.ComputeTemplate{Cpu: 1 + r.Uint32N(4), Memory: 1 + r.Uint32N(4), Gpu: r.Uint32N(2), Tolerations: []*kuberay.PodToleration{{Key: text(r)}}}
			}
		}
		quantities(r, s.ClusterSpec)
		first, errs := ServiceToRay(s, all, now)
		if len(errs) > 0 {
			t.Skip(errs)
		}
		seen := ServiceFromRay(first)
		stored, err := Tree(first)
		if err != nil {
			t.Fatal(err)
		}
		if again := seenOf(t, stored); !proto.Equal(seen, again) {
			t.Fatalf("shown twice, two things:\n%v\n%v", seen, again)
		}
		was := runtime.DeepCopyJSON(stored)
		later := now.Add(time.Hour)
		if errs, err := UpdateService(stored, seen, all, later); len(errs) > 0 || err != nil {
			t.Fatal(errs, err)
		}
		dig(was, "metadata", "annotations")[annotationUpdated] = later.String()
		if diff := cmp.Diff(was, stored); diff != "" {
			t.Errorf("an update with what was shown changes (-was +is):\n%s", diff)
		}
		if _, err := AppendJSON(nil, seen); err != nil {
			t.Error(err)
		}
	})
}

func groupsOf(s *kuberay.RayService) []group {
	var all []group
	for i, g := range s.GetClusterSpec().GetWorkerGroupSpec() {
		g.GroupName += string(rune('a' + i))
		all = append(all, g)
	}
	return all
}

// quantities makes texts that are read as quantities such, and the names of volumes different from each other.
func quantities(r *rand.Rand, spec *kuberay.ClusterSpec) {
	spec.AutoscalerOptions.Cpu, spec.AutoscalerOptions.Memory = "500m", "1Gi"
	lists := [][]*kuberay.Volume{spec.HeadGroupSpec.Volumes, spec.AutoscalerOptions.Volumes}
	for _, g := range spec.WorkerGroupSpec {
		lists = append(lists, g.Volumes)
	}
	for _, list := range lists {
		for i, v := range list {
			v.Storage, v.Name, v.MountPath = "1Gi", v.Name+string(rune('a'+i)), v.MountPath+string(rune('a'+i))
		}
	}
	_ = r
}

// FuzzHostileService updates whatever can be stored with whatever can be sent.
func FuzzHostileService(f *testing.F) {
	f.Add([]byte(`{"metadata":{},"spec":{"rayClusterConfig":{"workerGroupSpecs":[{"groupName":"a"},{"groupName":"a"}]}}}`), uint64(1))
	f.Add([]byte(`{"spec":{"rayClusterConfig":{"headGroupSpec":{"template":{"spec":{"containers":[{"env":[{"name":"a"},{"name":"a"}]}]}}}}}}`), uint64(2))
	f.Fuzz(func(t *testing.T, data []byte, seed uint64) {
		stored, err := manifest.ParseTree(data)
		if err != nil {
			t.Skip()
		}
		s := &kuberay.RayService{}
		fill(rand.New(rand.NewPCG(seed, 2)), s)
		quantities(nil, s.ClusterSpec)
		_, _ = UpdateService(stored, s, Templates{}, now)
	})
}
