package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	cliflag "k8s.io/component-base/cli/flag"
	"k8s.io/component-base/featuregate"
	"k8s.io/component-base/term"
	"k8s.io/component-base/version"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	ctrlconfig "sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	ctrlmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/operator/internal/archive"
	"github.com/raygate/raygate/operator/internal/controller/mtls"
	"github.com/raygate/raygate/operator/internal/controller/raycluster"
	"github.com/raygate/raygate/operator/internal/dashboards"
	"github.com/raygate/raygate/operator/internal/features"
	"github.com/raygate/raygate/operator/internal/metrics"
	"github.com/raygate/raygate/operator/internal/optionalapi"
	"github.com/raygate/raygate/pkg/devices/claims"
	"github.com/raygate/raygate/pkg/headpod"
	"github.com/raygate/raygate/pkg/validation"
)

const (
	// leaseName is the name that KubeRay uses, so that the two operators never work at the same time during a swap.
	leaseName = "ray-operator-leader"
	// eventSource is the reportingController of events. It is the same as KubeRay's.
	eventSource = "raycluster-controller"
	// shutdownLimit is how long running reconciles may take to end. It is below the default grace period of a Pod.
	shutdownLimit = 8 * time.Second
	// reconcileLimit limits one reconcile. It is twice the request timeout of the API server. Without it, a request that a proxy
	// lost would block its object forever.
	reconcileLimit = 2 * time.Minute
)

// newCommand returns the root command. It calls start with complete and valid options.
func newCommand(start func(context.Context, *Options) error) *cobra.Command {
	o := NewOptions()
	cmd := &cobra.Command{
		Use:   "raygate-operator",
		Short: "Runs Ray clusters on Kubernetes",
		Long: "raygate-operator watches RayCluster objects and makes the Pods and Services that they describe.\n" +
			"It is configured by flags and a file; flags, files and environment variables of KubeRay's charts work too. See docs/operator.md.",
		Version:       version.Get().GitVersion,
		Args:          cobra.NoArgs,
		SilenceUsage:  true,
		SilenceErrors: true,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := errors.Join(o.Complete(os.Getenv), o.Validate()); err != nil {
				return err
			}
			return start(cmd.Context(), o)
		},
	}
	var sets cliflag.NamedFlagSets
	o.AddFlags(sets.FlagSet("operator"))
	sets.FlagSet("global").Bool("version", false, "Print the version and quit.")
	for _, fs := range sets.FlagSets {
		cmd.Flags().AddFlagSet(fs)
	}
	cmd.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return fmt.Errorf("%w; see raygate-operator --help", err) })
	cmd.Flags().SetNormalizeFunc(sets.FlagSet("operator").GetNormalizeFunc())
	columns, _, _ := term.TerminalSize(cmd.OutOrStdout())
	cliflag.SetUsageAndHelpFunc(cmd, sets, columns)
	return cmd
}

// run runs the operator until the context ends.
func run(ctx context.Context, o *Options) error {
	stopLogging, err := o.Logs.start()
	if err != nil {
		return err
	}
	defer stopLogging()
	klog.Background().Info("Starting", "version", version.Get().GitVersion, "featureGates", gateValues(o.Gates),
		"configFile", o.ConfigFile, "batchScheduler", o.schedulerName())
	if err := checkKubernetes(o); err != nil {
		return err
	}
	if err := waitForCRDs(ctx, o, crdInterval); err != nil {
		return err
	}
	stopTelemetry, err := startTelemetry(ctx, o)
	if err != nil {
		return err
	}
	defer stopTelemetry()
	mgr, err := newManager(o)
	if err != nil {
		return err
	}
	kinds, err := optionalapi.New(mgr, namespaces(o), clock.RealClock{})
	if err != nil {
		return err
	}
	past, err := addHistory(ctx, mgr, o)
	if err != nil {
		return err
	}
	for _, part := range []struct {
		name string
		add  func() error
	}{
		{"the RayCluster controller", func() error { return addRayCluster(ctx, mgr, o, inCommon{kinds, past}) }},
		{"the mTLS controller", func() error { return addMTLS(mgr, o, kinds) }},
		{"the RayJob controller", func() error { return addRayJob(ctx, mgr, o, inCommon{kinds, past}) }},
		{"the RayService controller", func() error { return addRayService(ctx, mgr, o, inCommon{kinds, past}) }},
		{"the RayCronJob controller", func() error { return addRayCronJob(mgr, o) }},
		{"the counters of accelerators", func() error { return addAccelerators(mgr, o) }},
		{"the registry of device families", func() error { return addDeviceRegistry(ctx, mgr, o) }},
		{"the webhooks", func() error { return addWebhooks(ctx, mgr, o) }},
	} {
		if err := part.add(); err != nil {
			return fmt.Errorf("setting up %s: %w", part.name, err)
		}
	}
	if err := mgr.Start(ctx); err != nil {
		return fmt.Errorf("running: %w", err)
	}
	return nil
}

