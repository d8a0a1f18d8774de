package pod

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/internal/testing/raytest"
)

// TestEnvPrecedence lets the user set every variable that the operator knows: which of them are still the user's?
func TestEnvPrecedence(t *testing.T) {
	users := map[string]bool{
		"FQ_RAY_IP":                               false,
		"RAY_IP":                                  false,
		"RAY_CLUSTER_NAME":                        false,
		"RAY_CLUSTER_NAMESPACE":                   false,
		"RAY_CLOUD_INSTANCE_ID":                   false,
		"RAY_NODE_TYPE_NAME":                      false,
		"KUBERAY_GEN_RAY_START_CMD":               false,
		"RAY_PORT":                                true,
		"RAY_ADDRESS":                             true,
		"RAY_USAGE_STATS_KUBERAY_IN_USE":          true,
		"RAY_DASHBOARD_ENABLE_K8S_DISK_USAGE":     true,
		"RAY_gcs_rpc_server_reconnect_timeout_s":  true,
		"RAY_timeout_ms_task_wait_for_death_info": true,
		"RAY_gcs_server_request_timeout_seconds":  true,
		"RAY_SERVE_KV_TIMEOUT_S":                  true,
	}
	own := func(c *corev1.Container) {
		for name := range users {
			c.Env = append(c.Env, corev1.EnvVar{Name: name, Value: "user"})
		}
	}
	rc := raytest.RayCluster("ns/demo", raytest.HeadContainer(own), raytest.Workers("cpu", 1, raytest.GroupContainer(own)),
		raytest.Labels(map[string]string{rayv1.LabelOriginatedFromCRD: "RayService"}),
		raytest.Annotations(map[string]string{rayv1.AnnotationFTEnabled: "true"}))

	worker := Worker(rc, &rc.Spec.WorkerGroupSpecs[0], Options{}).Spec.Containers[0]
	got := map[string]bool{}
	for _, v := range worker.Env {
		if _, duplicate := got[v.Name]; duplicate {
			t.Errorf("%s is a duplicate", v.Name)
		}
		got[v.Name] = v.Value == "user"
	}
	if diff := cmp.Diff(users, got); diff != "" {
		t.Errorf("variables that keep the user's value on a worker (-want +got):\n%s", diff)
	}

	// The address of the head is set for workers only: on the head these names are the user's.
	// With fault tolerance it keeps its metadata in Redis.
	users["FQ_RAY_IP"], users["RAY_IP"] = true, true
	users["RAY_external_storage_namespace"] = false
	users["RAY_USAGE_STATS_EXTRA_TAGS"] = false
	got = map[string]bool{}
	for _, v := range Head(rc, Options{}).Spec.Containers[0].Env {
		got[v.Name] = v.Value == "user"
	}
	if diff := cmp.Diff(users, got); diff != "" {
		t.Errorf("variables that keep the user's value on the head (-want +got):\n%s", diff)
	}
}

func TestSetDropsAllOthersOfTheName(t *testing.T) {
	vars := []corev1.EnvVar{text("A", "1"), text("B", "1"), text("A", "2"), text("C", "1"), text("A", "3")}
	environment{&vars}.set(text("A", "operator"))
	want := []corev1.EnvVar{text("A", "operator"), text("B", "1"), text("C", "1")}
	if diff := cmp.Diff(want, vars); diff != "" {
		t.Errorf("variables (-want +got):\n%s", diff)
	}
}
