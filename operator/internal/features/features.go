package features

import (
	"fmt"

	"k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/component-base/featuregate"
)

const (
	// RayClusterStatusConditions writes status.conditions of a RayCluster. Suspension and the refusal of an invalid spec
	// are built on conditions, so it can no longer be turned off; the name is accepted because charts set it.
	//
	// Owner: RayCluster. Beta in KubeRay 1.3.
	RayClusterStatusConditions featuregate.Feature = "RayClusterStatusConditions"

	// RayJobDeletionPolicy permits deletionStrategy of RayJob, and suspend of a single worker group, which serves it.
	// Without it such objects are refused.
	//
	// Owner: RayJob. Beta in KubeRay 1.6.
	RayJobDeletionPolicy featuregate.Feature = "RayJobDeletionPolicy"

	// RayMultiHostIndexing labels workers with replica and host indices, and makes and removes the Pods of a multi-host
	// replica together. Without it, losing one host of a TPU slice leaves the others running and useless.
	//
	// Owner: RayCluster. Beta in KubeRay 1.6.
	RayMultiHostIndexing featuregate.Feature = "RayMultiHostIndexing"
)

var specs = map[featuregate.Feature]featuregate.FeatureSpec{
	RayClusterStatusConditions: {Default: true, PreRelease: featuregate.Beta, LockToDefault: true},
	RayJobDeletionPolicy:       {Default: true, PreRelease: featuregate.Beta},
	RayMultiHostIndexing:       {Default: true, PreRelease: featuregate.Beta},
}

// New returns a gate with all features at their defaults.
func New() featuregate.MutableFeatureGate {
	g := featuregate.NewFeatureGate()
	// Adding fails for contradictory specs only, which the tests would show.
	runtime.Must(g.Add(specs))
	return g
}

// Set applies values such as {"RayMultiHostIndexing": false}. Unknown and locked names are errors.
func Set(g featuregate.MutableFeatureGate, values map[string]bool) error {
	if err := g.SetFromMap(values); err != nil {
		return fmt.Errorf("setting feature gates: %w", err)
	}
	return nil
}
