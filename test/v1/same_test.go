package v1

import (
	"encoding/json"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/raygate/raygate/internal/testing/programs"
	"github.com/raygate/raygate/proto/gen/go/kuberay"
)

// TestOneObject stores the object that V1 makes of a message through v2, kubectl and the Kubernetes-shaped path as well: one object is stored by all, and one
// verdict given by all.
func TestOneObject(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	full := w.cluster("by-v1")
	full.ClusterSpec.EnableInTreeAutoscaling = true
	full.ClusterSpec.AutoscalerOptions = &kuberay.AutoscalerOptions{UpscalingMode: "Default", IdleTimeoutSeconds: 30, Cpu: "500m", Memory: "512Mi"}
	full.ClusterSpec.HeadGroupSpec.Volumes = []*kuberay.Volume{{Name: "v", MountPath: "/v", VolumeType: kuberay.Volume_EMPTY_DIR, Storage: "1Gi"}, {Name: "c", MountPath: "/c", Source: "claim"}}
	full.ClusterSpec.HeadGroupSpec.Environment = &kuberay.EnvironmentVariables{Values: map[string]string{"A": "b"}, ValuesFrom: map[string]*kuberay.EnvValueFrom{"C": {Source: kuberay.EnvValueFrom_SECRET, Name: "s", Key: "k"}}}
	messages := map[string]struct {
		resource, collection, v2, kind string
		message                        message
	}{
		"cluster": {"rayclusters", "clusters", "clusters", "RayCluster", full},
		"job":     {"rayjobs", "jobs", "jobs", "RayJob", w.job("by-v1", "true")},
		"service": {"rayservices", "services", "services", "RayService", w.service("by-v1")},
	}
	for name, tc := range messages {
		t.Run(name, func(t *testing.T) {
			w := w.in(t)
			w.ok("POST", w.path(tc.collection), tc.message, tc.message.ProtoReflect().New().Interface())
			first := specOf(w, tc.kind, "by-v1")
			manifest := func(name string) []byte {
				data, err := json.Marshal(object{"apiVersion": "ray.io/v1", "kind": tc.kind, "metadata": object{"name": name, "namespace": w.namespace}, "spec": first})
				if err != nil {
					t.Fatal(err)
				}
				return data
			}
			for by, path := range map[string]string{"v2": "/apis/v2/namespaces/" + w.namespace + "/" + tc.v2, "path": w.kindPath(tc.resource)} {
				if code, answer, err := w.send(t.Context(), "POST", path, manifest("by-"+by)); err != nil || code != 201 {
					t.Fatalf("by %s: %d %s %v", by, code, answer, err)
				}
			}
			if out, code := kubectl(t, manifest("by-kubectl"), "create", "-f", "-"); code != 0 {
				t.Fatal(out)
			}
			for _, by := range []string{"v2", "path", "kubectl"} {
				if diff := cmp.Diff(first, specOf(w, tc.kind, "by-"+by)); diff != "" {
					t.Errorf("stored by %s (-V1 +it):\n%s", by, diff)
				}
			}
		})
	}
	t.Run("verdicts", func(t *testing.T) { testVerdicts(w.in(t)) })
}

// specOf reads the spec of an object as it is stored, without what the operator writes into it by itself: the id of a job.
func specOf(w *world, kind, name string) map[string]any {
	w.Helper()
	o := &unstructured.Unstructured{}
	o.SetAPIVersion("ray.io/v1")
	o.SetKind(kind)
	if err := product.kube.Get(w.Context(), client.ObjectKey{Namespace: w.namespace, Name: name}, o); err != nil {
		w.Fatal(err)
	}
	return o.Object["spec"].(map[string]any)
}

// kubectl runs kubectl, and returns what it printed and its exit code.
func kubectl(t *testing.T, input []byte, args ...string) (string, int) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), programs.Binary("k8s/kubectl"), append([]string{"--kubeconfig", product.env.Kubeconfig}, args...)...)
	cmd.Stdin = strings.NewReader(string(input))
	out, _ := cmd.CombinedOutput()
	return string(out), cmd.ProcessState.ExitCode()
}

// descriptions finds what an answer of v2 says of each violation.
var descriptions = regexp.MustCompile(`"description":\s*"((?:[^"\\]|\\.)*)"`)

