package serveplan

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/internal/testing/raytest"
)

func TestJudge(t *testing.T) {
	const running, without, failed, passed = rayv1.ReasonAnalysisRunning, rayv1.ReasonAnalysisWithoutResult, rayv1.ReasonAnalysisFailed, rayv1.ReasonAnalysisPassed
	good, bad := map[string]float64{"errorRate": 0.001, "p99": 120}, map[string]float64{"errorRate": 0.25, "p99": 500}
	for name, tc := range map[string]struct {
		values  map[string]float64
		failure string
		after   time.Duration
		want    string
		says    string
	}{
		"good in time":             {good, "", 5 * time.Minute, passed, "errorRate is 0.001; p99 is 120"},
		"good so far":              {good, "", 299 * time.Second, running, ""},
		"bad from the beginning":   {bad, "", MinAnalysis, failed, "errorRate is 0.25, which is not below 0.01; p99 is 500, which is not below 500"},
		"bad with too few":         {bad, "", MinAnalysis - time.Second, running, ""},
		"before the traffic moved": {bad, "", -time.Minute, running, ""},
		"no requests":              {nil, "", time.Hour, without, "no value of errorRate; p99"},
		"one value":                {map[string]float64{"p99": 120}, "", time.Hour, without, "no value of errorRate"},
		"one bad value":            {map[string]float64{"p99": 501}, "", time.Hour, failed, "p99 is 501"},
		"no answer":                {good, "Prometheus does not answer", time.Hour, without, "does not answer"},
	} {
		t.Run(name, func(t *testing.T) {
			a, _ := rayv1.CanaryAnalysisOf(map[string]string{rayv1.AnnotationCanaryAnalysis: "errorRate<0.01,p99<500ms"})
			since := raytest.Epoch.Time
			status, reason, message := judge(a, Measured{AskedAt: since.Add(tc.after), Values: tc.values, Failure: tc.failure}, since)
			want := map[string]metav1.ConditionStatus{failed: metav1.ConditionFalse, passed: metav1.ConditionTrue}[tc.want]
			if want == "" {
				want = metav1.ConditionUnknown
			}
			if reason != tc.want || status != want || !strings.Contains(message, tc.says) {
				t.Errorf("%s, %s: %s", status, reason, message)
			}
		})
	}
	if status, _, _ := judge(&rayv1.CanaryAnalysis{}, Measured{}, raytest.Epoch.Time); status != metav1.ConditionUnknown {
		t.Errorf("without an answer: %s", status)
	}
}

// analysed is an upgrade some passes after it got 10 percent of the traffic, with an analysis of 2 minutes.
func analysed(t *testing.T, values map[string]float64, annotations ...string) *story {
	t.Helper()
	s := upgraded(t, inSteps(50, 25, 2), 0, append(annotations, rayv1.AnnotationCanaryWeight, "10", rayv1.AnnotationCanaryAnalysis, "errorRate<0.01,for=2m")...)
	s.until("canary", func() bool { return s.weights["demo-c2"] == 10 })
	s.clusters["demo-c2"].values = values
	s.passes(30)
	s.log = nil
	return s
}

func TestAnalysisConfirms(t *testing.T) {
	s := analysed(t, map[string]float64{"errorRate": 0})
	c := s.condition(rayv1.RayServiceUpgradeInProgress)
	if s.weights["demo-c2"] != 10 || s.is(rayv1.RayServiceUpgradePaused) || s.condition(rayv1.RayServiceCanaryAnalysis).Reason != rayv1.ReasonAnalysisRunning || !strings.Contains(c.Message, "requests are measured") {
		t.Errorf("weights %v, conditions %+v", s.weights, s.rs.Status.Conditions)
	}
	s.until("passed", func() bool { return s.is(rayv1.RayServiceCanaryAnalysis) })
	s.clusters["demo-c2"].values = map[string]float64{"errorRate": 1} // it was judged
	s.until("upgraded", func() bool { return s.settled() && s.activeName() == "demo-c2" })
	if c := s.condition(rayv1.RayServiceCanaryAnalysis); c.Type != "" {
		t.Errorf("the result outlives the upgrade: %+v", c)
	}
	s.edit(image("c"))
	s.until("judged again", func() bool {
		return s.condition(rayv1.RayServiceCanaryAnalysis).Status == metav1.ConditionUnknown && s.weights["demo-c3"] == 10
	})
}

