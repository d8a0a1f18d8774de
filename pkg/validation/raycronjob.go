package validation

import (
	"errors"
	"strings"
	"time"
	_ "time/tzdata" // for machines without a database of time zones, such as an image with nothing but this program

	"github.com/robfig/cron/v3"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
)

var cronJobNameRules = nameRules{
	tooLong: "CJ-010", malformed: "CJ-502", maxLength: 36,
	why: "so that the names of its RayJobs stay within 47",
}

var cronJobRules = &kindRules[rayv1.RayCronJob]{
	meta:        func(cj *rayv1.RayCronJob) *metav1.ObjectMeta { return &cj.ObjectMeta },
	spec:        func(cj *rayv1.RayCronJob) any { return &cj.Spec },
	roots:       ruleRoots{cluster: "spec.jobTemplate.rayClusterSpec", job: "spec.jobTemplate"},
	problems:    cronJobErrors,
	advice:      cronJobWarnings,
	status:      RayCronJobStatus,
	transitions: cronJobTransitions,
	changes:     cronJobChanges,
	unused:      cronJobUnused,
	object:      func(cj *rayv1.RayCronJob) Object { return cj },
}

// RayCronJob returns every error of a RayCronJob that is being created, with its schema defaults. A nil object counts as
// one without a spec.
func RayCronJob(cj *rayv1.RayCronJob, o Options) field.ErrorList {
	return cronJobRules.create(cj, o).Errors
}

// RayCronJobWarningList returns what works in a RayCronJob but may surprise its author.
func RayCronJobWarningList(cj *rayv1.RayCronJob, o Options) field.ErrorList {
	return cronJobRules.create(cj, o).Warnings
}

// RayCronJobUpdate is RayClusterUpdate for a RayCronJob.
func RayCronJobUpdate(cj, old *rayv1.RayCronJob, o Options) field.ErrorList {
	return cronJobRules.update(cj, old, o).Errors
}

// RayCronJobUpdateWarningList is RayClusterUpdateWarningList for a RayCronJob.
func RayCronJobUpdateWarningList(cj, old *rayv1.RayCronJob, o Options) field.ErrorList {
	return cronJobRules.update(cj, old, o).Warnings
}

// RayCronJobStatus returns the errors in the status alone. No rule is about the status of a RayCronJob.
func RayCronJobStatus(*rayv1.RayCronJob, Options) field.ErrorList { return nil }

func cronJobUnused(cj *rayv1.RayCronJob, _ Options) []string {
	return unusedOfJob(&cj.Spec.JobTemplate, "spec.jobTemplate")
}

func emptyCronJobSpec(spec *rayv1.RayCronJobSpec) bool {
	return spec.Schedule == "" && spec.TimeZone == nil && spec.Suspend == nil && emptyJobSpec(&spec.JobTemplate)
}

func cronJobErrors(cj *rayv1.RayCronJob, o Options) field.ErrorList {
	path := field.NewPath("spec")
	errs := validateObjectName(&cj.ObjectMeta, cronJobNameRules)
	if emptyCronJobSpec(&cj.Spec) {
		return append(errs, required("CJ-581", path, "give a schedule, and in jobTemplate the spec of its RayJobs"))
	}
	errs = append(errs, validateSchedule(&cj.Spec, o, path)...)
	errs = append(errs, validateTimeZone(cj.Spec.TimeZone, path.Child("timeZone"))...)
	templatePath := path.Child("jobTemplate")
	if emptyJobSpec(&cj.Spec.JobTemplate) {
		return append(errs, required("CJ-002", templatePath, "give the spec of the RayJobs: at least entrypoint, and rayClusterSpec or clusterSelector"))
	}
	return append(errs, validateJobSpec(newCronJob(cj, o), templatePath)...)
}

// newCronJob is the job in the template. The RayJobs do not get the annotations of the RayCronJob, so none count.
func newCronJob(cj *rayv1.RayCronJob, o Options) *job {
	j := newJob(&cj.Spec.JobTemplate, nil, o)
	if j.cluster != nil {
		j.cluster.nameLength = nameLength(&cj.ObjectMeta) + addedByCronJob + addedByOwner
	}
	return j
}

const scheduleRemedy = "give five fields (minute, hour, day of month, month, day of week), as in 0 2 * * *, or one of @yearly, @monthly, @weekly, @daily, @hourly, @every 30m"

// maxSchedule is far beyond any schedule that means something.
const maxSchedule = 1024

func validateSchedule(spec *rayv1.RayCronJobSpec, o Options, path *field.Path) field.ErrorList {
	path = path.Child("schedule")
	if spec.Schedule == "" {
		return field.ErrorList{required("CJ-001", path, scheduleRemedy)}
	}
	if strings.Contains(spec.Schedule, "TZ") {
		return field.ErrorList{invalid("CJ-011", path, clipped(spec.Schedule), "must not name a time zone; use timeZone")}
	}
	schedule, err := parseSchedule(spec.Schedule)
	if err != nil {
		return field.ErrorList{invalid("CJ-012", path, clipped(spec.Schedule), scheduleRemedy)}
	}
	if schedule.Next(o.now(spec.TimeZone)).IsZero() {
		return field.ErrorList{invalid("CJ-501", path, clipped(spec.Schedule), "never comes within five years; look at the day of the month")}
	}
	return nil
}

