package main

import (
	"fmt"
	"os"

	"github.com/raygate/raygate/operator/internal/config"
)

// completeFromFile applies the settings of the file for which no flag is set.
func (o *Options) completeFromFile() []error {
	if o.ConfigFile == "" {
		return nil
	}
	data, err := os.ReadFile(o.ConfigFile)
	if err != nil {
		return []error{fmt.Errorf("reading the configuration file (see --config): %w", err)}
	}
	c, err := config.Decode(data)
	var errs []error
	if c != nil {
		o.merge(c)
		errs = c.Validate()
	}
	if err != nil {
		errs = append(problems(err), errs...)
	}
	for i := range errs {
		errs[i] = fmt.Errorf("--config %s: %w", o.ConfigFile, errs[i])
	}
	return errs
}

// merge sets values for which no flag is set.
func (o *Options) merge(c *config.Configuration) {
	fill(o, "metrics-bind-address", "metricsAddr", &o.MetricsBindAddress, notZero(c.MetricsAddr))
	fill(o, "health-probe-bind-address", "probeAddr", &o.HealthProbeBindAddress, notZero(c.ProbeAddr))
	fill(o, "leader-elect", "enableLeaderElection", &o.LeaderElect, c.EnableLeaderElection)
	fill(o, "leader-election-namespace", "leaderElectionNamespace", &o.LeaderElectionNamespace, c.LeaderElectionNamespace)
	fill(o, "reconcile-concurrency", "reconcileConcurrency", &o.ReconcileConcurrency, notZero(c.ReconcileConcurrency))
	fill(o, "watch-namespace", "watchNamespace", &o.watchNamespace, c.WatchNamespace)
	fill(o, "log-file-path", "logFile", &o.Logs.File, c.LogFile)
	fill(o, "log-file-encoder", "logFileEncoder", &o.Logs.FileEncoder, notZero(c.LogFileEncoder))
	fill(o, "log-stdout-encoder", "logStdoutEncoder", &o.Logs.stdoutEncoder, notZero(c.LogStdoutEncoder))
	fill(o, "use-kubernetes-proxy", "useKubernetesProxy", &o.UseKubernetesProxy, c.UseKubernetesProxy)
	fill(o, "enable-metrics", "enableMetrics", &o.Metrics, c.EnableMetrics)
	fill(o, "kube-api-qps", "qps", &o.QPS, c.QPS)
	fill(o, "kube-api-burst", "burst", &o.Burst, c.Burst)
	if !o.flags.Changed("batch-scheduler") && !o.flags.Changed("enable-batch-scheduler") {
		// These are two names of one setting: a flag for either overrides both fields.
		fill(o, "batch-scheduler", "batchScheduler", &o.BatchScheduler, c.BatchScheduler)
		fill(o, "enable-batch-scheduler", "enableBatchScheduler", &o.oldBatchScheduler, c.EnableBatchScheduler)
	}
	for name, value := range c.FeatureGates {
		if _, given := o.gates[name]; !given {
			o.gates[name] = value
		}
	}
	if c.DeleteRayJobAfterJobFinishes != nil {
		o.RayJob.DeleteWhenFinished = *c.DeleteRayJobAfterJobFinishes
	}
	o.Pod.HeadSidecars, o.Pod.WorkerSidecars = c.HeadSidecarContainers, c.WorkerSidecarContainers
	o.ClusterExpiry = c.ClusterExpiry
	o.Pod.Env, o.Pod.Labels, o.Pod.Annotations = c.DefaultContainerEnvs, c.DefaultPodLabels, c.DefaultPodAnnotations
}

// fill sets a value from the file unless its flag is set.
func fill[T any](o *Options, flag, field string, setting, value *T) {
	if value != nil && !o.flags.Changed(flag) {
		*setting = *value
		o.fromFile[flag] = field
	}
}

// nameOf returns the user's name of a setting: its flag, or a field of the file.
func (o *Options) nameOf(flag string) string {
	if field, ok := o.fromFile[flag]; ok {
		return fmt.Sprintf("field %s of %s", field, o.ConfigFile)
	}
	return "--" + flag
}

// notZero treats an empty value as missing, where KubeRay does.
func notZero[T comparable](v *T) *T {
	var zero T
	if v == nil || *v == zero {
		return nil
	}
	return v
}
