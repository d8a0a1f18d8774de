package serveplan

import (
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
)

// MinAnalysis is the time after which the first requests to a new cluster are judged.
const MinAnalysis = time.Minute

// Measured is the last answer of Prometheus about a cluster. The zero value means that Prometheus has not been asked yet.
type Measured struct {
	// AskedAt is when the request for Values was sent; zero for none.
	AskedAt time.Time
	// Values are the measured values by the metric of a bound. A metric that Prometheus does not know has none.
	Values map[string]float64
	// Failure is why there is no answer; empty if there is one.
	Failure string
}

// Measurement asks for the values of an analysis.
type Measurement struct {
	// Cluster is the name of the cluster, and Since when it got its share of the traffic.
	Cluster  string
	Since    time.Time
	Analysis rayv1.CanaryAnalysis
}

// analysis returns the analysis that decides about the pending cluster in place of the user; nil for none.
func (s *step) analysis() *rayv1.CanaryAnalysis {
	percent, _ := rayv1.CanaryWeightOf(s.in.Service.Annotations)
	a, _ := rayv1.CanaryAnalysisOf(s.in.Service.Annotations)
	if percent == 0 || !s.inSteps() || s.names(rayv1.AnnotationCanaryConfirmed) {
		return nil
	}
	return a
}

// analysed reports whether the analysis of the pending cluster has this saved result. A result that is not saved could be lost after its effect.
func (s *step) analysed(result metav1.ConditionStatus) bool {
	old := s.in.Service.Status
	for i := range old.Conditions {
		if c := &old.Conditions[i]; c.Type == rayv1.RayServiceCanaryAnalysis {
			return s.analysis() != nil && old.PendingServiceStatus.RayClusterName == s.pendingName() && c.Status == result
		}
	}
	return false
}

// analysisFailed reports whether the upgrade is to be aborted because of its analysis. The active cluster must serve.
func (s *step) analysisFailed() bool {
	a := s.active()
	return a != nil && a.Pods > 0 && !s.wantsPause() && s.analysed(metav1.ConditionFalse)
}

// setAnalysis judges the pending cluster while it has its share of the traffic. A result stays as long as the cluster is pending.
func (s *step) setAnalysis() {
	const kind = rayv1.RayServiceCanaryAnalysis
	a, p := s.analysis(), s.pending()
	if s.analysed(metav1.ConditionTrue) || s.analysed(metav1.ConditionFalse) {
		return
	}
	percent, _ := rayv1.CanaryWeightOf(s.in.Service.Annotations)
	if a == nil || p == nil || s.is(rayv1.RayServiceRollbackInProgress) || s.sharedTraffic() < percent {
		s.remove(kind)
		return
	}
	s.plan.Measure = &Measurement{s.pendingName(), s.lastShift(), *a}
	status, reason, message := judge(a, p.Measured, s.lastShift())
	s.set(kind, status, reason, "cluster "+s.pendingName()+": "+message)
	if status != metav1.ConditionUnknown {
		s.plan.After = soon // the saved result has an effect
	}
}

// judge compares measured values with the bounds of an analysis of the time since a change of the traffic.
func judge(a *rayv1.CanaryAnalysis, m Measured, since time.Time) (status metav1.ConditionStatus, reason, message string) {
	var broken, missing, values []string
	for _, b := range a.Bounds {
		value, there := m.Values[b.Metric]
		text := fmt.Sprintf("%s is %.4g", b.Metric, value)
		switch {
		case !there:
			missing = append(missing, b.Metric)
		case value >= b.Below:
			broken = append(broken, fmt.Sprintf("%s, which is not below %g", text, b.Below))
		default:
			values = append(values, text)
		}
	}
	switch judged := m.AskedAt.Sub(since); {
	case m.Failure != "":
		return metav1.ConditionUnknown, rayv1.ReasonAnalysisWithoutResult, m.Failure
	case m.AskedAt.IsZero(), judged < MinAnalysis:
		return metav1.ConditionUnknown, rayv1.ReasonAnalysisRunning, "requests are measured"
	case len(broken) > 0:
		return metav1.ConditionFalse, rayv1.ReasonAnalysisFailed, joined(broken)
	case len(missing) > 0:
		return metav1.ConditionUnknown, rayv1.ReasonAnalysisWithoutResult, "Prometheus has no value of " + joined(missing)
	case judged < a.For:
		return metav1.ConditionUnknown, rayv1.ReasonAnalysisRunning, "requests are measured"
	}
	return metav1.ConditionTrue, rayv1.ReasonAnalysisPassed, joined(values)
}
