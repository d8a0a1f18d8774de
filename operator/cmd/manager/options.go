package main

import (
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	cliflag "k8s.io/component-base/cli/flag"
	"k8s.io/component-base/featuregate"
	logsapi "k8s.io/component-base/logs/api/v1"
	"k8s.io/component-base/version"

	"github.com/raygate/raygate/operator/internal/build/pod"
	"github.com/raygate/raygate/operator/internal/build/service"
	"github.com/raygate/raygate/operator/internal/features"
)

// Options are what the operator is started with. Make one with NewOptions, add its flags, then call Complete and
// Validate.
type Options struct {
	// Kubeconfig is a file; empty means the service account of the Pod, or the file that kubectl would use.
	Kubeconfig string
	// QPS and Burst limit requests to the API server. A negative QPS means no limit.
	QPS   float32
	Burst int

	// MetricsBindAddress serves /metrics; "0" turns it off.
	MetricsBindAddress string
	// HealthProbeBindAddress serves /healthz and /readyz; "0" turns it off.
	HealthProbeBindAddress string

	// LeaderElect makes replicas take turns.
	LeaderElect bool
	// LeaderElectionNamespace is where the Lease is; empty means the namespace of the Pod.
	LeaderElectionNamespace string

	// WatchNamespaces are the namespaces to look at; empty means all.
	WatchNamespaces []string
	// ReconcileConcurrency is the number of objects per kind that are reconciled at once.
	ReconcileConcurrency int

	// Logs are format and verbosity of the log.
	Logs *logsapi.LoggingConfiguration
	// Gates are the feature gates.
	Gates featuregate.MutableFeatureGate

	// Set by Complete.
	Config               *rest.Config
	Pod                  pod.Options
	Service              service.Options
	ShrinkWithAutoscaler bool

	gates          map[string]bool
	watchNamespace string
}

// NewOptions returns the defaults.
func NewOptions() *Options {
	return &Options{
		QPS:                    500,
		Burst:                  1000,
		MetricsBindAddress:     ":8080",
		HealthProbeBindAddress: ":8082",
		LeaderElect:            true,
		ReconcileConcurrency:   32,
		Logs:                   logsapi.NewLoggingConfiguration(),
		Gates:                  features.New(),
		gates:                  map[string]bool{},
	}
}

// oldNames are flags of KubeRay 1.7 that are called as in the rest of Kubernetes here. Both names work.
var oldNames = map[string]string{
	"metrics-addr":           "metrics-bind-address",
	"enable-leader-election": "leader-elect",
	"qps":                    "kube-api-qps",
	"burst":                  "kube-api-burst",
}

// AddFlags adds the flags, and the old names of those that have one, to fs.
func (o *Options) AddFlags(fs *pflag.FlagSet) {
	fs.SetNormalizeFunc(func(_ *pflag.FlagSet, name string) pflag.NormalizedName {
		if now, ok := oldNames[name]; ok {
			name = now
		}
		return pflag.NormalizedName(strings.ReplaceAll(name, "_", "-"))
	})
	fs.StringVar(&o.Kubeconfig, "kubeconfig", o.Kubeconfig, "Kubeconfig file. Unset: the service account of the Pod, else the file that kubectl uses.")
	fs.Float32Var(&o.QPS, "kube-api-qps", o.QPS, "Requests per second to the API server; negative means no limit. (Old name: --qps)")
	fs.IntVar(&o.Burst, "kube-api-burst", o.Burst, "Requests that may be sent at once before the limit applies. (Old name: --burst)")
	fs.StringVar(&o.MetricsBindAddress, "metrics-bind-address", o.MetricsBindAddress, "Address of /metrics; 0 turns it off. (Old name: --metrics-addr)")
	fs.StringVar(&o.HealthProbeBindAddress, "health-probe-bind-address", o.HealthProbeBindAddress, "Address of /healthz and /readyz; 0 turns them off.")
	fs.BoolVar(&o.LeaderElect, "leader-elect", o.LeaderElect, "Only one replica works at a time. Turn off for a single local process. (Old name: --enable-leader-election)")
	fs.StringVar(&o.LeaderElectionNamespace, "leader-election-namespace", o.LeaderElectionNamespace, "Namespace of the Lease. Unset: the namespace of the Pod.")
	fs.StringVar(&o.watchNamespace, "watch-namespace", o.watchNamespace, "Comma-separated namespaces to look at. Unset: all.")
	fs.IntVar(&o.ReconcileConcurrency, "reconcile-concurrency", o.ReconcileConcurrency, "Objects of each kind that are reconciled at once.")
	fs.Var(cliflag.NewMapStringBool(&o.gates), "feature-gates", "Features to turn on or off, as in A=true,B=false. Known:\n"+strings.Join(o.Gates.KnownFeatures(), "\n"))
	logsapi.AddFlags(o.Logs, fs)
}

