package config

import (
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"

	"github.com/raygate/raygate/pkg/kubedoc"
)

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

	MetricsAddr             *string  `json:"metricsAddr,omitempty"`             // --metrics-bind-address
	ProbeAddr               *string  `json:"probeAddr,omitempty"`               // --health-probe-bind-address
	EnableLeaderElection    *bool    `json:"enableLeaderElection,omitempty"`    // --leader-elect
	LeaderElectionNamespace *string  `json:"leaderElectionNamespace,omitempty"` // --leader-election-namespace
	ReconcileConcurrency    *int     `json:"reconcileConcurrency,omitempty"`    // --reconcile-concurrency; 0 counts as missing
	WatchNamespace          *string  `json:"watchNamespace,omitempty"`          // --watch-namespace
	LogFile                 *string  `json:"logFile,omitempty"`                 // --log-file-path
	LogFileEncoder          *string  `json:"logFileEncoder,omitempty"`          // --log-file-encoder
	LogStdoutEncoder        *string  `json:"logStdoutEncoder,omitempty"`        // --log-stdout-encoder
	EnableBatchScheduler    *bool    `json:"enableBatchScheduler,omitempty"`    // --enable-batch-scheduler
	BatchScheduler          *string  `json:"batchScheduler,omitempty"`          // --batch-scheduler
	UseKubernetesProxy      *bool    `json:"useKubernetesProxy,omitempty"`      // --use-kubernetes-proxy
	EnableMetrics           *bool    `json:"enableMetrics,omitempty"`           // --enable-metrics
	QPS                     *float32 `json:"qps,omitempty"`                     // --kube-api-qps
	Burst                   *int     `json:"burst,omitempty"`                   // --kube-api-burst
	// FeatureGates is --feature-gates. A gate on the command line wins over the same gate here; the others add up.
	FeatureGates map[string]bool `json:"featureGates,omitempty"`
	// DeleteRayJobAfterJobFinishes wins over the environment variable DELETE_RAYJOB_CR_AFTER_JOB_FINISHES.
	DeleteRayJobAfterJobFinishes *bool `json:"deleteRayJobAfterJobFinishes,omitempty"`

	// HeadSidecarContainers are added to each head Pod. In the file only, like what follows.
	HeadSidecarContainers   []corev1.Container `json:"headSidecarContainers,omitempty"`
	WorkerSidecarContainers []corev1.Container `json:"workerSidecarContainers,omitempty"` // added to each worker Pod
	// DefaultContainerEnvs are added to Ray containers; a variable of the user wins.
	DefaultContainerEnvs []corev1.EnvVar `json:"defaultContainerEnvs,omitempty"`
	// DefaultPodAnnotations are added to Pods; an annotation of the user wins.
	DefaultPodAnnotations map[string]string `json:"defaultPodAnnotations,omitempty"`
	DefaultPodLabels      map[string]string `json:"defaultPodLabels,omitempty"` // added to Pods; a label of the user wins
}

// Decode reads one YAML or JSON document. All unknown, repeated and mistyped fields are reported at once,
// each with its path: an operator that ignored a misspelt field would run with a setting that nobody chose.
func Decode(data []byte) (*Configuration, error) {
	tree, mistakes := kubedoc.Read(data, true)
	if tree == nil {
		return nil, fmt.Errorf("%s; it must be one object with apiVersion: %s and kind: %s", mistakes[0].Detail, APIVersion, Kind)
	}
	c := &Configuration{}
	mistakes = kubedoc.Join(mistakes, kubedoc.Decode(tree, c, nil))
	// Of another kind of object all fields would be unknown, which is not what is wrong with it.
	if c.APIVersion != APIVersion || c.Kind != Kind {
		return nil, fmt.Errorf("apiVersion and kind are %q and %q, but must be %q and %q", c.APIVersion, c.Kind, APIVersion, Kind)
	}
	var errs []error
	for _, m := range mistakes {
		errs = append(errs, fmt.Errorf("field %s: %s", m.Field, m.Detail))
	}
	return c, errors.Join(errs...)
}
