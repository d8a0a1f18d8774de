package jobplan

import (
	"time"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
)

// History is the record of the attempt in the history store. The zero value means that there is no store.
type History struct {
	// Wanted means that there is a store.
	Wanted bool
	// Stored means that the record is in it.
	Stored bool
	// Since is since when this process knows that the attempt is over, or that the RayJob is being deleted.
	Since time.Time
}

// missing reports whether the record is still to be stored.
func (h History) missing() bool { return h.Wanted && !h.Stored }

// historyAwaited reports whether a deletion has to wait for the record.
func historyAwaited(s *step) bool {
	return s.in.History.missing() && !s.lasted(s.in.History.Since, s.in.Limits.History)
}

// keepHistory requests the record, and waits for it no longer than the limit.
func keepHistory(s *step) {
	s.act(KeepHistory)
	s.lookAfter(s.in.History.Since, s.in.Limits.History)
	s.plan.Waits = "the history of the attempt to be stored"
}

// began reports whether there is an attempt to record.
func (s *step) began() bool {
	state := s.status.JobDeploymentStatus
	return s.status.StartTime != nil && state != newJob && state != suspended
}

// Over reports whether the attempt of a RayJob is over, or will be by the deletion of the RayJob or its cluster.
func Over(j *rayv1.RayJob) bool {
	switch st := j.Status.JobDeploymentStatus; st {
	case retrying, suspending:
		return true
	default:
		return st.IsTerminal() || j.DeletionTimestamp != nil
	}
}
