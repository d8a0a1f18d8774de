// Package features declares the feature gates of the operator.
//
// Gates are read in cmd, in a step or in the list of steps, never in builders and rules, which get plain options. There is no
// global gate: cmd creates one and passes it on, so that two operators in one process, as in tests, do not share settings.
package features

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/component-base/featuregate"
)

// Names, stages and defaults are those of KubeRay 1.7, except for RayClusterDrain. A gate that is off by default guards a feature that is not proven yet.
// Validation rejects its fields, so that nobody relies on a feature that is off. The table below describes the effects.
const (
	RayClusterStatusConditions       featuregate.Feature = "RayClusterStatusConditions"       // RayCluster; beta since KubeRay 1.3
	RayJobDeletionPolicy             featuregate.Feature = "RayJobDeletionPolicy"             // RayJob; beta since KubeRay 1.6
	RayMultiHostIndexing             featuregate.Feature = "RayMultiHostIndexing"             // RayCluster; beta since KubeRay 1.6
	RayServiceIncrementalUpgrade     featuregate.Feature = "RayServiceIncrementalUpgrade"     // RayService; beta since KubeRay 1.7
	RayCronJob                       featuregate.Feature = "RayCronJob"                       // RayCronJob; alpha since KubeRay 1.6
	SidecarSubmitterRestart          featuregate.Feature = "SidecarSubmitterRestart"          // RayJob; alpha since KubeRay 1.7
	RayClusterNetworkPolicy          featuregate.Feature = "RayClusterNetworkPolicy"          // RayCluster; alpha since KubeRay 1.7
	GCSFaultToleranceEmbeddedStorage featuregate.Feature = "GCSFaultToleranceEmbeddedStorage" // RayCluster; alpha since KubeRay 1.7
	RayClusterMTLS                   featuregate.Feature = "RayClusterMTLS"                   // RayCluster; alpha since KubeRay 1.7
	RayClusterHistoryServer          featuregate.Feature = "RayClusterHistoryServer"          // RayCluster; alpha since KubeRay 1.7
	RayClusterDrain                  featuregate.Feature = "RayClusterDrain"                  // RayCluster; not of KubeRay
	KubernetesWAS                    featuregate.Feature = "KubernetesWAS"                    // RayCluster; alpha since KubeRay 1.7
)

// gate is a feature gate with its description.
type gate struct {
	featuregate.FeatureSpec
	effect string
}

var (
	// stable gates can no longer be turned off: suspension and the rejection of an invalid spec need conditions.
	stable = featuregate.FeatureSpec{Default: true, PreRelease: featuregate.Beta, LockToDefault: true}
	beta   = featuregate.FeatureSpec{Default: true, PreRelease: featuregate.Beta}
	alpha  = featuregate.FeatureSpec{Default: false, PreRelease: featuregate.Alpha}
)

var gates = map[featuregate.Feature]gate{
	RayClusterStatusConditions:       {stable, "Conditions in the status of a RayCluster. Always on: the name is accepted because charts set it."},
	RayJobDeletionPolicy:             {beta, "`deletionStrategy` of RayJob, and `suspend` of a worker group. Off: both are refused."},
	RayMultiHostIndexing:             {beta, "Labels with the indices of replica and host. The operator replaces all Pods of a multi-host replica together. Off: if one host of a TPU slice is lost, the others keep running without use."},
	RayServiceIncrementalUpgrade:     {beta, "The upgrade strategy NewClusterWithIncrementalUpgrade of RayService, which shifts traffic step by step through the Gateway API. Off: it works like None."},
	RayCronJob:                       {alpha, "The controller of RayCronJob. Off: the operator ignores these objects."},
	SidecarSubmitterRestart:          {alpha, "Restarts of the submitter container in the head Pod. Needs Kubernetes 1.35 and Ray 2.54. Off: a submitter that loses its connection ends the job."},
	RayClusterNetworkPolicy:          {alpha, "`networkPolicy` of RayCluster. Off: it is refused, because the cluster would be open."},
	GCSFaultToleranceEmbeddedStorage: {alpha, "The backend rocksdb of `gcsFaultToleranceOptions`. Off: it is refused."},
	RayClusterMTLS:                   {alpha, "`tlsOptions` of RayCluster, by cert-manager. Off: it is refused, because traffic would not be encrypted."},
	RayClusterHistoryServer:          {alpha, "`historyServerOptions` of RayCluster. Off: it is refused."},
	RayClusterDrain:                  {alpha, "Before a scale-down or a rolling upgrade deletes a ready worker, it leaves the Service of Serve, and Ray drains its node for at most two minutes. Not with `tlsOptions`, nor with the Kubernetes proxy. Off: Ray itself drains after the deletion, from Ray 2.60."},
	KubernetesWAS:                    {alpha, "Gangs for the Kubernetes scheduler (workload-aware scheduling). Excludes `--batch-scheduler`, because a Pod has one scheduler."},
}

// New returns a gate with all features at their defaults.
func New() featuregate.MutableFeatureGate {
	g := featuregate.NewFeatureGate()
	specs := make(map[featuregate.Feature]featuregate.FeatureSpec, len(gates))
	for name, gate := range gates {
		specs[name] = gate.FeatureSpec
	}
	// Add fails only for contradictory specs, which tests detect.
	runtime.Must(g.Add(specs))
	return g
}

// Set applies values such as {"RayMultiHostIndexing": false}. It returns errors for all unknown and locked names; the other values
// still take effect.
func Set(g featuregate.MutableFeatureGate, values map[string]bool) error {
	all := g.GetAll()
	var errs []error
	for _, name := range slices.Sorted(maps.Keys(values)) {
		value := values[name]
		spec, known := all[featuregate.Feature(name)]
		switch {
		case !known:
			errs = append(errs, fmt.Errorf("feature gate %q is not known; known are %s", name, strings.Join(Names(g), ", ")))
		case spec.LockToDefault && value != spec.Default:
			errs = append(errs, fmt.Errorf("feature gate %q cannot be set to %t: it is always %t by now; leave it out", name, value, spec.Default))
		default:
			errs = append(errs, g.SetFromMap(map[string]bool{name: value}))
		}
	}
	return errors.Join(errs...)
}

// Effect describes a gate in one or two sentences; empty for an unknown gate.
func Effect(name featuregate.Feature) string { return gates[name].effect }

// Names returns the names of all gates, sorted.
func Names(g featuregate.MutableFeatureGate) []string {
	var names []string
	for name := range g.GetAll() {
		names = append(names, string(name))
	}
	slices.Sort(names)
	return names
}
