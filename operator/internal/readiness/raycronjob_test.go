package readiness

import rayv1 "github.com/raygate/raygate/api/ray/v1"

func cronJobOf(suspend bool, invalid, refusal string) *rayv1.RayCronJob {
	cj := &rayv1.RayCronJob{TypeMeta: typeOf("RayCronJob"), ObjectMeta: named(), Spec: rayv1.RayCronJobSpec{Schedule: "@hourly", Suspend: &suspend}}
	RayCronJob(cj, invalid, refusal, now)
	return cj
}

func cronJobStates() []state {
	const name = "creating RayJob demo-29540165: "
	return []state{
		{"new", inProgress, unobserved, &rayv1.RayCronJob{TypeMeta: typeOf("RayCronJob"), ObjectMeta: named()}},
		{"scheduled", healthy, "", cronJobOf(false, "", "")},
		{"suspended", onPurpose, "", cronJobOf(true, "", "")},
		{"invalid", degraded, "", cronJobOf(false, "spec.schedule: Invalid value", "")},
		{"suspended-and-invalid", degraded, "", cronJobOf(true, "spec.schedule: Invalid value", "")},
		{"job-denied", degraded, "", cronJobOf(false, "", name+"denied by a policy")},
		{"waits-for-a-quota", inProgress, "", cronJobOf(false, "", name+"exceeded quota: team-a")},
		{"edited", inProgress, unobserved, edited(cronJobOf(false, "", ""))},
		{"deleted", inProgress, beingPruned, deleted(cronJobOf(false, "", ""))},
	}
}
