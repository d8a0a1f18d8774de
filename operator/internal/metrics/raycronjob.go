package metrics

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
)

// RayCronJob are the metrics about RayCronJobs. It lists them from the cache when it is scraped.
type RayCronJob struct {
	collector
	info, suspended, last, due *prometheus.Desc
	when                       func(*rayv1.RayCronJob) time.Time
}

// NewRayCronJob returns metrics about what the reader lists. when returns the time of the first run after the last one, or zero for none.
func NewRayCronJob(reader client.Reader, when func(*rayv1.RayCronJob) time.Time) *RayCronJob {
	m := &RayCronJob{collector: collector{reader: reader}, when: when}
	m.info = m.desc("raygate_cronjob_info", "One per RayCronJob.")
	m.suspended = m.desc("raygate_cronjob_suspended", "One per RayCronJob that is suspended.")
	m.last = m.desc("raygate_cronjob_last_schedule_timestamp_seconds", "When a RayJob was created last. Absent before the first.")
	m.due = m.desc("raygate_cronjob_due_timestamp_seconds",
		"When the first RayJob after the last one is due; in the past while it cannot be created. Absent while the RayCronJob is suspended.")
	return m
}

// Collect implements prometheus.Collector.
func (m *RayCronJob) Collect(ch chan<- prometheus.Metric) {
	var list rayv1.RayCronJobList
	if !m.list(ch, &list) {
		return
	}
	for i := range list.Items {
		cj := &list.Items[i]
		m.gauge(ch, m.info, 1, cj)
		if ptr.Deref(cj.Spec.Suspend, false) {
			m.gauge(ch, m.suspended, 1, cj)
		}
		if t := cj.Status.LastScheduleTime; t != nil {
			m.gauge(ch, m.last, float64(t.Unix()), cj)
		}
		if t := m.when(cj); !t.IsZero() {
			m.gauge(ch, m.due, float64(t.Unix()), cj)
		}
	}
}
