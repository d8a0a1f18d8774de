package pod

import (
	"strings"

	corev1 "k8s.io/api/core/v1"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
)

// Options is what Pods depend on besides the RayCluster. It is filled once from flags and configuration; the zero value
// builds what KubeRay 1.7 builds by default. Annotations of a cluster win over NoInitContainer, NoProbes and LoginShell.
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

	// Devices completes templates for shared accelerators and counts them for Ray; nil leaves it at what KubeRay 1.7 does.
	Devices DeviceRegistry
	// NoExplicitZeroGPU leaves "--num-gpus=0" out of nodes without devices. It counts with Devices only.
	NoExplicitZeroGPU bool
	// DeviceLabels tells Ray by labels of the node how large its devices are, where rayVersion says that Ray has labels. It counts with Devices only.
	DeviceLabels bool

	// Env are default environment variables of the Ray container; those of the user win.
	Env []corev1.EnvVar
	// Labels are default labels of Pods; those of the user and the operator win.
	Labels map[string]string
	// Annotations are default annotations of Pods; those of the user and the operator win.
	Annotations map[string]string
	// HeadSidecars and WorkerSidecars are containers appended to the Pods.
	HeadSidecars, WorkerSidecars []corev1.Container
}

// For returns the options that count for one cluster: annotations decide about it where they say true or false. KubeRay has
// switches for all clusters of an operator only, so that one image without a shell or wget decides for everybody.
func (o Options) For(rc *rayv1.RayCluster) Options {
	on := func(annotation string, byDefault bool) bool {
		switch value := rc.Annotations[annotation]; {
		case isTrue(value):
			return true
		case strings.EqualFold(value, "false"):
			return false
		default:
			return byDefault
		}
	}
	o.NoInitContainer = !on(rayv1.AnnotationWaitForHead, !o.NoInitContainer)
	o.NoProbes = !on(rayv1.AnnotationProbes, !o.NoProbes)
	o.LoginShell = on(rayv1.AnnotationLoginShell, o.LoginShell)
	return o
}
