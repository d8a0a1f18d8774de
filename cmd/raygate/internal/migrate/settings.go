package migrate

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"
)

// known is a flag of KubeRay 1.7 and its equivalent in raygate.
type known struct {
	// here is the name here; empty for one without effect.
	here string
	// field is its name in the configuration file; empty if it has none.
	field string
	// isSwitch means that the value is true or false.
	isSwitch bool
	note     string
}

// flags are the flags of KubeRay 1.7. raygate accepts all of them; docs/operator.md describes them.
var flags = map[string]known{
	"metrics-addr":              {here: "metrics-bind-address", field: "metricsAddr"},
	"health-probe-bind-address": {here: "health-probe-bind-address", field: "probeAddr"},
	"enable-leader-election":    {here: "leader-elect", field: "enableLeaderElection", isSwitch: true},
	"leader-election-namespace": {here: "leader-election-namespace", field: "leaderElectionNamespace"},
	"reconcile-concurrency":     {here: "reconcile-concurrency", field: "reconcileConcurrency", note: "32 is the default here"},
	"watch-namespace":           {here: "watch-namespace", field: "watchNamespace"},
	"forced-cluster-upgrade":    {isSwitch: true, note: "has no effect; see upgradeStrategy of RayCluster"},
	"log-file-path":             {here: "log-file-path", field: "logFile"},
	"log-file-encoder":          {here: "log-file-encoder", field: "logFileEncoder"},
	"log-stdout-encoder":        {here: "log-stdout-encoder", field: "logStdoutEncoder"},
	"enable-batch-scheduler":    {here: "batch-scheduler=volcano", field: "enableBatchScheduler", isSwitch: true, note: "deprecated"},
	"batch-scheduler":           {here: "batch-scheduler", field: "batchScheduler"},
	"config":                    {here: "config", note: "flags win over the file here; KubeRay ignores them when there is a file"},
	"use-kubernetes-proxy":      {here: "use-kubernetes-proxy", field: "useKubernetesProxy", isSwitch: true},
	"feature-gates":             {here: "feature-gates"},
	"enable-metrics":            {here: "enable-metrics", field: "enableMetrics", isSwitch: true},
	"qps":                       {here: "kube-api-qps", field: "qps", note: "500 is the default here"},
	"burst":                     {here: "kube-api-burst", field: "burst", note: "1000 is the default here"},
	"kubeconfig":                {here: "kubeconfig"},
	"zap-devel":                 {isSwitch: true, note: "has no effect; use -v=4 --logging-format=text"},
	"zap-encoder":               {here: "logging-format", note: "accepted, deprecated"},
	"zap-log-level":             {here: "v", note: "accepted, deprecated"},
	"zap-stacktrace-level":      {note: "has no effect"},
	"zap-time-encoding":         {note: "has no effect"},
}

// withFile are the flags that KubeRay uses even with a configuration file.
var withFile = []string{"config", "feature-gates", "forced-cluster-upgrade", "kubeconfig", "zap-devel", "zap-encoder", "zap-log-level", "zap-stacktrace-level", "zap-time-encoding"}

// variables are the environment variables of KubeRay 1.7, with functions that check their values for raygate.
var variables = map[string]func(string) string{
	"ENABLE_WEBHOOKS":                                          exactSwitch,
	"ENABLE_ZERO_DOWNTIME":                                     anySwitch,
	"ENABLE_INIT_CONTAINER_INJECTION":                          anySwitch,
	"ENABLE_PROBES_INJECTION":                                  anySwitch,
	"ENABLE_RAY_HEAD_CLUSTER_IP_SERVICE":                       anySwitch,
	"ENABLE_GCS_FT_REDIS_CLEANUP":                              anySwitch,
	"ENABLE_RANDOM_POD_DELETE":                                 anySwitch,
	"ENABLE_LOGIN_SHELL":                                       anySwitch,
	"ENABLE_DETERMINISTIC_HEAD_POD_NAME":                       anySwitch,
	"CLUSTER_DOMAIN":                                           domain,
	"USE_INGRESS_ON_OPENSHIFT":                                 anySwitch,
	"RAYCLUSTER_DEFAULT_REQUEUE_SECONDS_ENV":                   seconds,
	"DELETE_RAYJOB_CR_AFTER_JOB_FINISHES":                      anySwitch,
	"RAYJOB_DEPLOYMENT_STATUS_TRANSITION_GRACE_PERIOD_SECONDS": seconds,
	"RAYJOB_STATUS_CHECK_TIMEOUT_SECONDS":                      seconds,
}

