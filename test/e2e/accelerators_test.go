package e2e

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
)

const gpuDriver = "gpu.nvidia.com"

// simulatedGPUs publishes what a driver of GPUs does: its class, and eight devices on each node. They stay until the control plane
// ends.
func simulatedGPUs(t *testing.T) {
	t.Helper()
	made := func(o client.Object) {
		if err := product.client.Create(t.Context(), o); err != nil && !apierrors.IsAlreadyExists(err) {
			t.Fatal(err)
		}
	}
	made(&resourcev1.DeviceClass{ObjectMeta: metav1.ObjectMeta{Name: gpuDriver}, Spec: resourcev1.DeviceClassSpec{
		Selectors: []resourcev1.DeviceSelector{{CEL: &resourcev1.CELDeviceSelector{Expression: `device.driver == "` + gpuDriver + `"`}}},
	}})
	var nodes corev1.NodeList
	if err := product.client.List(t.Context(), &nodes); err != nil || len(nodes.Items) == 0 {
		t.Fatalf("%d nodes, %v", len(nodes.Items), err)
	}
	for _, node := range nodes.Items {
		slice := &resourcev1.ResourceSlice{ObjectMeta: metav1.ObjectMeta{Name: node.Name + "-" + gpuDriver}, Spec: resourcev1.ResourceSliceSpec{
			Driver: gpuDriver, NodeName: &node.Name, Pool: resourcev1.ResourcePool{Name: node.Name, Generation: 1, ResourceSliceCount: 1},
		}}
		for i := range 8 {
			slice.Spec.Devices = append(slice.Spec.Devices, resourcev1.Device{Name: fmt.Sprint("gpu-", i)})
		}
		made(slice)
	}
}

// claimsAreCounted applies a sample whose workers claim a GPU each, and waits for Pods that start Ray with it, and for the end of a job.
func claimsAreCounted(t *testing.T, manifest []byte) {
	t.Helper()
	simulatedGPUs(t)
	ns := namespace(t)
	kubectl(t, manifest, "apply", "--server-side", "-n", ns, "-f", "-")
	kubectl(t, nil, "apply", "--server-side", "-n", ns, "-f", "../../samples/dra/claim.yaml") // Pods wait for it
	eventually(t, "workers with a GPU", func(ctx context.Context) error {
		return startsWith(ctx, ns, "gpu", "--num-gpus=1")
	})
	if strings.Contains(string(manifest), "kind: RayJob") {
		awaitEnd(t, ns, "dra", rayv1.JobDeploymentStatusComplete, rayv1.JobStatusSucceeded, "")
	}
}

// startsWith returns an error unless the Pods of the group run, and start Ray with the flag.
func startsWith(ctx context.Context, ns, group, flag string) error {
	var list corev1.PodList
	if err := product.client.List(ctx, &list, client.InNamespace(ns), client.MatchingLabels{rayv1.LabelGroup: group}); err != nil {
		return err
	}
	for _, p := range list.Items {
		c := p.Spec.Containers[0]
		i := slices.IndexFunc(c.Env, func(e corev1.EnvVar) bool { return e.Name == "KUBERAY_GEN_RAY_START_CMD" })
		if p.Status.Phase != corev1.PodRunning || i < 0 || !strings.Contains(c.Env[i].Value, flag) || !strings.Contains(strings.Join(c.Args, " "), flag) {
			return fmt.Errorf("%s is %s and starts with %q", p.Name, p.Status.Phase, c.Args)
		}
		if len(p.Status.ResourceClaimStatuses) == 0 {
			return fmt.Errorf("%s has no claim", p.Name)
		}
	}
	if len(list.Items) == 0 {
		return fmt.Errorf("group %s has no Pods", group)
	}
	return nil
}

// TestJobWithClaims: the scheduler allocates two GPUs for the head of a RayJob, Ray is started with them, and the job runs to its end.
func TestJobWithClaims(t *testing.T) {
	t.Parallel()
	simulatedGPUs(t)
	ns := namespace(t)
	const claims = `apiVersion: resource.k8s.io/v1
kind: ResourceClaimTemplate
metadata: {name: two-gpus}
spec: {spec: {devices: {requests: [{name: gpu, exactly: {deviceClassName: gpu.nvidia.com, count: 2}}]}}}
---
apiVersion: ray.io/v1
kind: RayJob
metadata: {name: gpus}
spec:
  entrypoint: echo done
  rayClusterSpec:
    rayVersion: 2.52.0
    headGroupSpec:
      rayStartParams: {}
      template:
        spec:
          resourceClaims: [{name: gpus, resourceClaimTemplateName: two-gpus}]
          containers: [{name: ray-head, image: "rayproject/ray:2.52.0-gpu", resources: {limits: {cpu: "1", memory: 2Gi}, claims: [{name: gpus}]}}]
`
	kubectl(t, []byte(claims), "apply", "--server-side", "-n", ns, "-f", "-")
	awaitEnd(t, ns, "gpus", rayv1.JobDeploymentStatusComplete, rayv1.JobStatusSucceeded, "")
	if err := startsWith(t.Context(), ns, rayv1.HeadGroupName, "--num-gpus=2"); err != nil {
		t.Error(err)
	}
}
