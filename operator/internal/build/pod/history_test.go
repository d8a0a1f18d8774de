package pod

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/internal/testing/raytest"
)

func collectorOptions(o *rayv1.CollectorOptions) raytest.ClusterOption {
	return raytest.Spec(func(s *rayv1.RayClusterSpec) {
		s.HistoryServerOptions = &rayv1.HistoryServerOptions{CollectorOptions: o}
	})
}

func TestCollectorIsThere(t *testing.T) {
	both := []string{"ray-history-collector", "ray-history-collector"}
	for name, tc := range map[string]struct {
		o    Options
		opt  raytest.ClusterOption
		want []string
	}{
		"on":         {allOptions, collected, both},
		"gate off":   {Options{}, collected, nil},
		"no options": {allOptions, collectorOptions(nil), nil},
	} {
		head, worker := buildBoth(tc.o, tc.opt)
		if diff := cmp.Diff(tc.want, withEnv("EVENTS_PORT", head, worker)); diff != "" {
			t.Errorf("%s: containers that collect (-want +got):\n%s", name, diff)
		}
		for _, p := range []*corev1.Pod{head, worker} {
			if _, exports := envOf(&p.Spec.Containers[0])["RAY_enable_ray_event"]; exports != (tc.want != nil) {
				t.Errorf("%s: %s exports events: %t", name, p.GenerateName, exports)
			}
		}
	}
}

func TestCollectorContainer(t *testing.T) {
	always := corev1.PullAlways
	head, worker := buildBoth(allOptions, authenticated, raytest.HeadParams(map[string]string{"dashboard-port": "8266"}), headEnv(text("RAY_enable_ray_event", "user")),
		collectorOptions(&rayv1.CollectorOptions{
			Image:           new("mine"),
			ImagePullPolicy: &always,
			Resources:       &corev1.ResourceRequirements{Limits: list("cpu", "1")},
			Env:             []corev1.EnvVar{text("STORAGE_BACKEND", "S3"), text("RAY_AUTH_MODE", "user")},
		}))
	const fq = "demo-head-svc.ns.svc.cluster.local"
	type m = map[string]string
	want := m{
		"POD_IP": "ref", "RAY_CLUSTER_NAME": "demo", "RAY_CLUSTER_NAMESPACE": "ns", "EVENTS_PORT": "8084", "FQ_RAY_IP": fq,
		"STORAGE_BACKEND": "S3", "RAY_AUTH_MODE": "user", "RAY_AUTH_TOKEN": "ref", "RAY_ROLE": "Worker",
	}
	c := containerOf(t, worker, rayv1.ContainerHistoryCollector)
	if diff := cmp.Diff(want, envOf(c)); diff != "" {
		t.Errorf("environment on a worker (-want +got):\n%s", diff)
	}
	want["RAY_ROLE"], want["RAY_DASHBOARD_ADDRESS"] = "Head", "http://localhost:8266"
	c = containerOf(t, head, rayv1.ContainerHistoryCollector)
	if diff := cmp.Diff(want, envOf(c)); diff != "" {
		t.Errorf("environment on the head (-want +got):\n%s", diff)
	}
	if c.Image != "mine" || c.ImagePullPolicy != always || c.Resources.Limits.Cpu().String() != "1" || c.Resources.Requests != nil || c.Command != nil {
		t.Errorf("want the user's options and no command, got %+v", c)
	}
	if got := envOf(&head.Spec.Containers[0])["RAY_enable_ray_event"]; got != "user" {
		t.Errorf("want the user's RAY_enable_ray_event, got %q", got)
	}
}

func TestDashboardAddressOfTheUser(t *testing.T) {
	head, _ := buildBoth(allOptions, collectorOptions(&rayv1.CollectorOptions{Env: []corev1.EnvVar{text("RAY_DASHBOARD_ADDRESS", "user")}}))
	c := containerOf(t, head, rayv1.ContainerHistoryCollector)
	if got := envOf(c)["RAY_DASHBOARD_ADDRESS"]; got != "user" || len(envOf(c)) != len(c.Env) {
		t.Errorf("want the user's address once, got %v", c.Env)
	}
}
