package rayservice

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/operator/internal/servemetrics"
)

// metrics is a Prometheus.
type metrics struct {
	mu    sync.Mutex
	value float64
	err   error
	asked []servemetrics.Query
}

func (m *metrics) read(_ context.Context, q servemetrics.Query) (map[string]float64, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.asked = append(m.asked, q)
	return map[string]float64{"errorRate": m.value, "p99": 1}, m.err
}

func (m *metrics) queries() []servemetrics.Query {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.asked)
}

func (m *metrics) set(value float64, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.value, m.err = value, err
}

// TestCanaryIsAnalysed: the operator asks Prometheus about the new cluster only, about the time in which it had its traffic, and no longer than needed.
func TestCanaryIsAnalysed(t *testing.T) {
	for name, tc := range map[string]struct {
		value float64
		want  string // the cluster in the end
	}{"good": {0.001, "demo-c2"}, "bad": {0.2, "demo-c1"}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				m := &metrics{err: errors.New("connection refused")}
				rs := storyService(inSteps(50, 50))
				rs.Annotations = map[string]string{rayv1.AnnotationCanaryWeight: "10", rayv1.AnnotationCanaryAnalysis: "errorRate<0.01,p99<500ms,for=2m"}
				s := newStage(t, rs)
				s.change = append(s.change, func(c *Config) { c.Metrics = m.read })
				s.restart()
				s.comesUp()
				s.edit(image("b"))
				s.until("no answer", func(rs *rayv1.RayService) bool {
					c := condition(rs, rayv1.RayServiceCanaryAnalysis)
					return c.Reason == rayv1.ReasonAnalysisWithoutResult && strings.HasSuffix(c.Message, "Prometheus does not answer")
				})
				m.set(tc.value, nil)
				s.until("judged", func(rs *rayv1.RayService) bool {
					return condition(rs, rayv1.RayServiceCanaryAnalysis).Status != metav1.ConditionUnknown
				})
				asked := len(m.queries())
				s.until("settled", s.settled)
				if got := s.get().Status.ActiveServiceStatus.RayClusterName; got != tc.want || is(s.get(), rayv1.RayServiceUpgradeAborted) != (tc.want == "demo-c1") {
					t.Errorf("%s is used: %+v", got, s.get().Status.Conditions)
				}
				if more := len(m.queries()) - asked; more > 1 || asked > 20 {
					t.Errorf("asked %d times, and %d times after the result", asked, more)
				}
				for _, q := range m.queries() {
					if q.Cluster != "demo-c2" || q.Namespace != "default" || q.Over < time.Minute || q.Over > 2*time.Minute || strings.Join(q.Metrics, " ") != "errorRate p99" {
						t.Errorf("asked %+v", q)
					}
				}
			})
		})
	}
}
