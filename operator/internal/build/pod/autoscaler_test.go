package pod

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/internal/testing/raytest"
)

func TestAutoscalerVersion(t *testing.T) {
	v1, v2 := rayv1.AutoscalerVersionV1, rayv1.AutoscalerVersionV2
	const never = corev1.RestartPolicyNever
	cases := map[string]struct {
		off         bool
		version     *rayv1.AutoscalerVersion
		wantEnv     map[string]string
		wantRestart corev1.RestartPolicy
		wantAccount string
		wantPods    int // containers of the head
	}{
		"the image decides":         {wantEnv: map[string]string{}, wantAccount: "demo", wantPods: 2},
		"v1":                        {version: &v1, wantEnv: map[string]string{"RAY_enable_autoscaler_v2": "false"}, wantAccount: "demo", wantPods: 2},
		"v2 never restarts a node":  {version: &v2, wantEnv: map[string]string{"RAY_enable_autoscaler_v2": "true"}, wantRestart: never, wantAccount: "demo", wantPods: 2},
		"a version but turned off":  {off: true, version: &v2, wantEnv: map[string]string{}, wantPods: 1},
		"unknown versions are none": {version: new(rayv1.AutoscalerVersion("v3")), wantEnv: map[string]string{}, wantAccount: "demo", wantPods: 2},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			head, worker := buildBoth(Options{}, autoscalerOptions(rayv1.AutoscalerOptions{Version: tc.version}),
				raytest.Spec(func(s *rayv1.RayClusterSpec) { s.EnableInTreeAutoscaling = new(!tc.off) }))
			if diff := cmp.Diff(tc.wantEnv, pick(envOf(&head.Spec.Containers[0]), "RAY_enable_autoscaler_v2")); diff != "" {
				t.Errorf("variable (-want +got):\n%s", diff)
			}
			want := []any{tc.wantRestart, tc.wantRestart, tc.wantAccount, "", tc.wantPods}
			got := []any{head.Spec.RestartPolicy, worker.Spec.RestartPolicy, head.Spec.ServiceAccountName, worker.Spec.ServiceAccountName, len(head.Spec.Containers)}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("restart policies, accounts and containers (-want +got):\n%s", diff)
			}
		})
	}
}

func TestAutoscalerAccount(t *testing.T) {
	account := func(name string) raytest.ClusterOption {
		return raytest.Head(func(h *rayv1.HeadGroupSpec) { h.Template.Spec.ServiceAccountName = name })
	}
	long := strings.Repeat("mine-", 12) + "x"
	for name, want := range map[string]string{"": "demo", "mine": "mine", "1mine": "1mine", long: long} {
		head, _ := buildBoth(Options{}, autoscaled, account(name))
		if got := head.Spec.ServiceAccountName; got != want {
			t.Errorf("account for %q: want %s, got %s", name, want, got)
		}
	}
	head, _ := buildBoth(Options{}, account("1mine"))
	if got := head.Spec.ServiceAccountName; got != "1mine" {
		t.Errorf("want the user's account to stay without an autoscaler, got %s", got)
	}
}

func TestAutoscalerOptions(t *testing.T) {
	head, _ := buildBoth(Options{LoginShell: true}, autoscaled, authOptions(rayv1.AuthOptions{Mode: rayv1.AuthModeToken, EnableK8sTokenAuth: new(true)}),
		autoscalerOptions(rayv1.AutoscalerOptions{
			Image:        new(""),
			VolumeMounts: []corev1.VolumeMount{{Name: "mine", MountPath: rayv1.VolumeRayTokenPath + "/"}, {Name: "logs", MountPath: "/tmp/ray"}},
			Env:          []corev1.EnvVar{{Name: "DIR", Value: "/x"}, {Name: "RAY_AUTH_MODE", Value: "$(DIR)"}},
		}))
	c := containerOf(t, head, rayv1.ContainerAutoscaler)
	if c.Image != raytest.Image || c.Command[1] != "-cl" {
		t.Errorf("want the head's image and a login shell, got %s and %q", c.Image, c.Command)
	}
	if diff := cmp.Diff([]string{"mine", "logs"}, namesOf(c.VolumeMounts, mountName)); diff != "" {
		t.Errorf("a mount of the user takes the place of one of the operator (-want +got):\n%s", diff)
	}
	// The variable that wins stands behind the one that it refers to.
	if last := c.Env[len(c.Env)-1]; last.Value != "$(DIR)" || len(envOf(c)) != len(c.Env) {
		t.Errorf("want the user's RAY_AUTH_MODE last and no name twice, got %v", c.Env)
	}
}
