package main

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/spf13/pflag"

	"github.com/raygate/raygate/operator/internal/features"
	"github.com/raygate/raygate/pkg/validation"
)

const fileHead = "apiVersion: config.ray.io/v1alpha1\nkind: Configuration\n"

func TestOptions(t *testing.T) {
	cases := map[string]struct {
		args    []string
		file    string // after fileHead; empty for none
		env     map[string]string
		check   func(*Options) bool
		wantErr []string // parts of the text; empty for success
	}{
		"defaults":         {check: func(o *Options) bool { return o.LeaderElect && o.MetricsBindAddress == ":8080" && o.Metrics }},
		"flags of our own": {args: []string{"--leader-elect=false", "--metrics-bind-address=127.0.0.1:9"}, check: func(o *Options) bool { return !o.LeaderElect && o.MetricsBindAddress == "127.0.0.1:9" }},
		"flags of KubeRay": {args: []string{"--enable-leader-election=false", "--metrics-addr=0", "--qps=7", "--burst=9", "--forced-cluster-upgrade"}, check: func(o *Options) bool {
			return !o.LeaderElect && o.MetricsBindAddress == "0" && o.QPS == 7 && o.Burst == 9
		}},
		"the command line of KubeRay's chart": {
			args: []string{
				"--feature-gates=RayClusterStatusConditions=true,RayJobDeletionPolicy=true,RayMultiHostIndexing=true,RayServiceIncrementalUpgrade=true,RayCronJob=false,RayClusterMTLS=false,RayClusterNetworkPolicy=false,RayClusterHistoryServer=false",
				"--batch-scheduler=volcano", "--log-stdout-encoder=json", "--log-file-path=/var/log/kuberay/operator.log", "--log-file-encoder=json",
				"--enable-leader-election=true", "--enable-metrics=true", "--watch-namespace=team-a,team-b", "--reconcile-concurrency=1",
				"--qps=100.0", "--burst=200", "--use-kubernetes-proxy",
			},
			check: func(o *Options) bool {
				return o.LeaderElect && o.Metrics && len(o.WatchNamespaces) == 2 && o.ReconcileConcurrency == 1 && o.QPS == 100 && o.BatchScheduler == "volcano" && o.UseKubernetesProxy
			},
		},
		"environment of KubeRay": {env: map[string]string{"ENABLE_PROBES_INJECTION": "False", "CLUSTER_DOMAIN": "x.y"}, check: func(o *Options) bool { return o.Pod.NoProbes && o.Pod.ClusterDomain == "x.y" }},
		"environment left alone": {check: func(o *Options) bool {
			return !o.Webhooks && o.RedisCleanup && o.Resync == 0 && o.RayService.ZeroDowntime && o.RayJob.StatusCheckTimeout == 300*time.Second
		}},
		"all of the environment": {
			env: map[string]string{
				"ENABLE_WEBHOOKS": "true", "ENABLE_GCS_FT_REDIS_CLEANUP": "FALSE", "USE_INGRESS_ON_OPENSHIFT": "True", "ENABLE_ZERO_DOWNTIME": "false",
				"RAYCLUSTER_DEFAULT_REQUEUE_SECONDS_ENV": "60", "DELETE_RAYJOB_CR_AFTER_JOB_FINISHES": "true",
				"RAYJOB_DEPLOYMENT_STATUS_TRANSITION_GRACE_PERIOD_SECONDS": "1", "RAYJOB_STATUS_CHECK_TIMEOUT_SECONDS": "2",
			},
			check: func(o *Options) bool {
				return o.Webhooks && !o.RedisCleanup && o.IngressOnOpenShift && !o.RayService.ZeroDowntime && o.Resync == time.Minute &&
					o.RayJob == RayJobOptions{DeleteWhenFinished: true, TransitionGrace: time.Second, StatusCheckTimeout: 2 * time.Second}
			},
		},
		"no periodic look, as KubeRay says it": {env: map[string]string{"RAYCLUSTER_DEFAULT_REQUEUE_SECONDS_ENV": "-1"}, check: func(o *Options) bool { return o.Resync == 0 }},
		"status checks without a limit":        {env: map[string]string{"RAYJOB_STATUS_CHECK_TIMEOUT_SECONDS": "-1"}, check: func(o *Options) bool { return o.RayJob.StatusCheckTimeout == 300*time.Second }},
		"webhooks in upper case":               {env: map[string]string{"ENABLE_WEBHOOKS": "True"}, wantErr: []string{"ENABLE_WEBHOOKS", `"True"`, "lower case"}},
		"environment without sense":            {env: map[string]string{"ENABLE_LOGIN_SHELL": "maybe"}, wantErr: []string{"ENABLE_LOGIN_SHELL", `"maybe"`, "true or false"}},
		"environment with a number in words":   {env: map[string]string{"RAYJOB_STATUS_CHECK_TIMEOUT_SECONDS": "five"}, wantErr: []string{"RAYJOB_STATUS_CHECK_TIMEOUT_SECONDS", `"five"`, "seconds"}},
		"a domain that is none":                {env: map[string]string{"CLUSTER_DOMAIN": "cluster_local"}, wantErr: []string{"CLUSTER_DOMAIN", "DNS name"}},

		"namespaces with blanks":            {args: []string{"--watch-namespace=a, b"}, check: func(o *Options) bool { return len(o.WatchNamespaces) == 2 && o.WatchNamespaces[1] == "b" }},
		"a stray comma":                     {args: []string{"--watch-namespace=a,"}, wantErr: []string{"--watch-namespace", `""`}},
		"no workers":                        {args: []string{"--reconcile-concurrency=0"}, wantErr: []string{"--reconcile-concurrency", "0", "at least 1"}},
		"a limit of no requests":            {args: []string{"--qps=0"}, wantErr: []string{"--kube-api-qps", "negative"}},
		"an address without port":           {args: []string{"--health-probe-bind-address=localhost"}, wantErr: []string{"--health-probe-bind-address", `"localhost"`, "host:port"}},
		"a namespace for the Lease":         {args: []string{"--leader-election-namespace=A_B"}, wantErr: []string{"--leader-election-namespace", `"A_B"`}},
		"a Prometheus without a scheme":     {args: []string{"--prometheus-url=prometheus:9090"}, wantErr: []string{"--prometheus-url", `"prometheus:9090"`, "http or https"}},
		"an unknown gate":                   {args: []string{"--feature-gates=Nope=true,RayCronJob=true"}, wantErr: []string{"Nope", "known are", "RayMultiHostIndexing"}},
		"a gate that has no choice":         {args: []string{"--feature-gates=RayClusterStatusConditions=false"}, wantErr: []string{"RayClusterStatusConditions", "false", "leave it out"}},
		"a kubeconfig that is not there":    {args: []string{"--kubeconfig=/nowhere/kubeconfig"}, wantErr: []string{"--kubeconfig", "/nowhere/kubeconfig"}},
		"all problems at once":              {args: []string{"--reconcile-concurrency=0", "--feature-gates=Nope=true"}, env: map[string]string{"ENABLE_LOGIN_SHELL": "maybe"}, wantErr: []string{"--reconcile-concurrency", "Nope", "ENABLE_LOGIN_SHELL"}},
		"a scheduler":                       {args: []string{"--batch-scheduler=yunikorn"}, check: func(o *Options) bool { return o.BatchScheduler == "yunikorn" }},
		"the old way to ask for volcano":    {args: []string{"--enable-batch-scheduler"}, check: func(o *Options) bool { return o.BatchScheduler == "volcano" }},
		"both ways":                         {args: []string{"--enable-batch-scheduler", "--batch-scheduler=volcano"}, wantErr: []string{"--enable-batch-scheduler", "--batch-scheduler", "leave out"}},
		"an unknown scheduler":              {args: []string{"--batch-scheduler=default"}, wantErr: []string{"--batch-scheduler", `"default"`, "volcano", "scheduler-plugins"}},
		"two schedulers":                    {args: []string{"--batch-scheduler=volcano", "--feature-gates=KubernetesWAS=true"}, wantErr: []string{"--batch-scheduler", "KubernetesWAS", "leave one out"}},
		"two schedulers, the old way":       {args: []string{"--enable-batch-scheduler", "--feature-gates=KubernetesWAS=true"}, wantErr: []string{"KubernetesWAS"}},
		"log flags of KubeRay":              {args: []string{"--log-stdout-encoder=json", "--zap-log-level=3", "--zap-devel", "--zap-time-encoding=iso8601", "--zap-stacktrace-level=error"}, check: func(o *Options) bool { return o.Logs.Standard.Format == "json" && o.Logs.Standard.Verbosity == 3 }},
		"the encoder of zap is overruled":   {args: []string{"--zap-encoder=json", "--log-stdout-encoder=console"}, check: func(o *Options) bool { return o.Logs.Standard.Format == "text" }},
		"the encoder of zap alone":          {args: []string{"--zap-encoder=json"}, check: func(o *Options) bool { return o.Logs.Standard.Format == "json" }},
		"our own verbosity wins":            {args: []string{"--zap-log-level=debug", "-v=4"}, check: func(o *Options) bool { return o.Logs.Standard.Verbosity == 4 }},
		"two log formats":                   {args: []string{"--log-stdout-encoder=console", "--logging-format=json"}, wantErr: []string{"--log-stdout-encoder=console", "--logging-format=json", "leave one out"}},
		"an unknown encoder":                {args: []string{"--log-file-encoder=xml"}, wantErr: []string{"--log-file-encoder", `"xml"`, "json or console"}},
		"an unknown format":                 {args: []string{"--logging-format=xml"}, wantErr: []string{"xml"}},
		"a level that is none":              {args: []string{"--zap-log-level=loud"}, wantErr: []string{"--zap-log-level", `"loud"`}},
		"a level in words":                  {args: []string{"--zap-log-level=debug"}, check: func(o *Options) bool { return o.Logs.Standard.Verbosity == 1 }},
		"an empty encoder means the usual":  {args: []string{"--log-file-encoder="}, check: func(o *Options) bool { return o.Logs.FileEncoder == "json" }},
		"metrics about Ray objects are off": {args: []string{"--enable-metrics=false"}, check: func(o *Options) bool { return !o.Metrics }},

		"a file": {
			file: "metricsAddr: ':1'\nprobeAddr: ':2'\nenableLeaderElection: false\nleaderElectionNamespace: l\nreconcileConcurrency: 3\nwatchNamespace: a,b\nlogFile: /f\n" +
				"logFileEncoder: console\nlogStdoutEncoder: json\nbatchScheduler: kai-scheduler\nuseKubernetesProxy: true\nenableMetrics: false\nqps: 4.5\nburst: 5\n" +
				"featureGates: {RayCronJob: true}\ndeleteRayJobAfterJobFinishes: true\n",
			check: func(o *Options) bool {
				return o.MetricsBindAddress == ":1" && o.HealthProbeBindAddress == ":2" && !o.LeaderElect && o.LeaderElectionNamespace == "l" &&
					o.ReconcileConcurrency == 3 && len(o.WatchNamespaces) == 2 && o.Logs.File == "/f" && o.Logs.FileEncoder == "console" &&
					o.Logs.Standard.Format == "json" && o.BatchScheduler == "kai-scheduler" && o.UseKubernetesProxy && !o.Metrics &&
					o.QPS == 4.5 && o.Config.QPS == 4.5 && o.Burst == 5 && o.Gates.Enabled(features.RayCronJob) && o.RayJob.DeleteWhenFinished
			},
		},
		"a file for Pods": {
			file: "headSidecarContainers: [{name: a, image: i}]\nworkerSidecarContainers: [{name: b, image: i}]\ndefaultContainerEnvs: [{name: A, value: b}]\n" +
				"defaultPodAnnotations: {a: b}\ndefaultPodLabels: {c: d}\n",
			check: func(o *Options) bool {
				return len(o.Pod.HeadSidecars) == 1 && o.Pod.WorkerSidecars[0].Name == "b" && o.Pod.Env[0].Value == "b" && o.Pod.Annotations["a"] == "b" && o.Pod.Labels["c"] == "d"
			},
		},
		"a file for clusters": {
			file: "clusterExpiry: [{namespaces: [prod], maxAge: 720h}, {namespaces: ['team-*'], idleTimeout: 1h}]\n",
			check: func(o *Options) bool {
				policies := rayClusterSettings(o).Expiry
				return policies.For("prod").MaxAge.Hours() == 720 && policies.For("team-a").IdleTimeout.Hours() == 1 && policies.For("other").IdleTimeout == nil
			},
		},
		"what the file leaves open": {file: "reconcileConcurrency: 0\nmetricsAddr: ''\n", check: func(o *Options) bool { return o.ReconcileConcurrency == 32 && o.MetricsBindAddress == ":8080" }},
		"a flag wins over the file": {args: []string{"--metrics-addr=:9", "--enable-leader-election=true"}, file: "metricsAddr: ':1'\nenableLeaderElection: false\n", check: func(o *Options) bool { return o.MetricsBindAddress == ":9" && o.LeaderElect }},
		"a gate wins over the file": {args: []string{"--feature-gates=RayCronJob=false"}, file: "featureGates: {RayCronJob: true, RayClusterMTLS: true}\n", check: func(o *Options) bool {
			return !o.Gates.Enabled(features.RayCronJob) && o.Gates.Enabled(features.RayClusterMTLS)
		}},
		"gates that Pods depend on": {args: []string{"--feature-gates=RayClusterHistoryServer=true"}, file: "featureGates: {RayClusterMTLS: true}\n", check: func(o *Options) bool {
			return o.Pod.MTLS && o.Pod.HistoryServer
		}},
		"a scheduler wins over the file":      {args: []string{"--batch-scheduler=volcano"}, file: "enableBatchScheduler: true\nbatchScheduler: yunikorn\n", check: func(o *Options) bool { return o.BatchScheduler == "volcano" }},
		"our format wins over the file":       {args: []string{"--logging-format=text"}, file: "logStdoutEncoder: json\n", check: func(o *Options) bool { return o.Logs.Standard.Format == "text" }},
		"the file wins over the environment":  {file: "deleteRayJobAfterJobFinishes: false\n", env: map[string]string{"DELETE_RAYJOB_CR_AFTER_JOB_FINISHES": "true"}, check: func(o *Options) bool { return !o.RayJob.DeleteWhenFinished }},
		"a wrong value in the file":           {file: "reconcileConcurrency: -1\n", wantErr: []string{"field reconcileConcurrency of", "config.yaml", "-1", "at least 1"}},
		"both ways in the file":               {file: "enableBatchScheduler: true\nbatchScheduler: yunikorn\n", wantErr: []string{"field enableBatchScheduler of", "field batchScheduler of", "leave out"}},
		"a wrong encoder in the file":         {file: "logStdoutEncoder: xml\n", wantErr: []string{"field logStdoutEncoder of", `"xml"`, "json or console"}},
		"a wrong gate in the file":            {file: "featureGates: {Nope: true}\n", wantErr: []string{"Nope", "known are"}},
		"a file that is not there":            {args: []string{"--config=/nowhere/config.yaml"}, wantErr: []string{"--config", "/nowhere/config.yaml"}},
		"misspelt fields and flags at once":   {args: []string{"--watch-namespace=,"}, file: "qqs: 1\nheadSidecarContainers: [{name: a, imag: i}]\n", wantErr: []string{`field qqs: unknown field "qqs"`, `headSidecarContainers[0].imag: unknown field "imag"`, "headSidecarContainers[0].image is missing", "--watch-namespace"}},
		"Pod settings that no Pod could have": {file: "defaultPodLabels: {'a b': c}\n", wantErr: []string{"defaultPodLabels", "a b"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			args := tc.args
			if tc.file != "" {
				path := filepath.Join(t.TempDir(), "config.yaml")
				if err := os.WriteFile(path, []byte(fileHead+tc.file), 0o600); err != nil {
					t.Fatal(err)
				}
				args = append([]string{"--config=" + path}, args...)
			}
			o, err := parse(t, args, tc.env)
			if len(tc.wantErr) == 0 && err != nil {
				t.Fatal(err)
			}
			for _, part := range tc.wantErr {
				if err == nil || !strings.Contains(err.Error(), part) {
					t.Errorf("error %v, want one with %q", err, part)
				}
			}
			if tc.check != nil && !tc.check(o) {
				t.Errorf("unexpected options %+v", o)
			}
		})
	}
}

