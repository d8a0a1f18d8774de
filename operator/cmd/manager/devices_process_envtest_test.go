package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/internal/testing/raytest"
	"github.com/raygate/raygate/operator/internal/webhook/registration"
	"github.com/raygate/raygate/test/controlplane"
)

// deviceGroup is a worker group that asks for "name=amount name=amount".
func deviceGroup(name, asks string, edit ...raytest.GroupOption) raytest.ClusterOption {
	return raytest.Workers(name, 1, append(edit, raytest.GroupContainer(func(c *corev1.Container) {
		c.Resources = corev1.ResourceRequirements{Limits: corev1.ResourceList{"cpu": resource.MustParse("1")}}
		for pair := range strings.FieldsSeq(asks) {
			resourceName, n, _ := strings.Cut(pair, "=")
			c.Resources.Limits[corev1.ResourceName(resourceName)] = resource.MustParse(n)
		}
	}))...)
}

// TestDeviceAdmissionOfTheProcess runs the operator with device admission, as the component installs it: the numbers that Ray is started with are those of the container
// after admission, also when nobody completes Pods; what the user says instead is kept, with a warning; what the autoscaler cannot see is stored.
func TestDeviceAdmissionOfTheProcess(t *testing.T) {
	ctx, env, admin, must := installed(t)
	installComponent(ctx, t, admin, "device-admission")
	lb := newBalancer(t)
	installWebhooks(ctx, t, admin, lb.port(), selfManagedObjects(t)...)
	registerDevices(ctx, t, admin, lb.port())
	replica := startReplica(ctx, t, admin, operatorKubeconfig(ctx, t, env, admin), append(slices.Clone(selfManaged), "--device-registry=shipped", "--device-autoscaler-facts")...)
	lb.add(replica.port)
	warnings := &controlplane.Warnings{}
	config := rest.CopyConfig(env.Config)
	config.WarningHandler = warnings
	c, err := client.New(config, client.Options{Scheme: controlplane.Scheme(t)})
	must(err)
	eventually(ctx, t, "Pods to be completed", func() bool {
		probe := &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "probe", Labels: map[string]string{rayv1.LabelNodeType: "worker"}},
			Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "i", Resources: corev1.ResourceRequirements{Limits: corev1.ResourceList{"nvidia.com/gpumem": resource.MustParse("1")}}}}},
		}
		err := c.Create(ctx, probe, client.DryRunAll)
		q := probe.Spec.Containers[0].Resources.Limits["nvidia.com/gpu"]
		return err == nil && q.Value() == 1
	})
	warnings.Take()

	groups := map[string]struct{ asks, flags, limits string }{
		"slices":   {"nvidia.com/gpu=2 nvidia.com/gpumem=4096 nvidia.com/gpucores=30", "--num-gpus=2", "nvidia.com/gpu=2 nvidia.com/gpucores=30 nvidia.com/gpumem=4096"},
		"whole":    {"nvidia.com/gpu=1", "--num-gpus=1", "nvidia.com/gpu=1 nvidia.com/gpucores=100"},
		"memory":   {"nvidia.com/gpumem=3000", "--num-gpus=1", "nvidia.com/gpu=1 nvidia.com/gpumem=3000"},
		"cores":    {"nvidia.com/gpucores=30", "--num-gpus=1", "nvidia.com/gpu=1 nvidia.com/gpucores=30"},
		"share":    {"nvidia.com/gpu=1 nvidia.com/gpumem-percentage=50", "--num-gpus=1", "nvidia.com/gpu=1 nvidia.com/gpumem-percentage=50"},
		"zero":     {"nvidia.com/gpu=0", "--num-gpus=0", "nvidia.com/gpu=0"},
		"instance": {"nvidia.com/mig-1g.10gb=2", "--num-gpus=2", "nvidia.com/mig-1g.10gb=2"},
		"ascend":   {"huawei.com/Ascend910B3=1 huawei.com/Ascend910B3-memory=5000", `--resources='{"NPU":1}'`, "huawei.com/Ascend910B3-memory=16384 huawei.com/Ascend910B3=1"},
	}
	check := func(cluster string) {
		t.Helper()
		options := []raytest.ClusterOption{raytest.Autoscaling()}
		for name, g := range groups {
			options = append(options, deviceGroup(name, g.asks))
		}
		rc := raytest.RayCluster("default/"+cluster, options...)
		rc.UID, rc.Generation = "", 0
		must(c.Create(ctx, rc))
		t.Cleanup(func() { _ = admin.Delete(context.Background(), rc) })
		var pods corev1.PodList
		eventually(ctx, t, "all Pods of "+cluster, func() bool {
			must(c.List(ctx, &pods, client.InNamespace("default"), client.MatchingLabels{rayv1.LabelCluster: cluster}))
			return len(pods.Items) == len(groups)+1
		})
		for i := range pods.Items {
			p := &pods.Items[i]
			g, ok := groups[p.Labels[rayv1.LabelGroup]]
			if !ok {
				continue // the head
			}
			if got := rayFlags(p); got != g.flags {
				t.Errorf("%s, %s: Ray is started with %s, want %s", cluster, p.Labels[rayv1.LabelGroup], got, g.flags)
			}
			if got := deviceLimits(p.Spec.Containers[0].Resources.Limits); got != g.limits {
				t.Errorf("%s, %s: the container has %s, want %s", cluster, p.Labels[rayv1.LabelGroup], got, g.limits)
			}
			if got := deviceLimits(p.Spec.Containers[0].Resources.Requests); got != g.limits {
				t.Errorf("%s, %s: the container requests %s, want %s", cluster, p.Labels[rayv1.LabelGroup], got, g.limits)
			}
		}
		stored := map[string]string{} // R4
		eventually(ctx, t, "what the autoscaler has to know", func() bool {
			must(c.Get(ctx, client.ObjectKeyFromObject(rc), rc))
			clear(stored)
			for _, g := range rc.Spec.WorkerGroupSpecs {
				for key, value := range g.RayStartParams {
					stored[g.GroupName] += key + "=" + value
				}
			}
			return stored["memory"] != ""
		})
		want := map[string]string{"memory": "num-gpus=1", "cores": "num-gpus=1", "instance": "num-gpus=2", "ascend": `resources='{"NPU":1}'`}
		if fmt.Sprint(stored) != fmt.Sprint(want) {
			t.Errorf("%s: stored %v, want %v", cluster, stored, want)
		}
	}
	check("devices-admitted") // R1

	// Another number is kept, with a warning; so are Pods that will be refused.
	warnings.Take()
	rc := raytest.RayCluster("default/devices-of-the-user", deviceGroup("gpu", "nvidia.com/gpu=2 nvidia.com/gpumem=4096", raytest.GroupParams(map[string]string{"num-gpus": "8"})), deviceGroup("wrong", "nvidia.com/gpumem=8Gi"))
	rc.UID, rc.Generation = "", 0
	must(c.Create(ctx, rc))
	t.Cleanup(func() { _ = admin.Delete(context.Background(), rc) })
	texts := strings.Join(warnings.Take(), "\n")
	for _, text := range []string{
		"spec.workerGroupSpecs[0].rayStartParams[num-gpus]: is 8 and is kept, but the Ray container sees 2",
		"spec.workerGroupSpecs[1].template.spec.containers[0].resources.limits[nvidia.com/gpumem]: device admission will refuse the Pods of wrong",
	} {
		if !strings.Contains(texts, text) {
			t.Errorf("warnings lack %q:\n%s", text, texts)
		}
	}
	var pods corev1.PodList
	eventually(ctx, t, "a worker with the user's number", func() bool {
		must(c.List(ctx, &pods, client.InNamespace("default"), client.MatchingLabels{rayv1.LabelCluster: rc.Name, rayv1.LabelGroup: "gpu"}))
		return len(pods.Items) == 1 && rayFlags(&pods.Items[0]) == "--num-gpus=8"
	})
	eventually(ctx, t, "the refusal", func() bool {
		must(c.Get(ctx, client.ObjectKeyFromObject(rc), rc))
		return strings.Contains(fmt.Sprint(rc.Status.Conditions), "creating workers of group wrong: admission webhook") && strings.Contains(fmt.Sprint(rc.Status.Conditions), "8192")
	})

	// Nobody completes Pods.
	var mutating admissionregistrationv1.MutatingWebhookConfiguration
	must(admin.Get(ctx, client.ObjectKey{Name: "raygate-mutating-webhook"}, &mutating))
	must(admin.Delete(ctx, &mutating))
	eventually(ctx, t, "Pods not to be completed", func() bool {
		probe := &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "probe", Labels: map[string]string{rayv1.LabelNodeType: "worker"}},
			Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "i", Resources: corev1.ResourceRequirements{Limits: corev1.ResourceList{"nvidia.com/gpumem": resource.MustParse("1")}}}}},
		}
		must(c.Create(ctx, probe, client.DryRunAll))
		_, completed := probe.Spec.Containers[0].Resources.Limits["nvidia.com/gpu"]
		return !completed
	})
	check("devices-alone")

	// The registration that is left is put back once it names its scope.
	var validating admissionregistrationv1.ValidatingWebhookConfiguration
	must(admin.Get(ctx, client.ObjectKey{Name: "raygate-validating-webhook"}, &validating))
	last := len(validating.Webhooks) - 1
	want := validating.Webhooks[last].DeepCopy()
	validating.Annotations = map[string]string{registration.AnnotationScope: "RayPods"}
	validating.Webhooks[last].FailurePolicy = new(admissionregistrationv1.Ignore)
	validating.Webhooks[last].Rules[0].Resources = []string{"pods/status"}
	must(admin.Update(ctx, &validating))
	eventually(ctx, t, "the registration to be put back", func() bool {
		must(admin.Get(ctx, client.ObjectKey{Name: validating.Name}, &validating))
		return equality.Semantic.DeepEqual(*want, validating.Webhooks[last])
	})
}

