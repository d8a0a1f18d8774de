package pod

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/internal/testing/raytest"
)

// The tests in this file hold whole results that KubeRay 1.7 was seen to make, as they stand in running clusters.

func headResources(limits, requests corev1.ResourceList) raytest.ClusterOption {
	return raytest.HeadContainer(func(c *corev1.Container) {
		c.Resources = corev1.ResourceRequirements{Limits: limits, Requests: requests}
	})
}

func TestStartCommandsSeen(t *testing.T) {
	redis := &rayv1.RedisCredential{Value: "x"}
	cases := map[string]struct {
		opts []raytest.ClusterOption
		want string
	}{
		"plain": {
			opts: []raytest.ClusterOption{headResources(list("cpu", "1500m", "memory", "2Gi"), nil)},
			want: "ray start --head  --block  --dashboard-agent-listen-port=52365  --dashboard-host=0.0.0.0  --memory=2147483648  --metrics-export-port=8080  --num-cpus=2 ",
		},
		"all sources of parameters": {
			opts: []raytest.ClusterOption{
				headResources(list("aws.amazon.com/neuroncore", "4"), nil), raytest.Autoscaling(),
				gcsOptions(rayv1.GcsFaultToleranceOptions{RedisAddress: "redis:6379", RedisUsername: redis, RedisPassword: redis}),
				raytest.Head(func(h *rayv1.HeadGroupSpec) {
					h.Resources = map[string]string{"CPU": "3500m", "memory": "1Gi", "GPU": "1", "custom": "2.5"}
					h.Labels = map[string]string{"zone": "z1"}
				}),
			},
			want: `ray start --head  --block  --dashboard-agent-listen-port=52365  --dashboard-host=0.0.0.0  --labels=zone=z1  --memory=1073741824  --metrics-export-port=8080  --no-monitor  --num-cpus=4  --num-gpus=1  --redis-password=$REDIS_PASSWORD  --redis-username=$REDIS_USERNAME  --resources='{"custom":2.5,"neuron_cores":4}' `,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			head := Head(raytest.RayCluster("ns1/demo", tc.opts...), Options{})
			if diff := cmp.Diff(tc.want, valueOf(t, head, "KUBERAY_GEN_RAY_START_CMD")); diff != "" {
				t.Errorf("start command (-want +got):\n%s", diff)
			}
		})
	}

	rc := raytest.RayCluster("ns1/demo", raytest.Workers("cpu", 1, raytest.GroupContainer(func(c *corev1.Container) {
		c.Resources = corev1.ResourceRequirements{Limits: list("cpu", "500m", "memory", "1Gi", "nvidia.com/gpu", "2", "google.com/tpu", "4")}
	})))
	const want = `ray start  --address=demo-head-svc.ns1.svc.cluster.local:6379  --block  --dashboard-agent-listen-port=52365  --memory=1073741824  --metrics-export-port=8080  --num-cpus=1  --num-gpus=2  --resources='{"TPU":4}' `
	if diff := cmp.Diff(want, valueOf(t, Worker(rc, &rc.Spec.WorkerGroupSpecs[0], Options{}), "KUBERAY_GEN_RAY_START_CMD")); diff != "" {
		t.Errorf("start command of a worker (-want +got):\n%s", diff)
	}
}

func TestEnvironmentSeen(t *testing.T) {
	head, worker := buildBoth(Options{}, headEnv(text("USER", "")))
	want := map[string][]string{
		"head": {
			"USER", "RAY_CLUSTER_NAME", "RAY_CLUSTER_NAMESPACE", "RAY_CLOUD_INSTANCE_ID", "RAY_NODE_TYPE_NAME", "KUBERAY_GEN_RAY_START_CMD", "RAY_PORT",
			"RAY_ADDRESS", "RAY_USAGE_STATS_KUBERAY_IN_USE", "RAY_USAGE_STATS_EXTRA_TAGS", "RAY_DASHBOARD_ENABLE_K8S_DISK_USAGE",
		},
		"worker": {
			"FQ_RAY_IP", "RAY_IP", "RAY_CLUSTER_NAME", "RAY_CLUSTER_NAMESPACE", "RAY_CLOUD_INSTANCE_ID", "RAY_NODE_TYPE_NAME", "KUBERAY_GEN_RAY_START_CMD",
			"RAY_PORT", "RAY_ADDRESS", "RAY_USAGE_STATS_KUBERAY_IN_USE", "RAY_DASHBOARD_ENABLE_K8S_DISK_USAGE",
		},
	}
	got := map[string][]string{
		"head":   namesOf(head.Spec.Containers[0].Env, envName),
		"worker": namesOf(worker.Spec.Containers[0].Env, envName),
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("variables (-want +got):\n%s", diff)
	}
}

func TestNamesSeen(t *testing.T) {
	const long = "raycluster-with-a-very-long-name-exceeding-k8s-limit1"
	head := Head(raytest.RayCluster("ns/"+long, raytest.Autoscaling()), Options{})
	want := []string{"raycluster-with-a-very-long-name-exceeding-k8s-lim-head-", "cluster-with-a-very-long-name-exceeding-k8s-limit1", long + "-head"}
	got := []string{head.GenerateName, head.Spec.ServiceAccountName, head.Labels[rayv1.LabelIdentifier]}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("prefix of the Pod, account and identifier (-want +got):\n%s", diff)
	}
}
