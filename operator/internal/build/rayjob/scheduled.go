package rayjob

import (
	"time"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
)

// Scheduled builds the RayJob that a RayCronJob makes for a time of its schedule. Its name follows from that time, so that
// it is made once, whoever tries.
func Scheduled(cron *rayv1.RayCronJob, tick time.Time) *rayv1.RayJob {
	return &rayv1.RayJob{ObjectMeta: cron.RunMeta(tick), Spec: *cron.Spec.JobTemplate.DeepCopy()}
}