// registerDevices adds what the component adds to the registrations.
func registerDevices(ctx context.Context, t *testing.T, c client.Client, port int32) {
	t.Helper()
	for file, object := range map[string]client.Object{
		"mutating_patch.yaml":   &admissionregistrationv1.MutatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: "raygate-mutating-webhook"}},
		"validating_patch.yaml": &admissionregistrationv1.ValidatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: "raygate-validating-webhook"}},
	} {
		text, err := os.ReadFile(filepath.Join("..", "..", "config", "components", "device-admission", file))
		if err != nil {
			t.Fatal(err)
		}
		var ops []map[string]any
		if err := yaml.Unmarshal(text, &ops); err != nil {
			t.Fatal(err)
		}
		for _, op := range ops {
			op["value"].(map[string]any)["clientConfig"].(map[string]any)["service"].(map[string]any)["port"] = port
		}
		patch, err := json.Marshal(ops)
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Patch(ctx, object, client.RawPatch(types.JSONPatchType, patch)); err != nil {
			t.Fatal(err)
		}
	}
}

// rayFlags are those of the start command that say what a node has.
func rayFlags(p *corev1.Pod) string {
	var found []string
	for word := range strings.FieldsSeq(strings.Join(p.Spec.Containers[0].Args, " ")) {
		if strings.HasPrefix(word, "--num-gpus") || strings.HasPrefix(word, "--resources") {
			found = append(found, word)
		}
	}
	return strings.Join(found, " ")
}

// deviceLimits are the extended resources, sorted, as "name=amount name=amount".
func deviceLimits(list corev1.ResourceList) string {
	var parts []string
	for name, q := range list {
		if strings.Contains(string(name), "/") {
			parts = append(parts, fmt.Sprintf("%s=%d", name, q.Value()))
		}
	}
	slices.Sort(parts)
	return strings.Join(parts, " ")
}