// testVerdicts sends objects that V1 can express, and the same ones as custom resources. V1 and v2 accept the same objects, and refuse the
// others with the same text. kubectl can store every object that V1 accepts.
func testVerdicts(w *world) {
	head := func(spec object) object { return spec["headGroupSpec"].(object) }
	pod := func(spec object) object { return head(spec)["template"].(object)["spec"].(object) }
	ray := func(spec object) object { return pod(spec)["containers"].([]any)[0].(object) }
	worker := func(spec object) object { return spec["workerGroupSpecs"].([]any)[0].(object) }
	w.ok("POST", w.path("clusters"), w.cluster("good"), &kuberay.Cluster{})
	for name, tc := range map[string]struct {
		edit func(*kuberay.Cluster)
		same func(meta, spec object)
	}{
		"good": {func(*kuberay.Cluster) {}, func(object, object) {}},
		"a name that is too long": {
			func(c *kuberay.Cluster) { c.Name = strings.Repeat("n", 80) }, func(meta, _ object) { meta["name"] = strings.Repeat("n", 80) },
		},
		"two groups of one name": {
			func(c *kuberay.Cluster) {
				c.ClusterSpec.WorkerGroupSpec = append(c.ClusterSpec.WorkerGroupSpec, c.ClusterSpec.WorkerGroupSpec[0])
			},
			func(_, spec object) { spec["workerGroupSpecs"] = []any{worker(spec), worker(spec)} },
		},
		"negative replicas": {
			func(c *kuberay.Cluster) { c.ClusterSpec.WorkerGroupSpec[0].Replicas = -1 }, func(_, spec object) { worker(spec)["replicas"] = -1 },
		},
		"an upscaling mode that there is not": {
			func(c *kuberay.Cluster) {
				c.ClusterSpec.EnableInTreeAutoscaling, c.ClusterSpec.AutoscalerOptions = true, &kuberay.AutoscalerOptions{UpscalingMode: "Sometimes"}
			},
			func(_, spec object) {
				spec["enableInTreeAutoscaling"], spec["autoscalerOptions"] = true, object{"upscalingMode": "Sometimes"}
			},
		},
		"a mount without a path": {
			func(c *kuberay.Cluster) {
				c.ClusterSpec.HeadGroupSpec.Volumes = []*kuberay.Volume{{Name: "v", Source: "claim"}}
			},
			func(_, spec object) {
				pod(spec)["volumes"] = []any{object{"name": "v", "persistentVolumeClaim": object{"claimName": "claim"}}}
				ray(spec)["volumeMounts"] = []any{object{"name": "v", "mountPath": ""}}
			},
		},
		"a type of Service that there is not": {
			func(c *kuberay.Cluster) { c.ClusterSpec.HeadGroupSpec.ServiceType = "Sometimes" }, func(_, spec object) { head(spec)["serviceType"] = "Sometimes" },
		},
		"a variable without a name": {
			func(c *kuberay.Cluster) {
				c.ClusterSpec.HeadGroupSpec.Environment = &kuberay.EnvironmentVariables{Values: map[string]string{"": "x"}}
			},
			func(_, spec object) {
				ray(spec)["env"] = append(ray(spec)["env"].([]any), object{"name": "", "value": "x"})
			},
		},
	} {
		w.Run(name, func(t *testing.T) {
			w := w.in(t)
			name := "verdict-" + strings.ReplaceAll(name, " ", "-")
			c, meta, spec := w.cluster(name), object{"name": name, "namespace": w.namespace}, specOf(w, "RayCluster", "good")
			tc.edit(c)
			tc.same(meta, spec)
			tree, err := json.Marshal(object{"apiVersion": "ray.io/v1", "kind": "RayCluster", "metadata": meta, "spec": spec})
			if err != nil {
				t.Fatal(err)
			}
			code, answer, err := w.send(t.Context(), "POST", "/apis/v2/namespaces/"+w.namespace+"/clusters?validateOnly=true", tree)
			if err != nil {
				t.Fatal(err)
			}
			out, exit := kubectl(t, tree, "create", "--dry-run=server", "-f", "-")
			err = w.call(t.Context(), "POST", w.path("clusters"), c, &kuberay.Cluster{})
			switch {
			case err == nil && (code/100 != 2 || exit != 0):
				t.Errorf("V1 takes it, v2 answers %d %s, and kubectl %s", code, answer, out)
			case err != nil && (httpCode(err) != 400 || code != 400):
				t.Errorf("V1 answers %v, v2 %d %s", err, code, answer)
			}
			for _, found := range descriptions.FindAllStringSubmatch(string(answer), -1) {
				text, err2 := strconv.Unquote(`"` + found[1] + `"`)
				if err2 != nil || !strings.Contains(err.Error(), text) {
					t.Errorf("v2 says %q, V1 %v", found[1], err)
				}
			}
		})
	}
}
