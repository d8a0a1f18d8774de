package metrics

import (
	"time"

	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
)

// NewRayCronJob returns metrics about what the reader lists. when returns the time of the first run after the last one, or zero for none.
func NewRayCronJob(reader client.Reader, when func(*rayv1.RayCronJob) time.Time) *Collector[*rayv1.RayCronJob] {
	m := &Collector[*rayv1.RayCronJob]{reader: reader, list: &rayv1.RayCronJobList{}}
	m.add("raygate_cronjob_info", "One per RayCronJob.", func(_ *rayv1.RayCronJob, send sender) { send(1) })
	m.add("raygate_cronjob_suspended", "One per RayCronJob that is suspended.", func(cj *rayv1.RayCronJob, send sender) {
		if ptr.Deref(cj.Spec.Suspend, false) {
			send(1)
		}
	})
	const last = "Time at which the last RayJob was created. Absent before the first."
	m.add("raygate_cronjob_last_schedule_timestamp_seconds", last, func(cj *rayv1.RayCronJob, send sender) {
		if t := cj.Status.LastScheduleTime; t != nil {
			send(float64(t.Unix()))
		}
	})
	const due = "Time at which the next RayJob is due; in the past while it cannot be created. Absent while the RayCronJob is suspended."
	m.add("raygate_cronjob_due_timestamp_seconds", due, func(cj *rayv1.RayCronJob, send sender) {
		if t := when(cj); !t.IsZero() {
			send(float64(t.Unix()))
		}
	})
	return m
}
