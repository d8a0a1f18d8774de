// Package cronjob has the rules on RayCronJobs.
package cronjob

import (
	"strings"
	"time"

	"github.com/robfig/cron/v3"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/util/validation/field"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/pkg/validation/cel"
	"github.com/raygate/raygate/pkg/validation/internal/cluster"
	"github.com/raygate/raygate/pkg/validation/internal/job"
	"github.com/raygate/raygate/pkg/validation/internal/metadata"
	"github.com/raygate/raygate/pkg/validation/internal/schedule"
	"github.com/raygate/raygate/pkg/validation/rule"
)

var cronJobNames = metadata.NewNameRules(metadata.Names{Kind: rule.RayCronJob, TooLong: "CJ-010", Malformed: "CJ-502", LengthBy: rule.BySpec, FormBy: rule.ByStep,
	Max: 36, Why: "so that the names of its RayJobs stay within 47"})

var cj002 = rule.New(rule.Rule{ID: "CJ-002", Field: "spec.jobTemplate", Condition: "absent or empty", Peer: rule.BySchemaAndSpec,
	Remedy: "give the spec of the RayJobs: at least entrypoint, and rayClusterSpec or clusterSelector",
	Marker: rule.InSchema})
var cj581 = rule.New(rule.Rule{ID: "CJ-581", Field: "spec", Condition: "absent", Peer: rule.BySpec, Remedy: "give a schedule, and in jobTemplate the spec of its RayJobs",
	CEL: cel.SpecIsThere})

// Check checks a single RayCronJob.
func Check(out *rule.Report, cj *rayv1.RayCronJob, o rule.Options) {
	path := field.NewPath("spec")
	metadata.CheckName(out, &cj.ObjectMeta, cronJobNames)
	if spec := &cj.Spec; spec.Schedule == "" && spec.TimeZone == nil && spec.Suspend == nil && job.EmptyJobSpec(&spec.JobTemplate) {
		out.Required(cj581, path)
		return
	}
	out.When(!o.Enabled(rule.GateCronJob)).Forbidden(cj510, field.NewPath("kind"), "nothing happens while the feature gate "+string(rule.GateCronJob)+" is off")
	checkSchedule(out, &cj.Spec, o, path.Child("schedule"))
	checkTimeZone(out, cj.Spec.TimeZone, path.Child("timeZone"))
	templatePath := path.Child("jobTemplate")
	if job.EmptyJobSpec(&cj.Spec.JobTemplate) {
		out.Required(cj002, templatePath)
		return
	}
	checkJobTemplate(out, &cj.Spec.JobTemplate, templatePath)
	// The RayJobs do not get the annotations of the RayCronJob, so none count.
	j := job.New(&cj.Spec.JobTemplate, nil, o)
	if j.Cluster != nil {
		j.Cluster.NameLength = metadata.NameLength(&cj.ObjectMeta) + cluster.AddedByCronJob + cluster.AddedByOwner
	}
	job.CheckSpec(out, j, templatePath)
	metadata.CheckObjectSize(out, cj)
}

var cj001 = rule.New(rule.Rule{ID: "CJ-001", Field: "spec.schedule", Condition: "absent or empty", Peer: rule.BySchemaAndSpec,
	Remedy:  "give five fields (minute, hour, day of month, month, day of week), as in 0 2 * * *, or one of @yearly, @monthly, @weekly, @daily, @hourly, @every 30m",
	Keyword: &rule.Keyword{Node: "spec.schedule", MinLength: new(int64(1)), MaxLength: new(int64(1024))}})
var cj011 = rule.New(rule.Rule{ID: "CJ-011", Field: "spec.schedule", Condition: "contains TZ", Peer: rule.BySpec, Remedy: "must not name a time zone; use timeZone",
	CEL: []rule.CEL{{Node: "spec.schedule", Ratchet: rule.ByServer, Valid: "!self.contains('TZ')"}}})
var cj012 = rule.New(rule.Rule{ID: "CJ-012", Field: "spec.schedule", Condition: "neither five cron fields nor a descriptor such as @hourly or @every 5m", Peer: rule.BySpec,
	Remedy: "give five fields (minute, hour, day of month, month, day of week), as in 0 2 * * *, or one of @yearly, @monthly, @weekly, @daily, @hourly, @every 30m"})
var cj501 = rule.New(rule.Rule{ID: "CJ-501", Field: "spec.schedule", Condition: "never comes within five years", Remedy: "never comes within five years; look at the day of the month"})

func checkSchedule(out *rule.Report, spec *rayv1.RayCronJobSpec, o rule.Options, path *field.Path) {
	if spec.Schedule == "" {
		out.Required(cj001, path)
		return
	}
	if strings.Contains(spec.Schedule, "TZ") {
		out.Invalid(cj011, path, spec.Schedule)
		return
	}
	parsed, err := schedule.Parse(spec.Schedule)
	if err != nil {
		out.Invalid(cj012, path, spec.Schedule)
		return
	}
	out.When(parsed.Next(now(o, spec.TimeZone)).IsZero()).Invalid(cj501, path, spec.Schedule)
	if every, ok := parsed.(cron.ConstantDelaySchedule); ok && every.Delay < time.Minute {
		out.Invalid(cj503, path, spec.Schedule)
	}
}

