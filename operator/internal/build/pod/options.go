package pod

import corev1 "k8s.io/api/core/v1"

// Options is what Pods depend on besides the RayCluster. It is filled once from flags and configuration; the zero value
// builds what KubeRay 1.7 builds by default.
type Options struct {
	// ClusterDomain is the DNS domain of Services. Empty means cluster.local.
	ClusterDomain string
	// OperatorVersion is written on head Pods and reported in Ray's usage statistics.
	OperatorVersion string

	// NoInitContainer leaves out the init container that holds workers until the head answers.
	NoInitContainer bool
	// NoProbes leaves out the liveness and readiness probes of the Ray container.
	NoProbes bool
	// LoginShell starts Ray in a login shell.
	LoginShell bool
	// DeterministicHeadName names the head Pod exactly demo-head instead of letting the API server choose a suffix.
	DeterministicHeadName bool

	// MTLS honours spec.tlsOptions: the feature gate RayClusterMTLS. The certificates must exist before the Pods.
	MTLS bool
	// HistoryServer honours spec.historyServerOptions: the feature gate RayClusterHistoryServer.
	HistoryServer bool

	// Env are default environment variables of the Ray container; those of the user win.
	Env []corev1.EnvVar
	// Labels are default labels of Pods; those of the user and the operator win.
	Labels map[string]string
	// Annotations are default annotations of Pods; those of the user and the operator win.
	Annotations map[string]string
	// HeadSidecars and WorkerSidecars are containers appended to the Pods.
	HeadSidecars, WorkerSidecars []corev1.Container
}
