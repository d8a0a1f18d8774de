package main

import (
	"errors"
	"fmt"
	"maps"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	cliflag "k8s.io/component-base/cli/flag"
	"k8s.io/component-base/featuregate"
	"k8s.io/component-base/version"

	"github.com/raygate/raygate/operator/internal/build/pod"
	"github.com/raygate/raygate/operator/internal/build/service"
	"github.com/raygate/raygate/operator/internal/config"
	"github.com/raygate/raygate/operator/internal/expiryplan"
	"github.com/raygate/raygate/operator/internal/features"
	"github.com/raygate/raygate/operator/internal/gang/registry"
	"github.com/raygate/raygate/pkg/telemetry"
)

// Options configure the operator. Create them with NewOptions, add the flags, then call Complete and Validate. Flags override the
// configuration file, which overrides environment variables.
type Options struct {
	// ConfigFile is the path of a Configuration; empty means none.
	ConfigFile string

	// Kubeconfig is a file; empty means the ServiceAccount of the Pod, or kubectl's default file.
	Kubeconfig string
	// QPS and Burst limit requests to the API server. A negative QPS means no limit.
	QPS   float32
	Burst int

	// MetricsBindAddress serves /metrics; "0" turns it off.
	MetricsBindAddress string
	// Metrics enables the metrics about Ray objects.
	Metrics bool
	// MetricsPerObject keeps those that have one series or more per Ray object.
	MetricsPerObject bool
	// MetricsAccelerators counts the seconds of requested GPUs and TPUs.
	MetricsAccelerators bool
	// HealthProbeBindAddress serves /healthz and /readyz; "0" turns it off.
	HealthProbeBindAddress string

	// LeaderElect enables leader election.
	LeaderElect bool
	// LeaderElectionNamespace is the namespace of the Lease; empty means that of the Pod.
	LeaderElectionNamespace string

	// WatchNamespaces are the namespaces to watch; empty means all.
	WatchNamespaces []string
	// Shard selects the Ray objects of this operator.
	Shard ShardOptions
	// ReconcileConcurrency is the number of objects per kind that are reconciled at once.
	ReconcileConcurrency int

	// BatchScheduler is the name of the batch scheduler; empty means none.
	BatchScheduler string
	// UseKubernetesProxy connects to dashboards through the API server.
	UseKubernetesProxy bool

	// Telemetry are the collectors of traces and metrics.
	Telemetry telemetry.Options
	// Logs are the destinations, formats and verbosity of the log.
	Logs LogOptions
	// Gates are the feature gates.
	Gates featuregate.MutableFeatureGate

	// Set by Complete.
	Config               *rest.Config
	Pod                  pod.Options
	Service              service.Options
	ShrinkWithAutoscaler bool
	// ClusterExpiry has defaults and bounds for idle and old RayClusters.
	ClusterExpiry expiryplan.Policies
	// Webhooks enables the webhooks; Webhook configures them.
	Webhooks bool
	Webhook  WebhookOptions
	// Devices configures the support for shared accelerators.
	Devices DeviceOptions
	// History configures the history of ended objects.
	History HistoryOptions
	// RedisCleanup removes the metadata of deleted clusters from Redis.
	RedisCleanup bool
	// IngressOnOpenShift creates an Ingress even if Routes are served.
	IngressOnOpenShift bool
	// Resync is the interval of reconciles of every RayCluster without a change; 0 means never.
	Resync time.Duration
	// RayJob and RayService configure the controllers of these kinds.
	RayJob     RayJobOptions
	RayService RayServiceOptions

	flags             *pflag.FlagSet
	fromFile          map[string]string // flag to field, of settings that the file decided
	gates             map[string]bool
	watchNamespace    string
	oldBatchScheduler bool
	forcedUpgrade     bool
}

// RayJobOptions are the settings of RayJob.
type RayJobOptions struct {
	// DeleteWhenFinished deletes the RayJob itself after it has finished and its cluster is shut down.
	DeleteWhenFinished bool
	// TransitionGrace is how long a submitter may run after its job has ended.
	TransitionGrace time.Duration
	// StatusCheckTimeout is how long the dashboard may be unreachable.
	StatusCheckTimeout time.Duration
	// SubmitterFinishedTimeout is how long a Ray job may run after its submitter has ended; 0 means no limit.
	SubmitterFinishedTimeout time.Duration
}