// Complete derives what flags and environment say together. getenv is os.Getenv.
func (o *Options) Complete(getenv func(string) string) error {
	if o.watchNamespace != "" {
		for ns := range strings.SplitSeq(o.watchNamespace, ",") {
			o.WatchNamespaces = append(o.WatchNamespaces, strings.TrimSpace(ns))
		}
	}
	if err := features.Set(o.Gates, o.gates); err != nil {
		return err
	}
	if err := o.completeConfig(); err != nil {
		return err
	}
	env := environment{get: getenv}
	o.Pod = pod.Options{
		ClusterDomain:         getenv("CLUSTER_DOMAIN"),
		OperatorVersion:       version.Get().GitVersion,
		NoInitContainer:       !env.flag("ENABLE_INIT_CONTAINER_INJECTION", true),
		NoProbes:              !env.flag("ENABLE_PROBES_INJECTION", true),
		LoginShell:            env.flag("ENABLE_LOGIN_SHELL", false),
		DeterministicHeadName: env.flag("ENABLE_DETERMINISTIC_HEAD_POD_NAME", false),
	}
	o.Service = service.Options{HeadClusterIP: env.flag("ENABLE_RAY_HEAD_CLUSTER_IP_SERVICE", false)}
	o.ShrinkWithAutoscaler = env.flag("ENABLE_RANDOM_POD_DELETE", false)
	return errors.Join(env.errs...)
}

func (o *Options) completeConfig() error {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = o.Kubeconfig
	config, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, &clientcmd.ConfigOverrides{}).ClientConfig()
	if err != nil {
		return fmt.Errorf("loading the configuration of the Kubernetes client (see --kubeconfig): %w", err)
	}
	config.QPS, config.Burst = o.QPS, o.Burst
	config.UserAgent = "raygate-operator/" + version.Get().GitVersion
	o.Config = config
	return nil
}

// Validate reports all settings that make no sense.
func (o *Options) Validate() error {
	var errs []error
	refuse := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	if o.ReconcileConcurrency < 1 {
		refuse("--reconcile-concurrency is %d, but must be at least 1", o.ReconcileConcurrency)
	}
	if o.QPS >= 0 && o.Burst < 1 {
		refuse("--kube-api-burst is %d, but must be at least 1", o.Burst)
	}
	for flag, address := range map[string]string{
		"--metrics-bind-address": o.MetricsBindAddress, "--health-probe-bind-address": o.HealthProbeBindAddress,
	} {
		if err := validAddress(address); err != nil {
			refuse("%s is %q, but must be host:port, :port or 0: %w", flag, address, err)
		}
	}
	for _, ns := range o.WatchNamespaces {
		// An empty element would mean all namespaces, which is hardly what a stray comma was meant to say.
		if problems := validation.IsDNS1123Label(ns); len(problems) > 0 {
			refuse("--watch-namespace has the element %q: %s", ns, strings.Join(problems, "; "))
		}
	}
	if err := logsapi.Validate(o.Logs, nil, nil).ToAggregate(); err != nil {
		errs = append(errs, err)
	}
	slices.SortFunc(errs, func(a, b error) int { return strings.Compare(a.Error(), b.Error()) })
	return errors.Join(errs...)
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

// environment reads the switches that charts for KubeRay set.
type environment struct {
	get  func(string) string
	errs []error
}

func (e *environment) flag(name string, unset bool) bool {
	switch value := e.get(name); strings.ToLower(value) {
	case "":
		return unset
	case "true":
		return true
	case "false":
		return false
	default:
		e.errs = append(e.errs, fmt.Errorf("environment variable %s is %q, but must be true or false", name, value))
		return unset
	}
}
