package metrics

import (
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/operator/internal/byowner"
)

// RayJob collects metrics about RayJobs, with the names and labels of KubeRay 1.7. It lists them from the cache at each scrape.
type RayJob struct {
	collector
	info, state, duration *prometheus.Desc
	ended                 *prometheus.CounterVec
	seconds               *prometheus.HistogramVec
	ends                  byowner.Map[attemptEnd, float64]
}

// attemptEnd contains the labels for the end of an attempt.
type attemptEnd struct{ state, retries string }

// NewRayJob returns a collector that lists RayJobs from reader.
func NewRayJob(reader client.Reader) *RayJob {
	m := &RayJob{
		collector: collector{reader: reader},
		ended: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "raygate_job_attempts_ended_total", Help: "Attempts at RayJobs that ended, by the state after it: Complete, Failed or Retrying.",
		}, []string{"namespace", "state"}),
		seconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "raygate_job_attempt_seconds", Help: "Seconds from the start of an attempt at a RayJob to its end, by the state after it.", Buckets: longBuckets,
		}, []string{"state"}),
	}
	m.info = m.desc("kuberay_job_info", "One per RayJob.")
	m.state = m.desc("kuberay_job_deployment_status", "One per RayJob, with its state.", "deployment_status")
	m.duration = m.desc("kuberay_job_execution_duration_seconds",
		"Seconds from the start of an attempt at a RayJob to its end, with the attempts that had failed before.", "job_deployment_status", "retry_count")
	return m
}

// ObserveEnd records that an attempt ended in a state: Complete, Failed or Retrying. before is the RayJob before that.
func (m *RayJob) ObserveEnd(before *rayv1.RayJob, state rayv1.JobDeploymentStatus, now time.Time) {
	m.ended.WithLabelValues(before.Namespace, string(state)).Inc()
	if before.Status.StartTime == nil {
		return
	}
	end := attemptEnd{string(state), strconv.Itoa(int(ptr.Deref(before.Status.Failed, 0)))}
	seconds := now.Sub(before.Status.StartTime.Time).Seconds()
	m.ends.Set(before.UID, end, seconds)
	m.seconds.WithLabelValues(string(state)).Observe(seconds)
}

// Describe implements prometheus.Collector.
func (m *RayJob) Describe(ch chan<- *prometheus.Desc) {
	m.collector.Describe(ch)
	m.ended.Describe(ch)
	m.seconds.Describe(ch)
}

// Collect implements prometheus.Collector.
func (m *RayJob) Collect(ch chan<- prometheus.Metric) {
	m.ended.Collect(ch)
	m.seconds.Collect(ch)
	var list rayv1.RayJobList
	if !m.list(ch, &list) {
		return
	}
	alive := map[types.UID]bool{}
	for i := range list.Items {
		j := &list.Items[i]
		alive[j.UID] = true
		m.gauge(ch, m.info, 1, j)
		m.gauge(ch, m.state, 1, j, string(j.Status.JobDeploymentStatus))
		for end, seconds := range m.ends.All(j.UID) {
			m.gauge(ch, m.duration, seconds, j, end.state, end.retries)
		}
	}
	m.ends.Retain(alive)
}