// referenceTime begins a leap year, so that a 29th of February is near.
var referenceTime = time.Date(2024, time.January, 1, 0, 0, 0, 0, time.UTC)

// now is the time from which a schedule in the zone is evaluated.
func now(o rule.Options, zone *string) time.Time {
	t := o.Now
	if t.IsZero() {
		t = referenceTime
	}
	if zone != nil {
		if location, err := time.LoadLocation(*zone); err == nil {
			return t.In(location)
		}
	}
	return t.UTC()
}

var cj003 = rule.New(rule.Rule{ID: "CJ-003", Field: "spec.timeZone", Condition: "empty text", Peer: rule.BySchemaAndSpec, Same: []string{"CJ-013"},
	Remedy: "name a time zone, as in UTC or Europe/Vienna, or leave the field out",
	Marker: rule.InSchema})
var cj014 = rule.New(rule.Rule{ID: "CJ-014", Field: "spec.timeZone", Condition: "not a known time zone", Peer: rule.BySpec})
var cj508 = rule.New(rule.Rule{ID: "CJ-508", Field: "spec.timeZone", Condition: "Local, or unset"})

func checkTimeZone(out *rule.Report, zone *string, path *field.Path) {
	switch {
	case zone == nil:
		out.Required(cj508, path, "unset means the zone of the operator, UTC usually; name one to be sure")
	case *zone == "":
		out.Required(cj003, path)
	case *zone == "Local":
		out.Invalid(cj508, path, *zone, "is the zone of the operator's container; name one to be sure, as in UTC or Europe/Vienna")
	default:
		_, err := time.LoadLocation(*zone)
		out.When(err != nil).Invalid(cj014, path, *zone, "must be the name of a time zone, as in UTC or Europe/Vienna")
	}
}

var cj503 = rule.New(rule.Rule{ID: "CJ-503", Field: "spec.schedule", Condition: "comes more than once a minute",
	Remedy: "comes more than once a minute, and only the first run of a minute is made; use @every 1m or more"})
var cj510 = rule.New(rule.Rule{ID: "CJ-510", Field: "kind", Condition: "gate RayCronJob off"})
var cj504 = rule.New(rule.Rule{ID: "CJ-504", Field: "spec.jobTemplate.suspend", Condition: "true", Remedy: "makes each run wait for someone to resume it; use suspend of the RayCronJob"})
var cj505 = rule.New(rule.Rule{ID: "CJ-505", Field: "spec.jobTemplate.jobId", Condition: "set", Remedy: "is that of every run, and Ray takes each id once; leave it out"})
var cj506 = rule.New(rule.Rule{ID: "CJ-506", Field: "spec.jobTemplate.shutdownAfterJobFinishes", Condition: "not true, with neither deletionStrategy nor clusterSelector",
	Remedy: "each run leaves a cluster behind; set it to true, or give deletionStrategy"})
var cj507 = rule.New(rule.Rule{ID: "CJ-507", Field: "spec.jobTemplate.submissionMode", Condition: "InteractiveMode", Remedy: "makes each run wait for a person to submit the job; use another mode"})

// checkJobTemplate reports settings that make sense for a single job and not for repeated jobs.
func checkJobTemplate(out *rule.Report, spec *rayv1.RayJobSpec, path *field.Path) {
	out.When(spec.Suspend).Invalid(cj504, path.Child("suspend"), true)
	out.When(spec.JobId != "").Invalid(cj505, path.Child("jobId"), spec.JobId)
	out.When(!spec.ShutdownAfterJobFinishes && spec.DeletionStrategy == nil && len(spec.ClusterSelector) == 0).Required(cj506, path.Child("shutdownAfterJobFinishes"))
	out.When(spec.SubmissionMode == rayv1.InteractiveMode).Invalid(cj507, path.Child("submissionMode"), string(spec.SubmissionMode))
}

// CheckTransition needs the time for one rule: without it, the rule cannot know whether a run is due.
func CheckTransition(out *rule.Report, cj, old *rayv1.RayCronJob, o rule.Options) {
	job.CheckSpecTransition(out, &cj.Spec.JobTemplate, &old.Spec.JobTemplate, field.NewPath("spec", "jobTemplate"))
	if o.Now.IsZero() || cj.Spec.Schedule == old.Spec.Schedule && equality.Semantic.DeepEqual(cj.Spec.TimeZone, old.Spec.TimeZone) {
		return
	}
	parsed, err := schedule.Parse(old.Spec.Schedule)
	if err != nil || metadata.IsTrue(old.Spec.Suspend) {
		return
	}
	last := old.CreationTimestamp.Time
	if t := old.Status.LastScheduleTime; t != nil {
		last = t.Time
	}
	due := parsed.Next(now(rule.Options{Now: last}, old.Spec.TimeZone))
	if last.IsZero() || due.IsZero() || due.After(o.Now) {
		return
	}
	out.Invalid(cj509, field.NewPath("spec", "schedule"), cj.Spec.Schedule, "is changed while the run of "+due.UTC().Format(time.RFC3339)+" is due, and counts from the run before it")
}

var cj509 = rule.New(rule.Rule{ID: "CJ-509", Field: "spec.schedule", Condition: "changed while a run is due", Transition: true})