// parse does what the command does with its command line.
func parse(t *testing.T, args []string, env map[string]string) (*Options, error) {
	t.Helper()
	o := NewOptions()
	fs := pflag.NewFlagSet("test", pflag.ContinueOnError)
	fs.SetOutput(t.Output()) // the notes about old flags
	o.AddFlags(fs)
	kubeconfig := t.TempDir() + "/kubeconfig"
	writeKubeconfig(t, kubeconfig)
	if err := fs.Parse(append([]string{"--kubeconfig=" + kubeconfig}, args...)); err != nil {
		return o, err
	}
	return o, errors.Join(o.Complete(func(name string) string { return env[name] }), o.Validate())
}

func TestRulesKnowTheGates(t *testing.T) {
	g := features.New()
	if err := features.Set(g, map[string]bool{"RayClusterMTLS": true, "RayJobDeletionPolicy": false}); err != nil {
		t.Fatal(err)
	}
	got := validationGates(g)
	for _, gate := range []validation.Gate{
		validation.GateDeletionPolicy, validation.GateMultiHostIndexing, validation.GateNetworkPolicy,
		validation.GateMTLS, validation.GateHistoryServer, validation.GateEmbeddedGCSStorage,
	} {
		if _, ok := got[gate]; !ok {
			t.Errorf("the rules do not get %s", gate)
		}
	}
	if !got[validation.GateMTLS] || got[validation.GateDeletionPolicy] {
		t.Errorf("gates %v, want those that were set", got)
	}
}

func writeKubeconfig(t *testing.T, path string) {
	t.Helper()
	const text = `apiVersion: v1
kind: Config
clusters: [{name: c, cluster: {server: "http://127.0.0.1:1"}}]
contexts: [{name: c, context: {cluster: c}}]
current-context: c
`
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}