func newManager(o *Options) (ctrl.Manager, error) {
	scheme := runtime.NewScheme()
	if err := errors.Join(clientgoscheme.AddToScheme(scheme), rayv1.AddToScheme(scheme)); err != nil {
		return nil, fmt.Errorf("filling the scheme: %w", err)
	}
	caches := cache.Options{
		ByObject:          cached(o.Shard),
		DefaultNamespaces: namespaces(o),
		DefaultTransform:  cache.TransformStripManagedFields(),
	}
	mgr, err := ctrl.NewManager(o.Config, ctrl.Options{
		Scheme:                        scheme,
		Logger:                        klog.Background(),
		Cache:                         caches,
		Metrics:                       metricsserver.Options{BindAddress: o.MetricsBindAddress},
		HealthProbeBindAddress:        o.HealthProbeBindAddress,
		LeaderElection:                o.LeaderElect,
		LeaderElectionID:              o.Shard.LeaseName,
		LeaderElectionNamespace:       o.LeaderElectionNamespace,
		LeaderElectionReleaseOnCancel: true, // the process exits right after, so no reconcile runs without the lease
		GracefulShutdownTimeout:       new(shutdownLimit),
		Controller:                    ctrlconfig.Controller{ReconciliationTimeout: reconcileLimit},
	})
	if err != nil {
		return nil, fmt.Errorf("making the manager: %w", err)
	}
	ready := func(r *http.Request) error { return cacheSynced(r.Context(), mgr.GetCache()) }
	if err := errors.Join(mgr.AddHealthzCheck("ping", healthz.Ping), mgr.AddReadyzCheck("caches", ready)); err != nil {
		return nil, fmt.Errorf("adding health checks: %w", err)
	}
	return mgr, nil
}

// namespaces returns the namespaces to cache; nil means all.
func namespaces(o *Options) map[string]cache.Config {
	var m map[string]cache.Config
	for _, ns := range o.WatchNamespaces {
		if m == nil {
			m = map[string]cache.Config{}
		}
		m[ns] = cache.Config{}
	}
	return m
}

// cacheSynced returns an error until the caches are synced.
func cacheSynced(ctx context.Context, c cache.Cache) error {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	if !c.WaitForCacheSync(ctx) {
		return errors.New("caches are not filled yet")
	}
	return nil
}

// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch

// inCommon is what the controllers share.
type inCommon struct {
	kinds *optionalapi.Kinds
	past  *archive.Archive // nil without a history
}

func addRayCluster(ctx context.Context, mgr ctrl.Manager, o *Options, with inCommon) error {
	var collector *metrics.RayCluster
	if o.Metrics {
		collector = metrics.NewRayCluster(mgr.GetClient())
		if err := o.register(collector); err != nil {
			return err
		}
	}
	ctrlmetrics.RegisterRESTClientMetrics(ctrlmetrics.MetricRequestLatency, ctrlmetrics.MetricDNSResolutionLatency,
		ctrlmetrics.MetricRequestSize, ctrlmetrics.MetricResponseSize, ctrlmetrics.MetricRateLimiterLatency, ctrlmetrics.MetricRequestRetry)
	c := rayClusterSettings(o)
	c.Client, c.Live = mgr.GetClient(), mgr.GetAPIReader()
	c.Recorder, c.Clock = mgr.GetEventRecorder(eventSource), clock.RealClock{}
	var err error
	if c.Connect, err = connect(o, mgr.GetClient()); err != nil {
		return err
	}
	if o.Gates.Enabled(features.RayClusterDrain) && !o.UseKubernetesProxy {
		c.Drain = dashboards.DrainDirect(mgr.GetClient(), headpod.NewTransport(o.Config.Host).DialContext)
	}
	c.Metrics, c.APIs, c.Archive = collector, with.kinds, with.past
	return raycluster.New(c).SetupWithManager(ctx, mgr, controller.Options{MaxConcurrentReconciles: o.ReconcileConcurrency})
}