// NewOptions returns the defaults.
func NewOptions() *Options {
	return &Options{
		QPS:                    500,
		Burst:                  1000,
		MetricsBindAddress:     ":8080",
		Metrics:                true,
		MetricsPerObject:       true,
		MetricsAccelerators:    true,
		HealthProbeBindAddress: ":8082",
		LeaderElect:            true,
		ReconcileConcurrency:   32,
		Logs:                   newLogOptions(),
		Telemetry:              telemetry.NewOptions(),
		Gates:                  features.New(),
		Webhook:                newWebhookOptions(),
		Devices:                DeviceOptions{Quota: true, QuotaConsistency: relaxed, ExplicitZeroGPU: true},
		History:                newHistoryOptions(),
		fromFile:               map[string]string{},
		gates:                  map[string]bool{},
	}
}

// oldNames are flags of KubeRay 1.7 that have Kubernetes' usual names here. Both names work.
var oldNames = map[string]string{
	"metrics-addr":           "metrics-bind-address",
	"enable-leader-election": "leader-elect",
	"qps":                    "kube-api-qps",
	"burst":                  "kube-api-burst",
}

// AddFlags adds the flags, and the old names of those that have one, to fs.
func (o *Options) AddFlags(fs *pflag.FlagSet) {
	o.flags = fs
	fs.SetNormalizeFunc(func(_ *pflag.FlagSet, name string) pflag.NormalizedName {
		if now, ok := oldNames[name]; ok {
			name = now
		}
		return pflag.NormalizedName(strings.ReplaceAll(name, "_", "-"))
	})
	fs.StringVar(&o.ConfigFile, "config", o.ConfigFile, "Configuration file ("+config.Kind+" of "+config.APIVersion+"). A flag on the command line wins over the same setting in the file.")
	fs.StringVar(&o.Kubeconfig, "kubeconfig", o.Kubeconfig, "Kubeconfig file. Unset: the service account of the Pod, else the file that kubectl uses.")
	fs.Float32Var(&o.QPS, "kube-api-qps", o.QPS, "Requests per second to the API server; negative means no limit. (Old name: --qps)")
	fs.IntVar(&o.Burst, "kube-api-burst", o.Burst, "Burst of requests to the API server above --kube-api-qps. (Old name: --burst)")
	fs.StringVar(&o.MetricsBindAddress, "metrics-bind-address", o.MetricsBindAddress, "Address of /metrics; 0 turns it off. (Old name: --metrics-addr)")
	fs.BoolVar(&o.Metrics, "enable-metrics", o.Metrics, "Expose metrics about Ray objects.")
	fs.BoolVar(&o.MetricsPerObject, "metrics-per-object", o.MetricsPerObject, "Expose metrics with series for each Ray object. Turn it off for thousands of RayJobs a day; counters, histograms and totals stay.")
	fs.BoolVar(&o.MetricsAccelerators, "metrics-accelerators", o.MetricsAccelerators, "Count the seconds for which Pods request GPUs and TPUs, by namespace, queue and owner. With --metrics-per-object=false owners have no names.")
	fs.StringVar(&o.HealthProbeBindAddress, "health-probe-bind-address", o.HealthProbeBindAddress, "Address of /healthz and /readyz; 0 turns them off.")
	fs.BoolVar(&o.LeaderElect, "leader-elect", o.LeaderElect, "Only one replica works at a time. Turn off for a single local process. (Old name: --enable-leader-election)")
	fs.StringVar(&o.LeaderElectionNamespace, "leader-election-namespace", o.LeaderElectionNamespace, "Namespace of the Lease. Unset: the namespace of the Pod.")
	fs.StringVar(&o.watchNamespace, "watch-namespace", o.watchNamespace, "Comma-separated namespaces to watch. Unset: all.")
	fs.IntVar(&o.ReconcileConcurrency, "reconcile-concurrency", o.ReconcileConcurrency, "Number of objects of each kind that are reconciled at the same time.")
	fs.StringVar(&o.BatchScheduler, "batch-scheduler", o.BatchScheduler, "Batch scheduler for gangs and queues: "+strings.Join(registry.Names(), ", ")+". Unset: none. For the Kubernetes scheduler use --feature-gates="+string(features.KubernetesWAS)+"=true.")
	fs.BoolVar(&o.UseKubernetesProxy, "use-kubernetes-proxy", o.UseKubernetesProxy, "Reach the dashboards of Ray clusters through the Service proxy of the API server. Use it for an operator outside the Kubernetes cluster. Needs the rights of config/components/kubernetes-proxy.")
	fs.Var(cliflag.NewMapStringBool(&o.gates), "feature-gates", "Features to turn on or off, for example A=true,B=false. Known:\n"+strings.Join(o.Gates.KnownFeatures(), "\n"))
	fs.BoolVar(&o.oldBatchScheduler, "enable-batch-scheduler", o.oldBatchScheduler, "Means --batch-scheduler=volcano.")
	_ = fs.MarkDeprecated("enable-batch-scheduler", "use --batch-scheduler=volcano") // fails for unknown names only
	fs.BoolVar(&o.forcedUpgrade, "forced-cluster-upgrade", o.forcedUpgrade, "No effect.")
	_ = fs.MarkDeprecated("forced-cluster-upgrade", "it has no effect; see upgradeStrategy of RayCluster")
	o.Webhook.addFlags(fs, &o.Webhooks)
	o.Devices.addFlags(fs)
	o.RayService.addFlags(fs)
	o.Shard.addFlags(fs)
	o.History.addFlags(fs)
	o.Logs.addFlags(fs)
	o.Telemetry.AddFlags(fs, "How many of a million reconciles are traced.")
}