// parseSchedule reads a schedule without a time zone.
func parseSchedule(text string) (schedule cron.Schedule, err error) {
	if len(text) > maxSchedule || strings.Contains(text, "TZ") {
		return nil, errors.New("no schedule")
	}
	return cron.ParseStandard(text)
}

// referenceTime begins the only leap year of any five years, so that a 29th of February is near.
var referenceTime = time.Date(2024, time.January, 1, 0, 0, 0, 0, time.UTC)

// now is the time from which a schedule in the zone is followed.
func (o Options) now(zone *string) time.Time {
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

func validateTimeZone(zone *string, path *field.Path) field.ErrorList {
	const remedy = "must be the name of a time zone, as in UTC or Europe/Vienna"
	switch {
	case zone == nil:
		return nil
	case *zone == "":
		return field.ErrorList{required("CJ-003", path, "name a time zone, as in UTC or Europe/Vienna, or leave the field out")}
	case *zone == "Local":
		return field.ErrorList{invalid("CJ-508", path, *zone, "is the zone of the operator's container; name one to be sure, as in UTC or Europe/Vienna")}
	}
	if _, err := time.LoadLocation(*zone); err != nil {
		return field.ErrorList{invalid("CJ-014", path, clipped(*zone), remedy)}
	}
	return nil
}

func cronJobWarnings(cj *rayv1.RayCronJob, o Options) field.ErrorList {
	if emptyCronJobSpec(&cj.Spec) {
		return nil
	}
	path := field.NewPath("spec")
	var warnings field.ErrorList
	if !o.enabled(GateCronJob) {
		warnings = append(warnings, forbidden("CJ-510", field.NewPath("kind"), "nothing happens while the feature gate "+string(GateCronJob)+" is off"))
	}
	if cj.Spec.TimeZone == nil {
		warnings = append(warnings, required("CJ-508", path.Child("timeZone"), "unset means the zone of the operator, UTC usually; name one to be sure"))
	}
	if schedule, err := parseSchedule(cj.Spec.Schedule); err == nil {
		if every, ok := schedule.(cron.ConstantDelaySchedule); ok && every.Delay < time.Minute {
			warnings = append(warnings, invalid("CJ-503", path.Child("schedule"), clipped(cj.Spec.Schedule), "comes more than once a minute, and only the first run of a minute is made; use @every 1m or more"))
		}
	}
	template := &cj.Spec.JobTemplate
	if emptyJobSpec(template) {
		return warnings
	}
	templatePath := path.Child("jobTemplate")
	warnings = append(warnings, warnJobTemplate(template, templatePath)...)
	warnings = append(warnings, warnJobSpec(newCronJob(cj, o), templatePath)...)
	return append(warnings, warnObjectSize(cj)...)
}

// warnJobTemplate tells of what makes sense for one job and not for one after the other.
func warnJobTemplate(spec *rayv1.RayJobSpec, path *field.Path) field.ErrorList {
	var warnings field.ErrorList
	if spec.Suspend {
		warnings = append(warnings, invalid("CJ-504", path.Child("suspend"), true, "makes each run wait for someone to resume it; use suspend of the RayCronJob"))
	}
	if spec.JobId != "" {
		warnings = append(warnings, invalid("CJ-505", path.Child("jobId"), clipped(spec.JobId), "is that of every run, and Ray takes each id once; leave it out"))
	}
	if !spec.ShutdownAfterJobFinishes && spec.DeletionStrategy == nil && len(spec.ClusterSelector) == 0 {
		warnings = append(warnings, required("CJ-506", path.Child("shutdownAfterJobFinishes"), "each run leaves a cluster behind; set it to true, or give deletionStrategy"))
	}
	if spec.SubmissionMode == rayv1.InteractiveMode {
		warnings = append(warnings, invalid("CJ-507", path.Child("submissionMode"), string(spec.SubmissionMode), "makes each run wait for a person to submit the job; use another mode"))
	}
	return warnings
}

func cronJobTransitions(cj, old *rayv1.RayCronJob, _ Options) field.ErrorList {
	return validateJobSpecTransition(&cj.Spec.JobTemplate, &old.Spec.JobTemplate, field.NewPath("spec", "jobTemplate"))
}

// cronJobChanges needs the time: without it nobody knows whether a run is due.
func cronJobChanges(cj, old *rayv1.RayCronJob, o Options) field.ErrorList {
	if o.Now.IsZero() || cj.Spec.Schedule == old.Spec.Schedule && equality.Semantic.DeepEqual(cj.Spec.TimeZone, old.Spec.TimeZone) {
		return nil
	}
	schedule, err := parseSchedule(old.Spec.Schedule)
	if err != nil || isTrue(old.Spec.Suspend) {
		return nil
	}
	last := old.CreationTimestamp.Time
	if t := old.Status.LastScheduleTime; t != nil {
		last = t.Time
	}
	due := schedule.Next(Options{Now: last}.now(old.Spec.TimeZone))
	if last.IsZero() || due.IsZero() || due.After(o.Now) {
		return nil
	}
	return field.ErrorList{invalid("CJ-509", field.NewPath("spec", "schedule"), clipped(cj.Spec.Schedule),
		"is changed while the run of "+due.UTC().Format(time.RFC3339)+" is due, and counts from the run before it")}
}
