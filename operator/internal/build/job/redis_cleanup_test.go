package job

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/internal/testing/golden"
	"github.com/raygate/raygate/internal/testing/raytest"
	"github.com/raygate/raygate/operator/internal/build/pod"
)

func TestGolden(t *testing.T) {
	o := pod.Options{OperatorVersion: "raygate-test", HeadSidecars: []corev1.Container{{Name: "operators"}}}
	golden.Run(t, func(rc *rayv1.RayCluster) []*batchv1.Job { return []*batchv1.Job{RedisCleanup(rc, o)} })
}

func redis(o *rayv1.RayClusterSpec) {
	o.GcsFaultToleranceOptions = &rayv1.GcsFaultToleranceOptions{RedisAddress: "redis:6379"}
}

// TestNothingOfTheClusterIsNeeded turns on all that makes a head depend on objects which are deleted with the cluster, or
// on somebody who looks after heads.
func TestNothingOfTheClusterIsNeeded(t *testing.T) {
	rc := raytest.RayCluster("ns/demo", raytest.Spec(redis), raytest.Autoscaling(), raytest.Spec(func(s *rayv1.RayClusterSpec) {
		s.AuthOptions = &rayv1.AuthOptions{Mode: rayv1.AuthModeToken}
		s.TLSOptions = &rayv1.TLSOptions{Enabled: new(true)}
		p := &s.HeadGroupSpec.Template.Spec
		p.SchedulingGates = []corev1.PodSchedulingGate{{Name: "gate"}}
		p.SchedulingGroup = &corev1.PodSchedulingGroup{}
		p.ResourceClaims = []corev1.PodResourceClaim{{Name: "gpu"}}
		p.Resources = &corev1.ResourceRequirements{}
		always := corev1.ContainerRestartPolicyAlways
		c := &p.Containers[0]
		c.RestartPolicy = &always
		c.ResizePolicy = []corev1.ContainerResizePolicy{{RestartPolicy: corev1.RestartContainer}}
		c.Lifecycle = &corev1.Lifecycle{}
		c.Ports = []corev1.ContainerPort{{HostPort: 8265}}
		c.Resources.Claims = []corev1.ResourceClaim{{Name: "gpu"}}
	}))
	s := RedisCleanup(rc, pod.Options{MTLS: true}).Spec.Template.Spec
	if s.ServiceAccountName != "" || s.SchedulingGates != nil || s.SchedulingGroup != nil || s.ResourceClaims != nil || s.Resources != nil || len(s.InitContainers) > 0 {
		t.Errorf("want no account, gates, gang, claims and waiting, got %+v", s)
	}
	c := s.Containers[0]
	if c.RestartPolicy != nil || c.ResizePolicy != nil || c.Lifecycle != nil || c.Ports != nil || c.Resources.Claims != nil {
		t.Errorf("want the plain container of a Job, got %+v", c)
	}
	optional := map[string]bool{}
	for _, v := range s.Volumes {
		if v.Secret != nil {
			optional[v.Name] = v.Secret.Optional != nil && *v.Secret.Optional
		}
	}
	for _, v := range c.Env {
		if v.ValueFrom != nil && v.ValueFrom.SecretKeyRef != nil {
			optional[v.Name] = v.ValueFrom.SecretKeyRef.Optional != nil && *v.ValueFrom.SecretKeyRef.Optional
		}
	}
	if diff := cmp.Diff(map[string]bool{"ray-tls": true, "RAY_AUTH_TOKEN": true}, optional); diff != "" {
		t.Errorf("optional Secrets (-want +got):\n%s", diff)
	}
}

func TestWhatIsKept(t *testing.T) {
	rc := raytest.RayCluster("ns/demo", raytest.Spec(redis), raytest.Autoscaling(), raytest.Spec(func(s *rayv1.RayClusterSpec) {
		p := &s.HeadGroupSpec.Template.Spec
		p.ServiceAccountName = "mine"
		p.ResourceClaims = []corev1.PodResourceClaim{{Name: "network"}}
		p.InitContainers = []corev1.Container{{Name: "fetch", Resources: corev1.ResourceRequirements{Claims: []corev1.ResourceClaim{{Name: "network"}}}}}
		p.Containers[0].Env = []corev1.EnvVar{{Name: "RAY_redis_db_connect_retries", Value: "1"}}
	}))
	job := RedisCleanup(rc, pod.Options{LoginShell: true})
	s := job.Spec.Template.Spec
	if s.ServiceAccountName != "mine" || len(s.ResourceClaims) != 1 || len(s.InitContainers) != 1 || s.Containers[0].Command[1] != "-cl" {
		t.Errorf("want the user's account, claim and init container, and a login shell, got %+v", s)
	}
	retries := 0
	for _, v := range s.Containers[0].Env {
		if v.Name == "RAY_redis_db_connect_retries" {
			retries++
			if v.Value != "120" {
				t.Errorf("want 120 retries, got %s", v.Value)
			}
		}
	}
	if retries != 1 {
		t.Errorf("want the retries once, got %d entries", retries)
	}
}