// Complete merges flags, file and environment. getenv is os.Getenv. It reports all problems at once, and the options can be
// validated in any case.
func (o *Options) Complete(getenv func(string) string) error {
	var errs []error
	env := &environment{get: getenv}
	o.completeFromEnvironment(env)
	errs = append(errs, env.errs...)
	errs = append(errs, o.completeFromFile()...)
	errs = append(errs, o.Logs.complete(o)...)
	if o.watchNamespace != "" {
		for ns := range strings.SplitSeq(o.watchNamespace, ",") {
			o.WatchNamespaces = append(o.WatchNamespaces, strings.TrimSpace(ns))
		}
	}
	if err := features.Set(o.Gates, o.gates); err != nil {
		errs = append(errs, problems(err)...)
	}
	o.Pod.MTLS, o.Pod.HistoryServer = o.Gates.Enabled(features.RayClusterMTLS), o.Gates.Enabled(features.RayClusterHistoryServer)
	if o.oldBatchScheduler {
		if o.BatchScheduler == "" {
			o.BatchScheduler = registry.OldSwitch
		} else {
			errs = append(errs, fmt.Errorf("%s and %s (%q) are both given; leave out the first",
				o.nameOf("enable-batch-scheduler"), o.nameOf("batch-scheduler"), o.BatchScheduler))
		}
	}
	errs = append(errs, o.completeConfig(), o.Devices.complete(), o.Shard.complete())
	o.Devices.fill(&o.Pod)
	return errors.Join(errs...)
}

func (o *Options) completeFromEnvironment(env *environment) {
	o.Pod = pod.Options{
		ClusterDomain:         env.domain("CLUSTER_DOMAIN"),
		OperatorVersion:       "raygate-" + version.Get().GitVersion, // not a KubeRay version, whose hashes are not comparable
		NoInitContainer:       !env.flag("ENABLE_INIT_CONTAINER_INJECTION", true),
		NoProbes:              !env.flag("ENABLE_PROBES_INJECTION", true),
		LoginShell:            env.flag("ENABLE_LOGIN_SHELL", false),
		DeterministicHeadName: env.flag("ENABLE_DETERMINISTIC_HEAD_POD_NAME", false),
	}
	o.Service = service.Options{HeadClusterIP: env.flag("ENABLE_RAY_HEAD_CLUSTER_IP_SERVICE", false)}
	o.ShrinkWithAutoscaler = env.flag("ENABLE_RANDOM_POD_DELETE", false)
	if !o.flags.Changed("enable-webhooks") {
		o.Webhooks = env.exact("ENABLE_WEBHOOKS")
	}
	o.Webhook.complete()
	o.RedisCleanup = env.flag("ENABLE_GCS_FT_REDIS_CLEANUP", true)
	o.IngressOnOpenShift = env.flag("USE_INGRESS_ON_OPENSHIFT", false)
	o.Resync = max(0, env.seconds("RAYCLUSTER_DEFAULT_REQUEUE_SECONDS_ENV", 0, -1<<31))
	o.RayJob = RayJobOptions{
		DeleteWhenFinished: env.flag("DELETE_RAYJOB_CR_AFTER_JOB_FINISHES", false),
		TransitionGrace:    env.seconds("RAYJOB_DEPLOYMENT_STATUS_TRANSITION_GRACE_PERIOD_SECONDS", 300*time.Second, 0),
		StatusCheckTimeout: env.seconds("RAYJOB_STATUS_CHECK_TIMEOUT_SECONDS", 300*time.Second, -1<<31),

		SubmitterFinishedTimeout: env.seconds("RAYJOB_SUBMITTER_FINISHED_TIMEOUT_SECONDS", 0, 0),
	}
	if o.RayJob.StatusCheckTimeout <= 0 { // as in KubeRay
		o.RayJob.StatusCheckTimeout = 300 * time.Second
	}
	o.RayService.ZeroDowntime = env.flag("ENABLE_ZERO_DOWNTIME", true)
}

