package examples

import (
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/pkg/validation"
)

// BaseCronJob is a RayCronJob that breaks no rule. With the gate RayCronJob on, as the options of its examples have it,
// it gives no warning.
func BaseCronJob() *rayv1.RayCronJob {
	cj := &rayv1.RayCronJob{
		TypeMeta:   metav1.TypeMeta{APIVersion: rayv1.GroupVersion.String(), Kind: "RayCronJob"},
		ObjectMeta: metav1.ObjectMeta{Name: "demo", Namespace: "default"},
		Spec:       rayv1.RayCronJobSpec{Schedule: "0 2 * * *", TimeZone: new("UTC"), JobTemplate: BaseJob().Spec},
	}
	rayv1.SetRayCronJobDefaults(cj)
	return cj
}

type cronJob = rayv1.RayCronJob

func cronJobRows() []row[cronJob] {
	name, schedule, zone := at("metadata.name"), at("spec.schedule"), at("spec.timeZone")
	const template = "spec.jobTemplate"
	rename := func(name string) func(*cronJob) { return func(cj *cronJob) { cj.Name = name } }
	on := func(text string) func(*cronJob) { return func(cj *cronJob) { cj.Spec.Schedule = text } }
	in := func(name string) func(*cronJob) { return func(cj *cronJob) { cj.Spec.TimeZone = &name } }
	job := func(f func(*rayv1.RayJobSpec)) func(*cronJob) {
		return func(cj *cronJob) { f(&cj.Spec.JobTemplate) }
	}
	enabled := gate(validation.GateCronJob, true)
	later := gate(validation.GateCronJob, true)
	later.Now = time.Date(2026, time.March, 2, 12, 0, 0, 0, time.UTC)
	managed := func(by string) func(*cronJob) { return job(func(s *rayv1.RayJobSpec) { s.ManagedBy = &by }) }
	rows := []row[cronJob]{
		{ID: "CJ-001", Name: "empty", Mutate: on(""), Fix: on("@hourly"), WantFields: schedule},
		{ID: "CJ-002", Name: "empty", Mutate: job(func(s *rayv1.RayJobSpec) { *s = rayv1.RayJobSpec{} }), WantFields: at(template)},
		{ID: "CJ-003", Name: "empty", Mutate: in(""), Fix: in("Asia/Taipei"), WantFields: zone},
		{ID: "CJ-010", Name: "37 characters", Mutate: rename(strings.Repeat("a", 37)), Fix: rename(strings.Repeat("a", 36)), WantFields: name},
		{ID: "CJ-011", Name: "zone in front", Mutate: on("TZ=UTC */5 * * * *"), Fix: on("*/5 * * * *"), WantFields: schedule},
		{ID: "CJ-012", Name: "words", Mutate: on("invalid cron"), Fix: on("@every 5m"), WantFields: schedule},
		{ID: "CJ-012", Name: "seconds", Mutate: on("0 0 30 2 * *"), Fix: on("0 0 28 2 *"), WantFields: schedule},
		{ID: "CJ-014", Name: "unknown", Mutate: in("Invalid/Timezone"), Fix: in("Europe/Vienna"), WantFields: zone},
		{ID: "CJ-501", Name: "30th of February", Mutate: on("0 0 30 2 *"), Fix: on("0 0 29 2 *"), WantFields: schedule, Warning: true},
		{ID: "CJ-502", Name: "digit first", Mutate: rename("9lives"), Fix: rename("lives9"), WantFields: name},
		{ID: "CJ-502", Name: "dot", Mutate: rename("a.b"), Fix: rename("a-b"), WantFields: name},
		{ID: "CJ-503", Name: "30 seconds", Mutate: on("@every 30s"), Fix: on("@every 1m"), WantFields: schedule, Warning: true},
		{ID: "CJ-504", Name: "suspended", Mutate: job(func(s *rayv1.RayJobSpec) { s.Suspend = true }), Fix: func(cj *cronJob) { cj.Spec.JobTemplate.Suspend, cj.Spec.Suspend = false, new(true) }, WantFields: at(template + ".suspend"), Warning: true},
		{ID: "CJ-505", Name: "one id", Mutate: job(func(s *rayv1.RayJobSpec) { s.JobId = "a" }), WantFields: at(template + ".jobId"), Warning: true},
		{ID: "CJ-506", Name: "kept clusters", Mutate: job(func(s *rayv1.RayJobSpec) { s.ShutdownAfterJobFinishes = false }), WantFields: at(template + ".shutdownAfterJobFinishes"), Warning: true},
		{ID: "CJ-507", Name: "interactive", Mutate: job(func(s *rayv1.RayJobSpec) { s.SubmissionMode, s.Entrypoint = rayv1.InteractiveMode, "" }), Fix: job(func(s *rayv1.RayJobSpec) { s.SubmissionMode, s.Entrypoint = rayv1.HTTPMode, "a" }), WantFields: at(template + ".submissionMode"), Warning: true},
		{ID: "CJ-508", Name: "local", Mutate: in("Local"), Fix: in("UTC"), WantFields: zone, Warning: true},
		{ID: "CJ-508", Name: "unset", Mutate: func(cj *cronJob) { cj.Spec.TimeZone = nil }, WantFields: zone, Warning: true},
		{ID: "CJ-509", Name: "due", Update: true, Before: func(cj *cronJob) {
			cj.Status.LastScheduleTime = new(metav1.Date(2026, time.March, 1, 2, 0, 0, 0, time.UTC))
		}, Mutate: on("0 3 * * *"), WantFields: schedule, Warning: true, Options: later},
		{ID: "CJ-510", Name: "gate off", Mutate: func(*cronJob) {}, FixOptions: &enabled, WantFields: at("kind"), Warning: true, Options: gate(validation.GateCronJob, false)},
		{ID: "CJ-581", Name: "no spec", Mutate: func(cj *cronJob) { cj.Spec = rayv1.RayCronJobSpec{} }, WantFields: at("spec")},
		{ID: "RJ-009", Name: "changed in the template", Update: true, Before: managed(rayv1.ManagedByKubeRayOperator), Mutate: managed(rayv1.ManagedByMultiKueue), WantFields: at(template + ".managedBy")},
		{ID: "RJ-502", Name: "blank", Mutate: job(func(s *rayv1.RayJobSpec) { s.Entrypoint = " " }), WantFields: at(template + ".entrypoint"), Warning: true},
	}
	for i := range rows {
		if rows[i].Options.Gates == nil {
			rows[i].Options = enabled
		}
	}
	return rows
}
