package metrics

import (
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/operator/internal/objectmap"
)

// RayJob collects metrics about RayJobs, with the names and labels of KubeRay 1.7.
type RayJob struct {
	Collector[*rayv1.RayJob]
	ended   *prometheus.CounterVec
	seconds *prometheus.HistogramVec
	ends    objectmap.Map[attemptEnd, float64]
}

// attemptEnd contains the labels for the end of an attempt.
type attemptEnd struct{ state, retries string }

// NewRayJob returns a collector that lists RayJobs from reader.
func NewRayJob(reader client.Reader) *RayJob {
	m := &RayJob{
		Collector: Collector[*rayv1.RayJob]{reader: reader, list: &rayv1.RayJobList{}},
		ended: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "raygate_job_attempts_ended_total", Help: "Attempts at RayJobs that ended, by the state after it: Complete, Failed or Retrying.",
		}, []string{"namespace", "state"}),
		seconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "raygate_job_attempt_seconds", Help: "Seconds from the start of an attempt at a RayJob to its end, by the state after it.", Buckets: longBuckets,
		}, []string{"state"}),
	}
	m.others = []prometheus.Collector{m.ended, m.seconds}
	m.listed = func(all []*rayv1.RayJob) { m.ends.Retain(uids(all)) }
	m.add("kuberay_job_info", "One per RayJob.", func(_ *rayv1.RayJob, send sender) { send(1) })
	m.add("kuberay_job_deployment_status", "One per RayJob, with its state.",
		func(j *rayv1.RayJob, send sender) { send(1, string(j.Status.JobDeploymentStatus)) }, "deployment_status")
	const duration = "Seconds from the start of an attempt at a RayJob to its end, with the attempts that had failed before."
	m.add("kuberay_job_execution_duration_seconds", duration, func(j *rayv1.RayJob, send sender) {
		for end, seconds := range m.ends.All(j.UID) {
			send(seconds, end.state, end.retries)
		}
	}, "job_deployment_status", "retry_count")
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