func TestNoContainers(t *testing.T) {
	job := RedisCleanup(&rayv1.RayCluster{}, pod.Options{HeadSidecars: []corev1.Container{{Name: "a"}, {Name: "b"}}})
	if n := len(job.Spec.Template.Spec.Containers); n > 1 {
		t.Errorf("want at most one container, got %d", n)
	}
}

// TestScript runs the script against a stand-in for Ray's function.
func TestScript(t *testing.T) {
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("there is no python3 here")
	}
	dir := t.TempDir()
	private := filepath.Join(dir, "ray", "_private")
	if err := os.MkdirAll(private, 0o755); err != nil {
		t.Fatal(err)
	}
	const fake = `
import os
def cleanup_redis_storage(**arguments):
    print(" ".join(f"{k}={v}" for k, v in sorted(arguments.items())))
    return os.environ.get("RESULT") != "bad"
`
	for name, text := range map[string]string{"../__init__.py": "", "__init__.py": "", "gcs_utils.py": fake} {
		if err := os.WriteFile(filepath.Join(private, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	cases := map[string]struct {
		env  []string
		want string
		bad  bool
	}{
		"host and port":          {env: []string{"RAY_REDIS_ADDRESS=redis:1234"}, want: "host=redis password= port=1234 storage_namespace=ns use_ssl=False"},
		"no port":                {env: []string{"RAY_REDIS_ADDRESS=redis"}, want: "host=redis password= port=6379 storage_namespace=ns use_ssl=False"},
		"the first of several":   {env: []string{"RAY_REDIS_ADDRESS=a:1,b:2", "REDIS_PASSWORD=x"}, want: "host=a password=x port=1 storage_namespace=ns use_ssl=False"},
		"encrypted":              {env: []string{"RAY_REDIS_ADDRESS=rediss://redis:1"}, want: "host=redis password= port=1 storage_namespace=ns use_ssl=True"},
		"password in the URL":    {env: []string{"RAY_REDIS_ADDRESS=redis://u:p@redis:1"}, want: "host=redis password=p port=1 storage_namespace=ns use_ssl=False"},
		"an empty password":      {env: []string{"RAY_REDIS_ADDRESS=redis://u:p@redis:1", "REDIS_PASSWORD="}, want: "host=redis password=p port=1 storage_namespace=ns use_ssl=False"},
		"user name":              {env: []string{"RAY_REDIS_ADDRESS=redis:1", "REDIS_USERNAME=ray"}, want: "host=redis password= port=1 storage_namespace=ns use_ssl=False username=ray"},
		"user name in the URL":   {env: []string{"RAY_REDIS_ADDRESS=redis://u:p@redis:1", "REDIS_USERNAME="}, want: "host=redis password=p port=1 storage_namespace=ns use_ssl=False username=u"},
		"Ray says it failed":     {env: []string{"RAY_REDIS_ADDRESS=redis:1", "RESULT=bad"}, want: "host=redis password= port=1 storage_namespace=ns use_ssl=False", bad: true},
		"nothing known of Redis": {want: "RAY_REDIS_ADDRESS is empty: nothing is known of a Redis", bad: true},
	}
	// As a container would, through the shell; but with the python that is here.
	line := strings.Replace(redisCleanupLine, "python -c", python+" -c", 1)
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			cmd := exec.CommandContext(t.Context(), "sh", "-c", line)
			cmd.Env = append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + os.Getenv("HOME"), "PYTHONPATH=" + dir, "RAY_external_storage_namespace=ns"}, tc.env...)
			out, err := cmd.CombinedOutput()
			if (err != nil) != tc.bad {
				t.Errorf("want failure: %t, got %v", tc.bad, err)
			}
			lines := strings.Split(strings.TrimSpace(string(out)), "\n")
			if diff := cmp.Diff(tc.want, lines[len(lines)-1]); diff != "" {
				t.Errorf("call (-want +got):\n%s\n%s", diff, out)
			}
		})
	}
}
