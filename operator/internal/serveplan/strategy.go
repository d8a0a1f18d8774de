package serveplan

import (
	"strconv"
	"time"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
)

// Strategy is the upgrade strategy.
type Strategy struct {
	// NewCluster means that a change of the cluster creates a new one.
	NewCluster bool
	// Steps means an incremental upgrade: traffic moves in steps. It implies NewCluster.
	Steps bool
}

// Gates are the operator settings on which a strategy depends.
type Gates struct {
	// IncrementalUpgrade is the feature gate RayServiceIncrementalUpgrade.
	IncrementalUpgrade bool
	// NoZeroDowntime is set if ENABLE_ZERO_DOWNTIME is false: a RayService without a strategy is not upgraded.
	NoZeroDowntime bool
}

// StrategyOf returns the strategy of a RayService.
func StrategyOf(spec *rayv1.RayServiceSpec, g Gates) Strategy {
	if spec.UpgradeStrategy == nil || spec.UpgradeStrategy.Type == nil {
		return Strategy{NewCluster: !g.NoZeroDowntime}
	}
	steps := g.IncrementalUpgrade && *spec.UpgradeStrategy.Type == rayv1.RayServiceNewClusterWithIncrementalUpgrade
	return Strategy{NewCluster: steps || *spec.UpgradeStrategy.Type == rayv1.RayServiceNewCluster, Steps: steps}
}

// DefaultDeletionDelay is the default delay before an unused cluster is deleted.
const DefaultDeletionDelay = 60 * time.Second

// deletionDelay returns the delay before an unused cluster is deleted.
func deletionDelay(spec *rayv1.RayServiceSpec) time.Duration {
	if d := spec.RayClusterDeletionDelaySeconds; d != nil && *d >= 0 {
		return time.Duration(*d) * time.Second
	}
	return DefaultDeletionDelay
}

// initializingTimeout returns how long the service may take to become ready; 0 means no limit.
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
