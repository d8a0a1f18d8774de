package expiryplan

import (
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
)

const (
	// unknownAfter is how long a dashboard may fail before the cluster no longer counts as idle.
	unknownAfter = time.Minute
	// freshFor is the maximum age of an answer because of which a cluster is suspended or deleted.
	freshFor = 10 * time.Second
	// maxLead limits how long before its time a cluster is warned.
	maxLead = 5 * time.Minute
	// minInterval and maxInterval limit the time between two questions to a dashboard.
	minInterval, maxInterval = 2 * time.Second, time.Minute
)

// Usage is what is known about the use of a cluster.
type Usage struct {
	// AskedAt is when the dashboard was asked for what follows; zero if it has not answered.
	AskedAt time.Time
	// FailingSince is since when it does not answer; zero while it does.
	FailingSince time.Time
	// Active is the reason of the condition Idle if something runs; empty if nothing does.
	Active string
	// LastEnd is when the last driver ended, by the clock of the head; zero if none has.
	LastEnd time.Time
}

// Input is all that a decision depends on.
type Input struct {
	// Cluster has the stored conditions. It is not modified.
	Cluster *rayv1.RayCluster
	// Job is the interactive RayJob that controls the cluster; nil if there is none. It is not modified.
	Job *rayv1.RayJob
	// Policy is that of the namespace.
	Policy Policy
	Now    time.Time
	// HeadSince is since when the head Pod is ready; zero while it is not.
	HeadSince time.Time
	Usage     Usage
}

// Plan is the result of a decision.
type Plan struct {
	// Interval is the time between two questions to the dashboard; 0 asks none.
	Interval time.Duration
	// Ask means that the answer is too old to act upon: the next one must cause a reconcile.
	Ask bool
	// Idle and Expired are the conditions, with their times of transition; nil for absent ones.
	Idle, Expired *metav1.Condition
	// Action is what to do now; empty for nothing.
	Action rayv1.ExpiryAction
	// Resume means that the cluster is to be resumed now.
	Resume bool
	// After is when to decide again without a change; 0 means never.
	After time.Duration
}

// applies reports whether the cluster has a limit that is its own affair.
func (e *expiry) applies(rc *rayv1.RayCluster) bool {
	return (e.IdleTimeout > 0 || e.MaxAge > 0 || e.hours != hours{}) && rc.DeletionTimestamp == nil &&
		(metav1.GetControllerOfNoCopy(rc) == nil || InteractiveJob(rc) != "") && rc.Labels[rayv1.LabelKueueQueue] == ""
}

// InteractiveJob returns the name of the RayJob in InteractiveMode that controls the cluster; empty if there is none.
func InteractiveJob(rc *rayv1.RayCluster) string {
	owner := metav1.GetControllerOfNoCopy(rc)
	if owner == nil || owner.Kind != "RayJob" || rc.Labels[rayv1.LabelJobSubmissionMode] != string(rayv1.InteractiveMode) {
		return ""
	}
	return owner.Name
}

// For returns the plan for a cluster. A cluster to which no limit applies has the empty plan.
func For(in Input) Plan {
	rc := in.Cluster
	p := planner{Input: in, expiry: expiryOf(rc, in.Policy)}
	p.Now = in.Now.Truncate(time.Second) // as stored
	switch {
	case !p.expiry.applies(rc):
		return Plan{}
	case rc.Suspended():
		// An earlier decision is the cause of the suspension; an earlier warning is not.
		if e := stored(rc, rayv1.RayClusterExpired); e != nil && e.Status == metav1.ConditionTrue {
			return p.resume(e)
		}
		return Plan{}
	case isTrue(rc, rayv1.RayClusterSuspending) || isTrue(rc, rayv1.RayClusterSuspended):
		return Plan{} // it is being resumed
	}
	p.expire(p.limits())
	if p.plan.Action != "" && !p.jobKnows() {
		p.plan.Action = ""
		p.after(p.Now)
	}
	return p.plan
}

// limits returns the limits that the cluster may reach, and sets the condition Idle if one depends on it.
func (p *planner) limits() (all []limit) {
	start := begin(p.Cluster)
	if p.expiry.MaxAge > 0 {
		all = append(all, limit{rayv1.ReasonMaxAge, p.expiry.ageBy, p.expiry.MaxAge, start, p.kept(start.Add(p.expiry.MaxAge)), true})
	}
	closing := p.expiry.hours.closing(start, p.Now, p.expiry.SuspendGrace)
	var since time.Time
	var fresh, idle bool
	if p.expiry.IdleTimeout > 0 || p.near(closing) {
		since, fresh, idle = p.idle()
	}
	if p.expiry.IdleTimeout > 0 && idle {
		all = append(all, limit{rayv1.ReasonIdleTimeout, p.expiry.idleBy, p.expiry.IdleTimeout, since, p.kept(since.Add(p.expiry.IdleTimeout)), fresh})
	}
	if !closing.IsZero() {
		if l, wait := p.scheduled(closing, idle, fresh); !wait {
			all = append(all, l)
		}
	}
	return all
}

// begin returns since when the cluster exists or, if it was suspended, is resumed.
func begin(rc *rayv1.RayCluster) time.Time {
	if c := stored(rc, rayv1.RayClusterSuspended); c != nil {
		return later(rc.CreationTimestamp.Time, c.LastTransitionTime.Time)
	}
	return rc.CreationTimestamp.Time
}

// limit is a limit that a cluster may reach.
type limit struct {
	reason string
	// by names where it comes from.
	by string
	// span is the limit, which counts since a time and is reached at due.
	span       time.Duration
	since, due time.Time
	// sure means that what is known is recent enough to act upon.
	sure bool
}

