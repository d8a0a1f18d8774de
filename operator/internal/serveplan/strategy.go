package serveplan

import (
	"strconv"
	"time"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
)

// Strategy is how a change of the cluster reaches users.
type Strategy struct {
	// NewCluster says that a change of the cluster makes another one.
	NewCluster bool
	// Steps says that the traffic moves to it in steps. It implies NewCluster.
	Steps bool
}

// Gates are the settings of the operator that a strategy depends on.
type Gates struct {
	// IncrementalUpgrade is the feature gate RayServiceIncrementalUpgrade.
	IncrementalUpgrade bool
	// NoZeroDowntime is ENABLE_ZERO_DOWNTIME being false: a RayService that names no strategy is not upgraded.
	NoZeroDowntime bool
}

// StrategyOf is the strategy of a RayService.
func StrategyOf(spec *rayv1.RayServiceSpec, g Gates) Strategy {
	if spec.UpgradeStrategy == nil || spec.UpgradeStrategy.Type == nil {
		return Strategy{NewCluster: !g.NoZeroDowntime}
	}
	steps := g.IncrementalUpgrade && *spec.UpgradeStrategy.Type == rayv1.RayServiceNewClusterWithIncrementalUpgrade
	return Strategy{NewCluster: steps || *spec.UpgradeStrategy.Type == rayv1.RayServiceNewCluster, Steps: steps}
}

// DefaultDeletionDelay is how long a cluster is kept that is no longer used, unless the spec says otherwise.
const DefaultDeletionDelay = 60 * time.Second

// deletionDelay is how long a cluster is kept that is no longer used.
func deletionDelay(spec *rayv1.RayServiceSpec) time.Duration {
	if d := spec.RayClusterDeletionDelaySeconds; d != nil && *d >= 0 {
		return time.Duration(*d) * time.Second
	}
	return DefaultDeletionDelay
}

// initializingTimeout is how long the service may take to come up; 0 for as long as it takes.
func initializingTimeout(rs *rayv1.RayService) time.Duration {
	text := rs.Annotations[rayv1.AnnotationInitializingTimeout]
	if d, err := time.ParseDuration(text); err == nil {
		return max(d, 0)
	}
	if n, err := strconv.ParseInt(text, 10, 32); err == nil {
		return time.Duration(max(n, 0)) * time.Second
	}
	return 0
}
