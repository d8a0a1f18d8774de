package pod

import (
	"strings"

	corev1 "k8s.io/api/core/v1"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/pkg/devices/claims"
)

// Options are the inputs of Pods besides the RayCluster. They are set once from flags and configuration, except Claims. The zero value
// builds what KubeRay 1.7 builds by default. Annotations of a cluster override NoInitContainer,
// NoProbes, LoginShell and TPUEnvironment.
type Options struct {
	// ClusterDomain is the DNS domain of Services. Empty means cluster.local.
	ClusterDomain string
	// OperatorVersion is written on head Pods and reported in Ray's usage statistics.
	OperatorVersion string

	// NoInitContainer omits the init container that delays workers until the head answers.
	NoInitContainer bool
	// NoProbes omits the liveness and readiness probes of the Ray container.
	NoProbes bool
	// LoginShell starts Ray in a login shell.
	LoginShell bool
	// DeterministicHeadName names the head Pod exactly demo-head instead of using a generated suffix.
	DeterministicHeadName bool

	// MTLS applies spec.tlsOptions (feature gate RayClusterMTLS). The certificates must exist before the Pods.
	MTLS bool
	// HistoryServer applies spec.historyServerOptions (feature gate RayClusterHistoryServer).
	HistoryServer bool

	// Devices completes templates for shared accelerators and counts them for Ray. Nil means the behaviour of KubeRay 1.7.
	Devices DeviceRegistry
	// NoExplicitZeroGPU omits "--num-gpus=0" on nodes without devices. It applies only with Devices.
	NoExplicitZeroGPU bool
	// DeviceLabels starts Ray with node labels for the size of its devices if rayVersion supports labels. It applies only with
	// Devices.
	DeviceLabels bool

	// TPUEnvironment gives workers with TPUs the variables of their place in a slice. It needs places of workers, see Replica.
	TPUEnvironment bool
	// Claims are the devices of ResourceClaims by the name of the group; groups without claims are missing. They belong to one cluster.
	Claims map[string]*claims.Devices

	// Env are default environment variables of the Ray container; user values take precedence.
	Env []corev1.EnvVar
	// Labels are default labels of Pods; values of the user and the operator take precedence.
	Labels map[string]string
	// Annotations are default annotations of Pods; values of the user and the operator take precedence.
	Annotations map[string]string
	// HeadSidecars and WorkerSidecars are containers appended to the Pods.
	HeadSidecars, WorkerSidecars []corev1.Container
}

// For returns the options for one cluster: annotations with the value true or false override them. KubeRay has only operator-wide
// switches, so one image without a shell or wget affects all clusters.
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
	o.TPUEnvironment = on(rayv1.AnnotationTPUEnvironment, o.TPUEnvironment)
	return o
}