// gateNames are the feature gates of KubeRay 1.7, all of which raygate supports.
var gateNames = []string{
	"RayClusterStatusConditions", "RayJobDeletionPolicy", "RayMultiHostIndexing", "RayServiceIncrementalUpgrade", "RayCronJob", "SidecarSubmitterRestart",
	"RayClusterNetworkPolicy", "GCSFaultToleranceEmbeddedStorage", "RayClusterMTLS", "RayClusterHistoryServer", "KubernetesWAS", "AllAlpha", "AllBeta",
}

// otherDefaults are settings with another default in raygate, and the flag that keeps KubeRay's behaviour.
var otherDefaults = []struct{ flag, variable, keep, message string }{
	{flag: "reconcile-concurrency", keep: "--reconcile-concurrency=1", message: "32 objects of each kind are reconciled at once; KubeRay: 1"},
	{flag: "qps", keep: "--kube-api-qps=100", message: "500 requests a second to the API server; KubeRay: 100"},
	{flag: "burst", keep: "--kube-api-burst=200", message: "1000 requests at once to the API server; KubeRay: 200"},
	{flag: "enable-metrics", keep: "--enable-metrics=false", message: "metrics about Ray objects are on; KubeRay: off"},
	{flag: "log-stdout-encoder", keep: "--log-stdout-encoder=json", message: "the log is text; KubeRay: JSON"},
	{variable: "RAYCLUSTER_DEFAULT_REQUEUE_SECONDS_ENV", keep: "RAYCLUSTER_DEFAULT_REQUEUE_SECONDS_ENV=300", message: "a RayCluster is looked at when something changes; KubeRay: also every 300 seconds"},
}

// The functions below return what a value must be, or "" for a valid one.
func exactSwitch(v string) string {
	if v == "true" || v == "false" || v == "" {
		return ""
	}
	return "true or false, in lower case"
}

func anySwitch(v string) string {
	if v = strings.ToLower(v); v == "true" || v == "false" || v == "" {
		return ""
	}
	return "true or false"
}

func seconds(v string) string {
	if _, err := strconv.ParseInt(v, 10, 32); err != nil && v != "" {
		return "a whole number of seconds"
	}
	return ""
}

func domain(v string) string {
	if v != "" && len(validation.IsDNS1123Subdomain(v)) > 0 {
		return "a DNS name such as cluster.local"
	}
	return ""
}

// settings collects the settings of one operator.
type settings struct {
	report   *Report
	operator *Operator
}

func (s *settings) add(f Finding) {
	f.Area, f.Kind, f.Namespace, f.Name = AreaSettings, "Deployment", s.operator.Namespace, s.operator.Name
	s.report.add(f)
}

// flag adds a flag; file means that there is a configuration file.
func (s *settings) flag(f argument, file bool) {
	k, ok := flags[f.Name]
	entry := Setting{From: "flag", Name: "--" + f.Name, Value: f.Value, Note: k.note}
	if k.here != "" {
		entry.Here = "--" + k.here
	}
	s.operator.Settings = append(s.operator.Settings, entry)
	if !ok {
		s.add(Finding{Severity: Error, Field: entry.Name, Message: "is no flag of KubeRay 1.7, and none of raygate, which does not start with it", Remedy: "leave it out"})
		return
	}
	if file && !slices.Contains(withFile, f.Name) {
		s.add(Finding{Severity: Warning, Field: entry.Name, Message: "is ignored by KubeRay, which has a configuration file; raygate takes the flag and not what the file says", Remedy: "leave the flag out"})
	}
	s.take(f.Name, f.Value, "--"+f.Name)
	if f.Name == "feature-gates" {
		s.featureGates(f.Value)
	}
}