func (o *Options) completeConfig() error {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = o.Kubeconfig
	rc, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, &clientcmd.ConfigOverrides{}).ClientConfig()
	if err != nil {
		return fmt.Errorf("loading the configuration of the Kubernetes client (see --kubeconfig): %w", err)
	}
	rc.QPS, rc.Burst = o.QPS, o.Burst
	rc.UserAgent = "raygate-operator/" + version.Get().GitVersion
	o.Config = rc
	return nil
}

// Validate reports all invalid settings.
func (o *Options) Validate() error {
	var errs []error
	refuse := func(flag, format string, args ...any) {
		errs = append(errs, fmt.Errorf("%s "+format, append([]any{o.nameOf(flag)}, args...)...))
	}
	if o.ReconcileConcurrency < 1 {
		refuse("reconcile-concurrency", "is %d, but must be at least 1", o.ReconcileConcurrency)
	}
	if o.QPS >= 0 && o.Burst < 1 {
		refuse("kube-api-burst", "is %d, but must be at least 1", o.Burst)
	}
	if o.QPS == 0 {
		refuse("kube-api-qps", "is 0, but must be above 0, or negative for no limit")
	}
	addresses := map[string]string{"metrics-bind-address": o.MetricsBindAddress, "health-probe-bind-address": o.HealthProbeBindAddress}
	for _, flag := range slices.Sorted(maps.Keys(addresses)) {
		if err := validAddress(addresses[flag]); err != nil {
			refuse(flag, "is %q, but must be host:port, :port or 0: %w", addresses[flag], err)
		}
	}
	o.RayService.validate(refuse)
	o.validateNamespaces(refuse)
	o.Shard.validate(refuse)
	o.History.validate(refuse)
	o.validateScheduler(refuse)
	if o.Webhooks {
		errs = append(errs, o.Webhook.validate()...)
	}
	errs = append(errs, o.Telemetry.Validate())
	return errors.Join(append(errs, o.Logs.validate()...)...)
}

func (o *Options) validateNamespaces(refuse func(flag, format string, args ...any)) {
	for _, ns := range o.WatchNamespaces {
		// An empty element would mean all namespaces, which a stray comma hardly meant.
		if problems := validation.IsDNS1123Label(ns); len(problems) > 0 {
			refuse("watch-namespace", "has the element %q: %s", ns, strings.Join(problems, "; "))
		}
	}
	if ns := o.LeaderElectionNamespace; ns != "" {
		if problems := validation.IsDNS1123Label(ns); len(problems) > 0 {
			refuse("leader-election-namespace", "is %q: %s", ns, strings.Join(problems, "; "))
		}
	}
}

func (o *Options) validateScheduler(refuse func(flag, format string, args ...any)) {
	name := o.BatchScheduler
	if name == "" {
		return
	}
	if !slices.Contains(registry.Names(), name) {
		refuse("batch-scheduler", "is %q, but must be one of %s, or be left out", name, strings.Join(registry.Names(), ", "))
	}
	if o.Gates.Enabled(features.KubernetesWAS) {
		refuse("batch-scheduler", "is %q and the feature gate %s is on, but a Pod has one scheduler; leave one out", name, features.KubernetesWAS)
	}
}

func validAddress(address string) error {
	if address == "0" {
		return nil
	}
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		return err
	}
	_, err = strconv.ParseUint(port, 10, 16)
	return err
}
