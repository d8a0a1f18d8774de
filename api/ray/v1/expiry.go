package v1

import (
	"time"
)

// Annotations of a RayCluster that suspend or delete it when it is idle or old. KubeRay does not have them. They have no effect on a
// cluster that has a controller, such as a RayJob, or a queue of Kueue.
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
}

// ExpiryOf reads the annotations. invalid are the keys of those with a value that it cannot read.
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