// take keeps values that other parts of the report need, and checks values that KubeRay does not check.
func (s *settings) take(flag, value, field string) {
	switch flag {
	case "batch-scheduler":
		s.operator.scheduler = value
	case "enable-batch-scheduler":
		if isTrue(value) && s.operator.scheduler == "" {
			s.operator.scheduler = "volcano"
		}
	case "use-kubernetes-proxy":
		s.operator.proxy = isTrue(value)
	case "watch-namespace":
		s.operator.watched = nil
		for name := range strings.SplitSeq(value, ",") {
			name = strings.TrimSpace(name)
			if name == "" && value != "" {
				s.add(Finding{Severity: Error, Field: field, Message: fmt.Sprintf("%q has an empty element, which KubeRay takes for all namespaces and raygate refuses", value), Remedy: "leave the stray comma out, or the whole setting to watch all namespaces"})
			} else if name != "" {
				s.operator.watched = append(s.operator.watched, name)
			}
		}
	}
}

func (s *settings) featureGates(value string) {
	for setting := range strings.SplitSeq(value, ",") {
		name, text, _ := strings.Cut(strings.TrimSpace(setting), "=")
		on, err := strconv.ParseBool(strings.TrimSpace(text))
		switch {
		case name == "":
		case !slices.Contains(gateNames, name):
			s.add(Finding{Severity: Error, Field: "--feature-gates", Message: fmt.Sprintf("%q is no feature gate of KubeRay 1.7, and none of raygate, which does not start with it", name), Remedy: "leave it out"})
		case err != nil:
			s.add(Finding{Severity: Error, Field: "--feature-gates", Message: fmt.Sprintf("%q is neither true nor false", setting), Remedy: "use " + name + "=true or " + name + "=false"})
		case name == "RayClusterStatusConditions" && !on:
			s.add(Finding{Severity: Error, Field: "--feature-gates", Message: name + " is always on here, and raygate does not start when it is turned off", Remedy: "leave it out"})
		default:
			s.operator.gates[name] = on
		}
	}
}

func (s *settings) variable(v corev1.EnvVar) {
	check, ok := variables[v.Name]
	entry := Setting{From: "environment", Name: v.Name, Value: v.Value}
	if !ok {
		entry.Value, entry.Note = "", "no setting of either operator" // other variables may be secrets
		s.operator.Settings = append(s.operator.Settings, entry)
		s.add(Finding{Severity: Note, Field: v.Name, Message: "is no setting of KubeRay 1.7 or raygate, and has no effect on either"})
		return
	}
	entry.Here = v.Name
	if v.ValueFrom != nil {
		entry.Note = "the value comes from elsewhere and was not checked"
	}
	s.operator.Settings = append(s.operator.Settings, entry)
	if want := check(v.Value); want != "" {
		s.add(Finding{Severity: Error, Field: v.Name, Message: fmt.Sprintf("is %q, which KubeRay takes for unset; raygate does not start unless it is %s", v.Value, want), Remedy: "correct or unset it"})
	}
}

// defaults reports settings that are not set and have another default in raygate.
func (s *settings) defaults(container *corev1.Container) {
	set := map[string]bool{}
	for _, entry := range s.operator.Settings {
		set[strings.TrimPrefix(entry.Name, "--")] = true
	}
	for name, k := range flags {
		set[name] = set[name] || k.field != "" && set[k.field]
	}
	for _, d := range otherDefaults {
		if set[d.flag] || set[d.variable] || len(container.EnvFrom) > 0 && d.variable != "" {
			continue
		}
		s.add(Finding{Severity: Note, Field: "default", Message: d.message, Remedy: "to keep it as with KubeRay: " + d.keep})
	}
}

// fields are the fields of KubeRay 1.7's configuration file, by name, with the flag of the same setting; empty if there is none.
func fields() map[string]string {
	all := map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(flags)) {
		if flags[name].field != "" {
			all[flags[name].field] = name
		}
	}
	for _, name := range []string{"apiVersion", "kind", "headSidecarContainers", "workerSidecarContainers", "defaultContainerEnvs", "defaultPodAnnotations", "defaultPodLabels", "deleteRayJobAfterJobFinishes"} {
		all[name] = ""
	}
	return all
}
