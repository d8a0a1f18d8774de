package rayjob

import (
	"time"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
)

// Scheduled builds the RayJob of a RayCronJob for one scheduled time. Its name is derived from that time, so that it is created
// only once.
func Scheduled(cron *rayv1.RayCronJob, tick time.Time) *rayv1.RayJob {
	return &rayv1.RayJob{ObjectMeta: cron.RunMeta(tick), Spec: *cron.Spec.JobTemplate.DeepCopy()}
}