// TestAnalysisAborts: a canary that breaks a bound gets no more traffic, also if the operator is killed before it saves what it does.
func TestAnalysisAborts(t *testing.T) {
	for _, crashes := range []bool{false, true} {
		s := analysed(t, map[string]float64{"errorRate": 0.5})
		s.until("failed", func() bool {
			s.crashes = crashes && !s.crashes
			return s.condition(rayv1.RayServiceCanaryAnalysis).Status == metav1.ConditionFalse
		})
		for range 200 {
			s.crashes = crashes && !s.crashes
			if s.pass(); s.weights["demo-c2"] > 10 {
				t.Fatalf("crashes %t: the canary gets more traffic: %v", crashes, s.weights)
			}
		}
		if c := s.condition(rayv1.RayServiceStalled); !s.settled() || s.activeName() != "demo-c1" || c.Reason != rayv1.ReasonUpgradeAborted || !strings.Contains(c.Message, "errorRate is 0.5") {
			t.Errorf("crashes %t: weights %v, conditions %+v", crashes, s.weights, s.rs.Status.Conditions)
		}
	}
}

// TestAnalysisWithoutResult waits as long as any step may take. Then the action for failures applies.
func TestAnalysisWithoutResult(t *testing.T) {
	for action, aborts := range map[string]bool{string(rayv1.UpgradeFailureAbort): true, string(rayv1.UpgradeFailureWait): false} {
		s := analysed(t, nil, rayv1.AnnotationUpgradeFailureAction, action)
		s.away = "Prometheus does not answer"
		s.passes(400)
		if c := s.condition(rayv1.RayServiceCanaryAnalysis); s.weights["demo-c2"] != 10 || s.is(rayv1.RayServiceStalled) || c.Reason != rayv1.ReasonAnalysisWithoutResult || !strings.Contains(c.Message, s.away) {
			t.Errorf("weights %v, conditions %+v", s.weights, s.rs.Status.Conditions)
		}
		s.until("stalled", func() bool { return s.is(rayv1.RayServiceStalled) })
		if c := s.condition(rayv1.RayServiceStalled); c.Reason != rayv1.ReasonProgressDeadlineExceeded || !strings.Contains(c.Message, s.away) {
			t.Errorf("%+v", c)
		}
		s.passes(100)
		if got := s.is(rayv1.RayServiceUpgradeAborted); got != aborts || s.weights["demo-c2"] > 10 {
			t.Errorf("action %s: aborted %t, weights %v", action, got, s.weights)
		}
		if aborts {
			continue
		}
		s.away, s.clusters["demo-c2"].values = "", map[string]float64{"errorRate": 0}
		s.until("upgraded", func() bool { return s.settled() && s.activeName() == "demo-c2" })
	}
}

// TestAnalysisAndUser: a pause holds a result, a confirmation and an abort come before it, and without the old cluster there is nothing to go back to.
func TestAnalysisAndUser(t *testing.T) {
	bad := map[string]float64{"errorRate": 0.5}
	s := analysed(t, bad, rayv1.AnnotationUpgradePaused, "false")
	s.annotate(rayv1.AnnotationUpgradePaused, "true")
	s.passes(200)
	if s.weights["demo-c2"] != 10 || s.is(rayv1.RayServiceUpgradeAborted) || s.condition(rayv1.RayServiceCanaryAnalysis).Status != metav1.ConditionFalse {
		t.Errorf("paused: weights %v, conditions %+v", s.weights, s.rs.Status.Conditions)
	}
	s.annotate(rayv1.AnnotationUpgradePaused, "false")
	s.passes(2)
	if !s.is(rayv1.RayServiceUpgradeAborted) {
		t.Errorf("after the pause: %+v", s.rs.Status.Conditions)
	}

	s = analysed(t, bad)
	s.annotate(rayv1.AnnotationCanaryConfirmed, "demo-c2")
	s.until("upgraded", func() bool { return s.settled() && s.activeName() == "demo-c2" })

	s = analysed(t, bad)
	s.clusters["demo-c1"].dead = true
	s.passes(200)
	if s.weights["demo-c2"] != 100 || s.is(rayv1.RayServiceUpgradeAborted) {
		t.Errorf("without the old cluster: weights %v, conditions %+v", s.weights, s.rs.Status.Conditions)
	}

	s = upgraded(t, inSteps(50, 25, 2), 60, rayv1.AnnotationCanaryWeight, "10", rayv1.AnnotationCanaryAnalysis, "latency<1")
	if !s.is(rayv1.RayServiceUpgradePaused) || s.weights["demo-c2"] != 10 || s.asks != nil {
		t.Errorf("an analysis that is not understood: weights %v, conditions %+v", s.weights, s.rs.Status.Conditions)
	}
}
