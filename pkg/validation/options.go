package validation

// Gate is the name of a feature gate of the operator that decides about a field.
type Gate string

// Gates that rules ask for, with their defaults as KubeRay 1.7.
const (
	// GateDeletionPolicy allows suspending a worker group. On by default.
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
)

// enabledByDefault reports what KubeRay 1.7 does when nobody sets the gate.
func (g Gate) enabledByDefault() bool {
	return g == GateDeletionPolicy || g == GateMultiHostIndexing
}

// Known reports whether some rule asks for the gate.
func (g Gate) Known() bool {
	switch g {
	case GateDeletionPolicy, GateMultiHostIndexing, GateNetworkPolicy, GateMTLS, GateHistoryServer, GateEmbeddedGCSStorage:
		return true
	}
	return false
}

// Options are what the rules know besides the object. The zero value stands for an operator with the defaults of
// KubeRay 1.7, in a Kubernetes cluster of which nothing is known.
type Options struct {
	// Gates overrides defaults of feature gates. A gate that is not a key has its default.
	Gates map[Gate]bool

	// BatchScheduler is the scheduler that the operator was started with; "" says that it has none. Nil means not known,
	// and silences the warnings about scheduler labels.
	BatchScheduler *string

	// CertManagerMissing says that the Kubernetes cluster is known to lack cert-manager, which TLS needs.
	CertManagerMissing bool

	// NoInitContainers says that the operator does not add the container that makes workers wait for the head
	// (ENABLE_INIT_CONTAINER_INJECTION=false).
	NoInitContainers bool

	// SidecarVolumes are the names of volumes that the sidecars of the operator's own configuration bring into Ray Pods.
	SidecarVolumes []string
}

func (o Options) enabled(g Gate) bool {
	if on, set := o.Gates[g]; set {
		return on
	}
	return g.enabledByDefault()
}
