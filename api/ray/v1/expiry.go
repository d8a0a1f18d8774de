package v1

import (
	"time"
)

// Annotations of a RayCluster that suspend or delete it when it is idle or old, or by a schedule. KubeRay does not have them. A RayJob passes
// them on to its cluster. They have no effect on a cluster with a queue of Kueue, or with a controller other than a RayJob in InteractiveMode.
const (
	// AnnotationIdleTimeout is how long nothing may run on the cluster, as a Go duration above 0.
	AnnotationIdleTimeout = "raygate.io/idle-timeout"
	// AnnotationMaxAge is how long the cluster may exist after its creation or its last resumption, whether it is used or not, as a Go
	// duration above 0.
	AnnotationMaxAge = "raygate.io/max-age"
	// AnnotationExpiryAction is the ExpiryAction then; Suspend if absent.
	AnnotationExpiryAction = "raygate.io/expiry-action"
	// AnnotationKeepUntil is a time in RFC 3339 before which the cluster is neither suspended nor deleted.
	AnnotationKeepUntil = "raygate.io/keep-until"
	// AnnotationSuspendSchedule is when the cluster is suspended if nothing runs on it, as a schedule of cron.
	AnnotationSuspendSchedule = "raygate.io/suspend-schedule"
	// AnnotationSuspendGrace is how long the suspension by the schedule waits for what runs, as a Go duration above 0. Without it, the
	// suspension waits as long as something runs. On a RayJob it is how long a suspension waits for the program after the signal to stop; without
	// it, for as long as Ray does.
	AnnotationSuspendGrace = "raygate.io/suspend-grace"
	// AnnotationResumeSchedule is when a cluster is resumed that one of these annotations has suspended, as a schedule of cron.
	AnnotationResumeSchedule = "raygate.io/resume-schedule"
	// AnnotationScheduleTimeZone is the time zone of both schedules, as in Europe/Vienna; UTC if absent.
	AnnotationScheduleTimeZone = "raygate.io/schedule-time-zone"
)

// ExpiryAction is what happens to a RayCluster that is idle or old.
type ExpiryAction string

const (
	// ExpirySuspend sets spec.suspend to true.
	ExpirySuspend ExpiryAction = "Suspend"
	// ExpiryDelete deletes the RayCluster.
	ExpiryDelete ExpiryAction = "Delete"
)

// Expiry is the meaning of the annotations.
// +kubebuilder:object:generate=false
type Expiry struct {
	// IdleTimeout and MaxAge are 0 for no limit.
	IdleTimeout, MaxAge time.Duration
	Action              ExpiryAction
	// KeepUntil is zero if the annotation is absent.
	KeepUntil time.Time
	// SuspendGrace is 0 for no limit.
	SuspendGrace time.Duration
}

// ExpiryOf reads the annotations, except those with schedules and their time zone. invalid are the keys of those with a value that it cannot read.
func ExpiryOf(annotations map[string]string) (e Expiry, invalid []string) {
	e.Action = ExpirySuspend
	read := func(key string, parse func(text string) bool) {
		if text, set := annotations[key]; set && !parse(text) {
			invalid = append(invalid, key)
		}
	}
	duration := func(d *time.Duration) func(string) bool {
		return func(text string) (ok bool) {
			var err error
			*d, err = time.ParseDuration(text)
			return err == nil && *d > 0
		}
	}
	read(AnnotationIdleTimeout, duration(&e.IdleTimeout))
	read(AnnotationMaxAge, duration(&e.MaxAge))
	read(AnnotationSuspendGrace, duration(&e.SuspendGrace))
	read(AnnotationExpiryAction, func(text string) bool {
		e.Action = ExpiryAction(text)
		return e.Action == ExpirySuspend || e.Action == ExpiryDelete
	})
	read(AnnotationKeepUntil, func(text string) (ok bool) {
		var err error
		e.KeepUntil, err = time.Parse(time.RFC3339, text)
		return err == nil
	})
	return e, invalid
}
