// Package config defines the configuration file of the operator: its format, decoding and validation. It reads neither flags nor
// environment variables; cmd merges them.
package config

import (
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"

	"github.com/raygate/raygate/operator/internal/expiryplan"
	"github.com/raygate/raygate/pkg/manifest"
)

// apiVersion and kind of the configuration file.
const (
	APIVersion = "config.ray.io/v1alpha1"
	Kind       = "Configuration"
)

// Configuration is the content of the file named by --config. Field names and kinds are those of KubeRay 1.7, so that its charts
// can render the file; featureGates and clusterExpiry are additions. Flags on the command line override fields. A missing field leaves the flag's
// default.
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
	// FeatureGates is --feature-gates. A gate on the command line overrides the same gate here; other gates are merged.
	FeatureGates map[string]bool `json:"featureGates,omitempty"`
	// DeleteRayJobAfterJobFinishes overrides the environment variable DELETE_RAYJOB_CR_AFTER_JOB_FINISHES.
	DeleteRayJobAfterJobFinishes *bool `json:"deleteRayJobAfterJobFinishes,omitempty"`

	// HeadSidecarContainers are added to each head Pod. This field and the following ones have no flag.
	HeadSidecarContainers   []corev1.Container `json:"headSidecarContainers,omitempty"`
	WorkerSidecarContainers []corev1.Container `json:"workerSidecarContainers,omitempty"` // added to each worker Pod
	// DefaultContainerEnvs are added to Ray containers; a variable of the user takes precedence.
	DefaultContainerEnvs []corev1.EnvVar `json:"defaultContainerEnvs,omitempty"`
	// DefaultPodAnnotations are added to Pods; an annotation of the user takes precedence.
	DefaultPodAnnotations map[string]string `json:"defaultPodAnnotations,omitempty"`
	DefaultPodLabels      map[string]string `json:"defaultPodLabels,omitempty"` // added to Pods; a label of the user wins
	// ClusterExpiry has defaults and bounds for idle and old RayClusters, by namespace.
	ClusterExpiry expiryplan.Policies `json:"clusterExpiry,omitempty"`
}

// Decode reads one YAML or JSON document. It reports all unknown, repeated and mistyped fields at once, each with its path,
// because an ignored misspelt field would leave a setting that nobody chose.
func Decode(data []byte) (*Configuration, error) {
	tree, mistakes := manifest.Read(data, true)
	if tree == nil {
		return nil, fmt.Errorf("%s; it must be one object with apiVersion: %s and kind: %s", mistakes[0].Detail, APIVersion, Kind)
	}
	c := &Configuration{}
	mistakes = manifest.Join(mistakes, manifest.Decode(tree, c, nil))
	// Check the kind first: for another kind, all fields would be reported as unknown.
	if c.APIVersion != APIVersion || c.Kind != Kind {
		return nil, fmt.Errorf("apiVersion and kind are %q and %q, but must be %q and %q", c.APIVersion, c.Kind, APIVersion, Kind)
	}
	var errs []error
	for _, m := range mistakes {
		errs = append(errs, fmt.Errorf("field %s: %s", m.Field, m.Detail))
	}
	return c, errors.Join(errs...)
}
