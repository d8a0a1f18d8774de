package v1

import (
	"regexp"
	"strconv"
	"strings"
	"time"
)

// Annotations of a RayService about its upgrades. KubeRay does not have them.
const (
	// AnnotationUpgradePaused set to true holds an upgrade where it is, and begins no other one. It also holds the rolling upgrade of a RayCluster.
	// It is an annotation because a pause is no change of the spec, and should not depend on the tool that applies it.
	AnnotationUpgradePaused = "raygate.io/upgrade-paused"
	// AnnotationCanaryWeight is the share of the traffic in percent, from 1 to 99, at which an incremental upgrade waits until it is confirmed.
	AnnotationCanaryWeight = "raygate.io/canary-weight"
	// AnnotationCanaryConfirmed is the name of the pending RayCluster that may get all traffic. The name confirms no later upgrade.
	AnnotationCanaryConfirmed = "raygate.io/canary-confirmed"
	// AnnotationCanaryAnalysis are bounds on requests to the new cluster at AnnotationCanaryWeight, as in errorRate<0.01,p99<500ms,for=5m. A cluster
	// that keeps all bounds for this time is confirmed, and one that breaks a bound is given up.
	AnnotationCanaryAnalysis = "raygate.io/canary-analysis"
	// AnnotationUpgradeAbort is the name of the pending RayCluster that is given up. The service then stays on its active cluster until its
	// spec changes.
	AnnotationUpgradeAbort = "raygate.io/upgrade-abort"
	// AnnotationGRPCRoute set to true routes gRPC requests of an incremental upgrade, too: by a GRPCRoute, and a listener of the Gateway at the port
	// PortServeGRPC of the head.
	AnnotationGRPCRoute = "raygate.io/grpc-route"
	// AnnotationUpgradeFailureAction is the UpgradeFailureAction; Wait if absent.
	AnnotationUpgradeFailureAction = "raygate.io/upgrade-failure-action"
)

// UpgradeFailureAction is what happens to an upgrade whose new cluster fails, or makes no progress.
type UpgradeFailureAction string

const (
	// UpgradeFailureWait waits until the new cluster is well, or its user acts.
	UpgradeFailureWait UpgradeFailureAction = "Wait"
	// UpgradeFailureAbort aborts the upgrade, unless it is paused or the active cluster does not serve.
	UpgradeFailureAbort UpgradeFailureAction = "Abort"
)

// CanaryWeightOf returns the share of AnnotationCanaryWeight in percent, and whether there is one. The share is 0 for a value that is not
// understood, so that a mistake moves no traffic.
func CanaryWeightOf(annotations map[string]string) (percent int32, set bool) {
	text, set := annotations[AnnotationCanaryWeight]
	n, err := strconv.ParseInt(text, 10, 32)
	if err != nil || n < 1 || n > 99 {
		return 0, set
	}
	return int32(n), set
}

// CanaryAnalysisPattern is the form of AnnotationCanaryAnalysis in the syntax of RE2: bounds on the share of requests that fail and on percentiles of
// the latency, and the time in minutes.
const CanaryAnalysisPattern = "^" + canaryBound + "(," + canaryBound + ")*(,for=[1-9][0-9]{0,2}m)?$"

const canaryBound = `(errorRate<0?[.][0-9]*[1-9][0-9]*|p(50|90|95|99)<[1-9][0-9]{0,6}ms)`

var canaryAnalysis = regexp.MustCompile(CanaryAnalysisPattern)

// CanaryAnalysis is the value of AnnotationCanaryAnalysis.
// +kubebuilder:object:generate=false
type CanaryAnalysis struct {
	Bounds []CanaryBound
	// For is how long the bounds have to hold; 5 minutes by default.
	For time.Duration
}

// CanaryBound is an upper bound of a measured value.
// +kubebuilder:object:generate=false
type CanaryBound struct {
	// Metric is errorRate, or a percentile of the latency: p50, p90, p95 or p99.
	Metric string
	// Below is the bound: a share of all requests, or milliseconds.
	Below float64
}

// CanaryAnalysisOf returns the analysis of AnnotationCanaryAnalysis, nil for none or for a value that is not understood, and whether there is a value.
func CanaryAnalysisOf(annotations map[string]string) (analysis *CanaryAnalysis, set bool) {
	text, set := annotations[AnnotationCanaryAnalysis]
	if !canaryAnalysis.MatchString(text) {
		return nil, set
	}
	a := &CanaryAnalysis{For: 5 * time.Minute}
	for part := range strings.SplitSeq(text, ",") {
		if minutes, ok := strings.CutPrefix(part, "for="); ok {
			a.For, _ = time.ParseDuration(minutes) // it matches the pattern
			continue
		}
		metric, bound, _ := strings.Cut(part, "<")
		below, _ := strconv.ParseFloat(strings.TrimSuffix(bound, "ms"), 64)
		a.Bounds = append(a.Bounds, CanaryBound{metric, below})
	}
	return a, true
}
