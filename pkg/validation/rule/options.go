package rule

import (
	"cmp"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
)

// Gate is the name of a feature gate of the operator that decides about a field.
type Gate string

// Gates that rules depend on, with their defaults as in KubeRay 1.7.
const (
	// GateDeletionPolicy allows deletionStrategy of a RayJob, and suspending a worker group. On by default.
	GateDeletionPolicy Gate = "RayJobDeletionPolicy"
	// GateMultiHostIndexing labels the workers of multi-host groups, which shortens group names. On by default.
	GateMultiHostIndexing Gate = "RayMultiHostIndexing"
	// GateNetworkPolicy allows networkPolicy. Off by default.
	GateNetworkPolicy Gate = "RayClusterNetworkPolicy"
	// GateMTLS allows tlsOptions. Off by default.
	GateMTLS Gate = "RayClusterMTLS"
	// GateHistoryServer allows historyServerOptions. Off by default.
	GateHistoryServer Gate = "RayClusterHistoryServer"
	// GateEmbeddedGCSStorage allows the rocksdb backend of GCS fault tolerance. Off by default.
	GateEmbeddedGCSStorage Gate = "GCSFaultToleranceEmbeddedStorage"
	// GateIncrementalUpgrade allows a RayService to move its traffic in steps. On by default.
	GateIncrementalUpgrade Gate = "RayServiceIncrementalUpgrade"
	// GateCronJob starts the controller of RayCronJobs. Off by default.
	GateCronJob Gate = "RayCronJob"
	// GateSidecarSubmitterRestart allows retries of the submitter of a RayJob in SidecarMode. Off by default.
	GateSidecarSubmitterRestart Gate = "SidecarSubmitterRestart"
)

// Missing returns the remedy for a field whose gate is off.
func (g Gate) Missing() string {
	return "needs the feature gate " + string(g) + " of the operator; turn it on, or remove this"
}

// gateDefaults are the defaults of the gates in KubeRay 1.7.
var gateDefaults = map[Gate]bool{
	GateDeletionPolicy: true, GateMultiHostIndexing: true, GateIncrementalUpgrade: true,
	GateNetworkPolicy: false, GateMTLS: false, GateHistoryServer: false, GateEmbeddedGCSStorage: false,
	GateCronJob: false, GateSidecarSubmitterRestart: false,
}

// Known reports whether a rule uses the gate.
func (g Gate) Known() bool {
	_, known := gateDefaults[g]
	return known
}

// Options are the inputs of the rules besides the object. The zero value means an unknown operator with the feature gates of KubeRay 1.7,
// in an unknown Kubernetes cluster.
type Options struct {
	// Gates are the known feature gates. A missing gate that is on by default counts as on. A missing gate that is off by default is
	// unknown, so that a field that needs it is a warning.
	Gates map[Gate]bool

	// FromOperator means that these are the options of the operator that acts on the object. Unset options then have their defaults. A
	// gateway and a command line cannot know the options; there, unknown options cause no errors.
	FromOperator bool

	// BatchScheduler is the scheduler that the operator was started with: kubernetes-was for the feature gate KubernetesWAS, or "" for
	// none. Nil means unknown, and disables the warnings about scheduler labels.
	BatchScheduler *string

	// CertManagerMissing means that the Kubernetes cluster is known to lack cert-manager, which TLS needs.
	CertManagerMissing bool

	// NoInitContainers means that the operator does not add the container that makes workers wait for the head
	// (ENABLE_INIT_CONTAINER_INJECTION=false). False is only meaningful with FromOperator.
	NoInitContainers bool

	// HeadSidecars and WorkerSidecars are the names of containers that the operator's own configuration adds to Ray Pods.
	HeadSidecars, WorkerSidecars []string

	// HeadClusterIPService means that the operator gives head Services an address (ENABLE_RAY_HEAD_CLUSTER_IP_SERVICE=true).
	HeadClusterIPService bool

	// RefuseGroupRemoval turns the warning about a worker group that is removed from a RayCluster in place into an error.
	RefuseGroupRemoval bool

	// NoZeroDowntime means that a RayService without a type of upgrade keeps its cluster (ENABLE_ZERO_DOWNTIME=false).
	NoZeroDowntime bool

	// Now is the time from which schedules are evaluated. The zero value means a fixed date, so that the same object always gets the same
	// verdict. It only affects schedules that end.
	Now time.Time

	// RequestVersion is the API version of the client's object, as in v1alpha1, if fields that this version lacks are lost in conversion.
	// Empty means that nothing is lost.
	RequestVersion string

	// Facts are about other objects. Nil means unknown, as in admission, which must not read other objects.
	Facts *Facts
}

// Facts are what a controller has read in the namespace of the object. Zero values mean unknown and break no rule.
type Facts struct {
	// ForeignNetworkPolicies are names of NetworkPolicies that the cluster needs and that have another owner.
	ForeignNetworkPolicies []string
	// ServiceAccountMissing means that the ServiceAccount of the head Pod does not exist.
	ServiceAccountMissing bool
	// AuthSecretMissing means that the Secret in authOptions.secretName does not exist, or has no key auth_token.
	AuthSecretMissing bool
	// Claim is the PersistentVolumeClaim of the embedded store as it is, or nil.
	Claim *corev1.PersistentVolumeClaimSpec
	// WorkerPods are the names of the current and former Pods of each group that is a key: the autoscaler removes a name from its list
	// after the Pod is gone.
	WorkerPods map[string][]string
	// WantedPods is the number of Pods that the operator has counted for each group that is a key.
	WantedPods map[string]int64
	// SelectedClusterMissing means that the RayCluster in clusterSelector does not exist.
	SelectedClusterMissing bool
}

// Enabled reports whether the gate is on, as far as known.
func (o Options) Enabled(g Gate) bool {
	if on, set := o.Gates[g]; set {
		return on
	}
	return gateDefaults[g]
}

// Knows reports whether Enabled is certain.
func (o Options) Knows(g Gate) bool {
	_, set := o.Gates[g]
	return set || o.FromOperator || gateDefaults[g]
}

// KnownFacts is never nil.
func (o Options) KnownFacts() *Facts {
	return cmp.Or(o.Facts, &Facts{})
}

// Scheduler is the batch scheduler; empty if there is none or it is unknown.
func (o Options) Scheduler() string {
	return ptr.Deref(o.BatchScheduler, "")
}

// ParseGates reads settings such as "RayClusterMTLS=true" into Options.Gates. Settings may be joined by commas; the last one of a gate
// counts. The error names every setting that is malformed or whose gate no rule uses. This includes gates of the operator without rules,
// because a misspelt gate must not pass as one of these.
func ParseGates(settings ...string) (map[Gate]bool, error) {
	gates := map[Gate]bool{}
	var errs []error
	for setting := range strings.SplitSeq(strings.Join(settings, ","), ",") {
		if strings.TrimSpace(setting) == "" {
			continue
		}
		name, value, _ := strings.Cut(setting, "=")
		gate := Gate(strings.TrimSpace(name))
		on, err := strconv.ParseBool(strings.TrimSpace(value))
		switch {
		case err != nil:
			errs = append(errs, fmt.Errorf("feature gate %q: use NAME=true or NAME=false", setting))
		case !gate.Known():
			errs = append(errs, fmt.Errorf("feature gate %q: no rule asks for it", gate))
		default:
			gates[gate] = on
		}
	}
	return gates, errors.Join(errs...)
}