// lead is how long before the limit the cluster is warned.
func (l limit) lead() time.Duration { return min(l.span/10, maxLead).Truncate(time.Second) }

// warning is when the cluster is warned.
func (l limit) warning() time.Time { return l.due.Add(-l.lead()) }

type planner struct {
	Input
	expiry expiry
	plan   Plan
	// uncertain means that what runs has not been known for a moment, so that an earlier warning stays.
	uncertain bool
}

// kept returns the time of a limit, or the one until which the user keeps the cluster.
func (p *planner) kept(t time.Time) time.Time {
	until := p.expiry.KeepUntil
	if m := p.expiry.maxKeep; m != nil {
		until = earlier(until, t.Add(m.Duration))
	}
	return later(t, until)
}

// after asks for another decision at a time.
func (p *planner) after(t time.Time) {
	if d := max(t.Sub(p.Now), time.Second); p.plan.After == 0 || d < p.plan.After {
		p.plan.After = d
	}
}

// idle sets the condition Idle and returns since when the cluster is idle; fresh means that it has been seen just now.
func (p *planner) idle() (since time.Time, fresh, idle bool) {
	if p.HeadSince.IsZero() {
		return time.Time{}, false, false
	}
	if p.plan.Interval = maxInterval; p.expiry.IdleTimeout > 0 {
		p.plan.Interval = min(max(p.expiry.IdleTimeout/10, minInterval), maxInterval)
	}
	u, old := p.Usage, stored(p.Cluster, rayv1.RayClusterIdle)
	switch {
	case !u.FailingSince.IsZero() && p.Now.Sub(u.FailingSince) >= unknownAfter:
		p.plan.Idle = condition(old, metav1.ConditionUnknown, rayv1.ReasonDashboardUnreachable, messages[rayv1.ReasonDashboardUnreachable], p.Now)
	case !u.FailingSince.IsZero():
		p.plan.Idle, p.uncertain = old, true
		p.after(u.FailingSince.Add(unknownAfter))
	case u.AskedAt.Before(p.HeadSince): // also if it has not answered yet
		p.plan.Idle, p.uncertain = old, true
	case u.Active != "":
		p.plan.Idle = condition(old, metav1.ConditionFalse, u.Active, messages[u.Active], p.Now)
	default:
		since = u.AskedAt.Truncate(time.Second)
		if old != nil && old.Status == metav1.ConditionTrue {
			since = later(old.LastTransitionTime.Time, p.HeadSince.Truncate(time.Second), earlier(u.LastEnd.Truncate(time.Second), p.Now))
		}
		p.plan.Idle = condition(nil, metav1.ConditionTrue, rayv1.ReasonNothingRuns, p.idleMessage(since), since)
		return since, p.Now.Sub(u.AskedAt) <= freshFor, true
	}
	return time.Time{}, false, false
}

// expire sets the condition Expired and the action, by the limit that is reached first.
func (p *planner) expire(limits []limit) {
	old := stored(p.Cluster, rayv1.RayClusterExpired)
	if p.uncertain && old != nil && old.Reason != rayv1.ReasonMaxAge {
		p.plan.Expired = old // unless another limit is near
	}
	if len(limits) == 0 {
		return
	}
	first := slices.MinFunc(limits, func(a, b limit) int { return a.due.Compare(b.due) })
	if warning := first.warning(); p.Now.Before(warning) {
		p.after(warning)
		return
	}
	decided := old != nil && old.Status == metav1.ConditionTrue && old.Reason == first.reason
	if decided && !p.Now.Before(first.due) {
		if p.plan.Expired, p.plan.Ask = old, !first.sure; first.sure {
			p.plan.Action = p.action(first)
		}
		return
	}
	p.warn(first, old)
}

// jobKnows reports whether the RayJob, if there is one, has ended or its status has the decision. An idle cluster also waits for a RayJob that
// has not seen the end of its job yet.
func (p *planner) jobKnows() bool {
	if p.Job == nil || p.Job.Status.JobDeploymentStatus.IsTerminal() {
		return true
	}
	st := &p.Job.Status
	idle := p.plan.Idle != nil && p.plan.Idle.Status == metav1.ConditionTrue && p.plan.Expired.Reason != rayv1.ReasonMaxAge
	runs := st.JobDeploymentStatus == rayv1.JobDeploymentStatusRunning && st.JobStatus != rayv1.JobStatusNew && !st.JobStatus.IsTerminal()
	if idle && runs {
		return false
	}
	known := meta.FindStatusCondition(st.RayClusterStatus.Conditions, rayv1.RayClusterExpired)
	return known != nil && known.Status == metav1.ConditionTrue && known.LastTransitionTime.Equal(&p.plan.Expired.LastTransitionTime)
}

// action is what happens at a limit. A schedule only suspends.
func (p *planner) action(l limit) rayv1.ExpiryAction {
	if l.reason == rayv1.ReasonSuspendSchedule {
		return rayv1.ExpirySuspend
	}
	return p.expiry.Action
}

// warn sets the condition to a warning, and to the decision once the cluster has been warned for long enough.
func (p *planner) warn(first limit, old *metav1.Condition) {
	warned := p.Now
	if old != nil && old.Status == metav1.ConditionFalse {
		warned = old.LastTransitionTime.Time
	}
	at := later(first.due, warned.Add(first.lead()))
	switch {
	case p.Now.Before(at):
		p.after(at)
	case !first.sure:
		p.plan.Ask = true
	default:
		p.plan.Expired = condition(nil, metav1.ConditionTrue, first.reason, first.because(), p.Now)
		p.after(p.Now)
		return
	}
	p.plan.Expired = condition(nil, metav1.ConditionFalse, first.reason, p.warning(first, at), warned)
}
