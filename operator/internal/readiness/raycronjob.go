package readiness

import (
	"time"

	"k8s.io/utils/ptr"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
)

// RayCronJob sets the three conditions of a cron job, and its observed generation. invalid summarizes the broken rules, and refusal is
// why the RayJob that is due cannot be created; both are empty if there is no such problem.
func RayCronJob(cj *rayv1.RayCronJob, invalid, refusal string, now time.Time) {
	cj.Status.ObservedGeneration = cj.Generation
	verdictOnCronJob(cj, invalid, refusal).apply(edit(&cj.Status.Conditions, cj.Generation, now))
}

func verdictOnCronJob(cj *rayv1.RayCronJob, invalid, refusal string) verdict {
	switch {
	case invalid != "":
		return stalled(rayv1.ReasonInvalidRayCronJobSpec, invalid)
	case ptr.Deref(cj.Spec.Suspend, false):
		return verdict{}
	case refusal != "":
		return of(refused(rayv1.ReasonChildRefused, refusal))
	}
	return ready(rayv1.ReasonScheduled, "RayJobs are created on schedule")
}
