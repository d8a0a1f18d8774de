package config

import corev1 "k8s.io/api/core/v1"

// What the file calls itself.
const (
	APIVersion = "config.ray.io/v1alpha1"
	Kind       = "Configuration"
)

// Configuration is the file behind --config. Names and kinds of the fields are those of KubeRay 1.7, so its charts can
// render the file; featureGates is ours. A field that is missing leaves the setting to its flag, and a flag on the command
// line wins over the field.
type Configuration struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`

	// MetricsAddr is --metrics-bind-address.
	MetricsAddr *string `json:"metricsAddr,omitempty"`
	// ProbeAddr is --health-probe-bind-address.
	ProbeAddr *string `json:"probeAddr,omitempty"`
	// EnableLeaderElection is --leader-elect.
	EnableLeaderElection *bool `json:"enableLeaderElection,omitempty"`
	// LeaderElectionNamespace is --leader-election-namespace.
	LeaderElectionNamespace *string `json:"leaderElectionNamespace,omitempty"`
	// ReconcileConcurrency is --reconcile-concurrency; 0 counts as missing.
	ReconcileConcurrency *int `json:"reconcileConcurrency,omitempty"`
	// WatchNamespace is --watch-namespace.
	WatchNamespace *string `json:"watchNamespace,omitempty"`
	// LogFile is --log-file-path.
	LogFile *string `json:"logFile,omitempty"`
	// LogFileEncoder is --log-file-encoder.
	LogFileEncoder *string `json:"logFileEncoder,omitempty"`
	// LogStdoutEncoder is --log-stdout-encoder.
	LogStdoutEncoder *string `json:"logStdoutEncoder,omitempty"`
	// EnableBatchScheduler is --enable-batch-scheduler.
	EnableBatchScheduler *bool `json:"enableBatchScheduler,omitempty"`
	// BatchScheduler is --batch-scheduler.
	BatchScheduler *string `json:"batchScheduler,omitempty"`
	// UseKubernetesProxy is --use-kubernetes-proxy.
	UseKubernetesProxy *bool `json:"useKubernetesProxy,omitempty"`
	// EnableMetrics is --enable-metrics.
	EnableMetrics *bool `json:"enableMetrics,omitempty"`
	// QPS is --kube-api-qps.
	QPS *float32 `json:"qps,omitempty"`
	// Burst is --kube-api-burst.
	Burst *int `json:"burst,omitempty"`
	// FeatureGates is --feature-gates. A gate on the command line wins over the same gate here; the others add up.
	FeatureGates map[string]bool `json:"featureGates,omitempty"`
	// DeleteRayJobAfterJobFinishes wins over the environment variable DELETE_RAYJOB_CR_AFTER_JOB_FINISHES.
	DeleteRayJobAfterJobFinishes *bool `json:"deleteRayJobAfterJobFinishes,omitempty"`

	// HeadSidecarContainers are added to each head Pod. In the file only, like what follows.
	HeadSidecarContainers []corev1.Container `json:"headSidecarContainers,omitempty"`
	// WorkerSidecarContainers are added to each worker Pod.
	WorkerSidecarContainers []corev1.Container `json:"workerSidecarContainers,omitempty"`
	// DefaultContainerEnvs are added to Ray containers; a variable of the user wins.
	DefaultContainerEnvs []corev1.EnvVar `json:"defaultContainerEnvs,omitempty"`
	// DefaultPodAnnotations are added to Pods; an annotation of the user wins.
	DefaultPodAnnotations map[string]string `json:"defaultPodAnnotations,omitempty"`
	// DefaultPodLabels are added to Pods; a label of the user wins.
	DefaultPodLabels map[string]string `json:"defaultPodLabels,omitempty"`
}
