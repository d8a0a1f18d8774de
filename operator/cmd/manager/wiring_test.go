package main

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/raygate/raygate/operator/internal/controller/raycluster"
	"github.com/raygate/raygate/operator/internal/gang/registry"
	"github.com/raygate/raygate/operator/internal/gang/volcano"
	"github.com/raygate/raygate/pkg/validation"
)

// TestSettingsReachTheController: every switch changes what the controller of RayClusters gets, from one answer to another.
func TestSettingsReachTheController(t *testing.T) {
	env := func(name, value string) map[string]string { return map[string]string{name: value} }
	gate := func(g validation.Gate) func(raycluster.Config) bool {
		return func(c raycluster.Config) bool { return c.Validation.Gates[g] }
	}
	cases := map[string]struct {
		env  map[string]string
		args []string
		read func(raycluster.Config) bool
		want bool // with the setting; the opposite without
	}{
		"init container":     {env: env("ENABLE_INIT_CONTAINER_INJECTION", "FALSE"), read: func(c raycluster.Config) bool { return c.Pod.NoInitContainer }, want: true},
		"rules about it":     {env: env("ENABLE_INIT_CONTAINER_INJECTION", "false"), read: func(c raycluster.Config) bool { return c.Validation.NoInitContainers }, want: true},
		"probes":             {env: env("ENABLE_PROBES_INJECTION", "false"), read: func(c raycluster.Config) bool { return c.Pod.NoProbes }, want: true},
		"login shell":        {env: env("ENABLE_LOGIN_SHELL", "True"), read: func(c raycluster.Config) bool { return c.Pod.LoginShell }, want: true},
		"name of the head":   {env: env("ENABLE_DETERMINISTIC_HEAD_POD_NAME", "true"), read: func(c raycluster.Config) bool { return c.Pod.DeterministicHeadName }, want: true},
		"domain":             {env: env("CLUSTER_DOMAIN", "example.org"), read: func(c raycluster.Config) bool { return c.Pod.ClusterDomain == "example.org" }, want: true},
		"head Service":       {env: env("ENABLE_RAY_HEAD_CLUSTER_IP_SERVICE", "true"), read: func(c raycluster.Config) bool { return c.Service.HeadClusterIP }, want: true},
		"rules about that":   {env: env("ENABLE_RAY_HEAD_CLUSTER_IP_SERVICE", "true"), read: func(c raycluster.Config) bool { return c.Validation.HeadClusterIPService }, want: true},
		"surplus workers":    {env: env("ENABLE_RANDOM_POD_DELETE", "true"), read: func(c raycluster.Config) bool { return c.ShrinkWithAutoscaler }, want: true},
		"clean-up of Redis":  {env: env("ENABLE_GCS_FT_REDIS_CLEANUP", "false"), read: func(c raycluster.Config) bool { return c.CleanUpRedis }, want: false},
		"Ingress":            {env: env("USE_INGRESS_ON_OPENSHIFT", "true"), read: func(c raycluster.Config) bool { return c.IngressOnOpenShift }, want: true},
		"periodic look":      {env: env("RAYCLUSTER_DEFAULT_REQUEUE_SECONDS_ENV", "300"), read: func(c raycluster.Config) bool { return c.Resync == 5*time.Minute }, want: true},
		"scheduler":          {args: []string{"--batch-scheduler=volcano"}, read: func(c raycluster.Config) bool { return c.Scheduler == volcano.Scheduler{} }, want: true},
		"rules about it all": {args: []string{"--batch-scheduler=volcano"}, read: func(c raycluster.Config) bool { return *c.Validation.BatchScheduler == "volcano" }, want: true},
		"Kubernetes itself":  {args: []string{"--feature-gates=KubernetesWAS=true"}, read: func(c raycluster.Config) bool { return c.Scheduler == registry.Kubernetes() }, want: true},
		"indices":            {args: []string{"--feature-gates=RayMultiHostIndexing=false"}, read: func(c raycluster.Config) bool { return c.ReplicaIndices }, want: false},
		"certificates":       {args: []string{"--feature-gates=RayClusterMTLS=true"}, read: func(c raycluster.Config) bool { return c.MTLS && c.Pod.MTLS }, want: true},
		"history":            {args: []string{"--feature-gates=RayClusterHistoryServer=true"}, read: func(c raycluster.Config) bool { return c.Pod.HistoryServer }, want: true},
		"rule of TLS":        {args: []string{"--feature-gates=RayClusterMTLS=true"}, read: gate(validation.GateMTLS), want: true},
		"rule of history":    {args: []string{"--feature-gates=RayClusterHistoryServer=true"}, read: gate(validation.GateHistoryServer), want: true},
		"rule of policies":   {args: []string{"--feature-gates=RayClusterNetworkPolicy=true"}, read: gate(validation.GateNetworkPolicy), want: true},
		"rule of RocksDB":    {args: []string{"--feature-gates=GCSFaultToleranceEmbeddedStorage=true"}, read: gate(validation.GateEmbeddedGCSStorage), want: true},
		"rule of suspension": {args: []string{"--feature-gates=RayJobDeletionPolicy=false"}, read: gate(validation.GateDeletionPolicy), want: false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			for given, want := range map[bool]bool{true: tc.want, false: !tc.want} {
				var args []string
				var variables map[string]string
				if given {
					args, variables = tc.args, tc.env
				}
				o, err := parse(t, args, variables)
				if err != nil {
					t.Fatal(err)
				}
				if got := tc.read(rayClusterSettings(o)); got != want {
					t.Errorf("given %t: got %t, want %t", given, got, want)
				}
			}
		})
	}
}

func TestSidecarsReachTheRules(t *testing.T) {
	o := NewOptions()
	o.Pod.HeadSidecars, o.Pod.WorkerSidecars = []corev1.Container{{Name: "a"}}, []corev1.Container{{Name: "b"}}
	v := rayClusterSettings(o).Validation
	if len(v.HeadSidecars) != 1 || v.HeadSidecars[0] != "a" || len(v.WorkerSidecars) != 1 || v.WorkerSidecars[0] != "b" {
		t.Errorf("the rules know of %v and %v", v.HeadSidecars, v.WorkerSidecars)
	}
}