// objectMetrics is a collector of metrics about Ray objects.
type objectMetrics interface {
	prometheus.Collector
	TotalsOnly()
}

// register adds a collector to the metrics of the process.
func (o *Options) register(m objectMetrics) error {
	if !o.MetricsPerObject {
		m.TotalsOnly()
	}
	if err := ctrlmetrics.Registry.Register(m); err != nil {
		return fmt.Errorf("registering metrics: %w", err)
	}
	return nil
}

// rayClusterSettings returns the settings of the controller.
func rayClusterSettings(o *Options) raycluster.Config {
	return raycluster.Config{
		Validation:           validationOptions(o),
		Pod:                  o.Pod,
		Service:              o.Service,
		Scheduler:            o.scheduler(),
		ReplicaIndices:       o.Gates.Enabled(features.RayMultiHostIndexing),
		ShrinkWithAutoscaler: o.ShrinkWithAutoscaler,
		Namespaces:           o.WatchNamespaces,
		Resync:               o.Resync,
		Expiry:               o.ClusterExpiry,
		CleanUpRedis:         o.RedisCleanup,
		MTLS:                 o.Gates.Enabled(features.RayClusterMTLS),
		NetworkPolicies:      o.Gates.Enabled(features.RayClusterNetworkPolicy),
		IngressOnOpenShift:   o.IngressOnOpenShift,
		DeviceFacts:          o.Devices.AutoscalerFacts,
		DeviceClasses:        claims.Classes{Configured: o.Devices.ClassResources},
	}
}

func addMTLS(mgr ctrl.Manager, o *Options, kinds *optionalapi.Kinds) error {
	if !o.Gates.Enabled(features.RayClusterMTLS) {
		return nil
	}
	r := mtls.New(mtls.Config{
		Client:        mgr.GetClient(),
		Live:          mgr.GetAPIReader(),
		APIs:          kinds,
		Recorder:      mgr.GetEventRecorder(mtls.EventSource),
		Clock:         clock.RealClock{},
		ClusterDomain: o.Pod.ClusterDomain,
	})
	return r.SetupWithManager(mgr, controller.Options{MaxConcurrentReconciles: o.ReconcileConcurrency})
}

// validationOptions returns the facts about this operator that validation rules need, for webhooks and controllers alike.
func validationOptions(o *Options) validation.Options {
	return validation.Options{
		Gates:                validationGates(o.Gates),
		FromOperator:         true,
		BatchScheduler:       new(o.schedulerName()),
		NoInitContainers:     o.Pod.NoInitContainer,
		HeadSidecars:         containerNames(o.Pod.HeadSidecars),
		WorkerSidecars:       containerNames(o.Pod.WorkerSidecars),
		HeadClusterIPService: o.Service.HeadClusterIP,
		RefuseGroupRemoval:   o.Webhook.RefuseGroupRemoval,
		NoZeroDowntime:       !o.RayService.ZeroDowntime,
	}
}

func containerNames(containers []corev1.Container) []string {
	names := make([]string, len(containers))
	for i := range containers {
		names[i] = containers[i].Name
	}
	return names
}

// validationGates returns the feature gates that the validation rules know, by the same names.
func validationGates(g featuregate.MutableFeatureGate) map[validation.Gate]bool {
	gates := map[validation.Gate]bool{}
	for name := range g.GetAll() {
		if gate := validation.Gate(name); gate.Known() {
			gates[gate] = g.Enabled(name)
		}
	}
	return gates
}

func gateValues(g featuregate.MutableFeatureGate) map[string]bool {
	values := map[string]bool{}
	for name := range g.GetAll() {
		values[string(name)] = g.Enabled(name)
	}
	return values
}
