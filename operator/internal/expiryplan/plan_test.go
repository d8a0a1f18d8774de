package expiryplan

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/internal/testing/raytest"
)

var start = time.Date(2026, 3, 2, 8, 0, 0, 0, time.UTC)

func after(d time.Duration) time.Time { return start.Add(d) }

// story is a cluster over time. Its head is ready from the start on.
type story struct {
	rc *rayv1.RayCluster
	// change changes the cluster or what is known about it; nil for nothing. The usage is that of an idle cluster which has just answered.
	change func(now time.Duration, rc *rayv1.RayCluster, in *Input)
	warned time.Duration // since when, -1 for never
	in     Input
}

func tell(annotations map[string]string, change func(time.Duration, *rayv1.RayCluster, *Input)) *story {
	rc := raytest.RayCluster("ns/demo", raytest.Annotations(annotations))
	rc.CreationTimestamp = metav1.NewTime(start)
	return &story{rc: rc, change: change, warned: -1}
}

// next decides once, and stores the conditions as the API server does.
func (s *story) next(now time.Duration) Plan {
	s.in = Input{Cluster: s.rc, Now: after(now).Add(123 * time.Millisecond), HeadSince: start, Usage: Usage{AskedAt: after(now)}}
	if s.change != nil {
		s.change(now, s.rc, &s.in)
	}
	plan := For(s.in)
	for kind, c := range map[string]*metav1.Condition{rayv1.RayClusterIdle: plan.Idle, rayv1.RayClusterExpired: plan.Expired} {
		meta.RemoveStatusCondition(&s.rc.Status.Conditions, kind)
		if c != nil {
			c.Type, c.LastTransitionTime = kind, metav1.NewTime(c.LastTransitionTime.Truncate(time.Second))
			s.rc.Status.Conditions = append(s.rc.Status.Conditions, *c)
		}
	}
	switch {
	case plan.Expired == nil:
		s.warned = -1
	case s.warned < 0:
		s.warned = now
	}
	return plan
}

// run decides every few seconds until there is an action, for at most a day.
func (s *story) run() (action rayv1.ExpiryAction, at, warned time.Duration) {
	for now := time.Duration(0); now < 24*time.Hour; now += 5 * time.Second {
		if plan := s.next(now); plan.Action != "" {
			return plan.Action, now, s.warned
		}
	}
	return "", 0, s.warned
}

func active(from, to time.Duration) func(time.Duration, *rayv1.RayCluster, *Input) {
	return func(now time.Duration, _ *rayv1.RayCluster, in *Input) {
		if now >= from && now < to {
			in.Usage.Active = rayv1.ReasonDriverRuns
		}
	}
}

func TestFor(t *testing.T) {
	const m = time.Minute
	idle := map[string]string{rayv1.AnnotationIdleTimeout: "30m"}
	with := func(kv ...string) map[string]string {
		all := map[string]string{rayv1.AnnotationIdleTimeout: "30m"}
		for i := 0; i < len(kv); i += 2 {
			all[kv[i]] = kv[i+1]
		}
		return all
	}
	nightly := func(kv ...string) map[string]string {
		all := with(append(kv, rayv1.AnnotationSuspendSchedule, "0 18 * * *")...)
		delete(all, rayv1.AnnotationIdleTimeout)
		return all
	}
	failing := func(from, to time.Duration) func(time.Duration, *rayv1.RayCluster, *Input) {
		return func(now time.Duration, _ *rayv1.RayCluster, in *Input) {
			if now >= from && now < to {
				in.Usage.FailingSince, in.Usage.AskedAt = after(from), after(from-10*time.Second)
			}
		}
	}
	policy := func(p Policy) func(time.Duration, *rayv1.RayCluster, *Input) {
		return func(_ time.Duration, _ *rayv1.RayCluster, in *Input) { in.Policy = p }
	}
	long := func(d time.Duration) *metav1.Duration { return &metav1.Duration{Duration: d} }
	for name, tc := range map[string]struct {
		annotations map[string]string
		change      func(time.Duration, *rayv1.RayCluster, *Input)
		want        rayv1.ExpiryAction
		at, warned  time.Duration // without the second between decision and action
	}{
		"no annotation":         {annotations: nil, warned: -1},
		"idle":                  {annotations: idle, want: rayv1.ExpirySuspend, at: 30 * m, warned: 27 * m},
		"idle and deleted":      {annotations: with(rayv1.AnnotationExpiryAction, "Delete"), want: rayv1.ExpiryDelete, at: 30 * m, warned: 27 * m},
		"idle after a job":      {annotations: idle, change: active(0, 60*m), want: rayv1.ExpirySuspend, at: 90 * m, warned: 87 * m},
		"a job after a while":   {annotations: idle, change: active(28*m, 29*m), want: rayv1.ExpirySuspend, at: 59 * m, warned: 56 * m},
		"always a job":          {annotations: idle, change: active(0, 99*time.Hour), warned: -1},
		"old, with a job":       {annotations: with(rayv1.AnnotationMaxAge, "2h"), change: active(0, 99*time.Hour), want: rayv1.ExpirySuspend, at: 120 * m, warned: 115 * m},
		"idle before it is old": {annotations: with(rayv1.AnnotationMaxAge, "2h"), want: rayv1.ExpirySuspend, at: 30 * m, warned: 27 * m},
		"kept":                  {annotations: with(rayv1.AnnotationKeepUntil, "2026-03-02T09:00:00Z"), want: rayv1.ExpirySuspend, at: 60 * m, warned: 57 * m},
		"kept before":           {annotations: with(rayv1.AnnotationKeepUntil, "2026-03-02T07:00:00Z"), want: rayv1.ExpirySuspend, at: 30 * m, warned: 27 * m},
		"kept after the warning": {annotations: with(), change: func(now time.Duration, rc *rayv1.RayCluster, _ *Input) {
			if now == 29*m {
				rc.Annotations[rayv1.AnnotationKeepUntil] = "2026-03-02T09:00:00Z"
			}
		}, want: rayv1.ExpirySuspend, at: 60 * m, warned: 57 * m},
		"annotated when idle for long": {annotations: map[string]string{}, change: func(now time.Duration, rc *rayv1.RayCluster, _ *Input) {
			if now == 60*m {
				rc.Annotations = idle
			}
		}, want: rayv1.ExpirySuspend, at: 90 * m, warned: 87 * m},
		"a short driver between two answers": {annotations: idle, change: func(now time.Duration, _ *rayv1.RayCluster, in *Input) {
			if now >= 20*m {
				in.Usage.LastEnd = after(20 * m)
			}
		}, want: rayv1.ExpirySuspend, at: 50 * m, warned: 47 * m},
		"a head whose clock is ahead": {annotations: idle, change: func(_ time.Duration, _ *rayv1.RayCluster, in *Input) { in.Usage.LastEnd = after(20 * m) },
			want: rayv1.ExpirySuspend, at: 50 * m, warned: 47 * m},
		"the head is replaced": {annotations: idle, change: func(now time.Duration, _ *rayv1.RayCluster, in *Input) {
			if now >= 20*m {
				in.HeadSince = after(20 * m)
			}
		}, want: rayv1.ExpirySuspend, at: 50 * m, warned: 47 * m},
		"no head":                    {annotations: idle, change: func(_ time.Duration, _ *rayv1.RayCluster, in *Input) { in.HeadSince = time.Time{} }, warned: -1},
		"no answer":                  {annotations: idle, change: failing(0, 99*time.Hour), warned: -1},
		"no answer for a moment":     {annotations: idle, change: failing(20*m, 20*m+50*time.Second), want: rayv1.ExpirySuspend, at: 30 * m, warned: 27 * m},
		"no answer for long":         {annotations: idle, change: failing(20*m, 22*m), want: rayv1.ExpirySuspend, at: 52 * m, warned: 49 * m},
		"no answer when it is due":   {annotations: idle, change: failing(29*m+30*time.Second, 30*m+20*time.Second), want: rayv1.ExpirySuspend, at: 30*m + 20*time.Second, warned: 27 * m},
		"old answers when it is due": {annotations: idle, change: func(now time.Duration, _ *rayv1.RayCluster, in *Input) { in.Usage.AskedAt = after(now.Truncate(4 * m)) }, want: rayv1.ExpirySuspend, at: 32 * m, warned: 27 * m},
		"the operator was away": {annotations: idle, change: func(now time.Duration, _ *rayv1.RayCluster, in *Input) {
			if now > 10*m && now < 60*m {
				in.Usage = Usage{}
			}
		}, want: rayv1.ExpirySuspend, at: 63 * m, warned: 60 * m},
		"a limit that is not understood": {annotations: with(rayv1.AnnotationMaxAge, "2 days"), warned: -1},
		"an unknown action":              {annotations: with(rayv1.AnnotationExpiryAction, "stop"), warned: -1},
		"a queue of Kueue": {annotations: idle, change: func(_ time.Duration, rc *rayv1.RayCluster, _ *Input) {
			rc.Labels = map[string]string{rayv1.LabelKueueQueue: "q"}
		}, warned: -1},
		"a RayJob": {annotations: idle, change: func(_ time.Duration, rc *rayv1.RayCluster, _ *Input) {
			rc.OwnerReferences = []metav1.OwnerReference{{Kind: "RayJob", Name: "job", UID: "1", Controller: new(true)}}
		}, warned: -1},
		"a default":                    {change: policy(Policy{IdleTimeout: long(40 * m), Action: rayv1.ExpiryDelete}), want: rayv1.ExpiryDelete, at: 40 * m, warned: 36 * m},
		"longer than the default":      {annotations: with(rayv1.AnnotationExpiryAction, "Suspend"), change: policy(Policy{IdleTimeout: long(20 * m), Action: rayv1.ExpiryDelete}), want: rayv1.ExpirySuspend, at: 30 * m, warned: 27 * m},
		"longer than the bound":        {annotations: idle, change: policy(Policy{IdleTimeout: long(10 * m), MaxIdleTimeout: long(20 * m)}), want: rayv1.ExpirySuspend, at: 20 * m, warned: 18 * m},
		"shorter than the bound":       {annotations: idle, change: policy(Policy{MaxIdleTimeout: long(time.Hour)}), want: rayv1.ExpirySuspend, at: 30 * m, warned: 27 * m},
		"a bound of the age":           {annotations: with(rayv1.AnnotationMaxAge, "9h", rayv1.AnnotationIdleTimeout, "9h"), change: policy(Policy{MaxAge: long(2 * time.Hour)}), want: rayv1.ExpirySuspend, at: 120 * m, warned: 115 * m},
		"kept for longer than bound":   {annotations: with(rayv1.AnnotationKeepUntil, "2026-03-02T18:00:00Z"), change: policy(Policy{MaxKeep: long(20 * m)}), want: rayv1.ExpirySuspend, at: 50 * m, warned: 47 * m},
		"no default if not understood": {annotations: with(rayv1.AnnotationKeepUntil, "tomorrow"), change: policy(Policy{IdleTimeout: long(10 * m)}), warned: -1},
		"a bound if not understood":    {annotations: with(rayv1.AnnotationKeepUntil, "tomorrow"), change: policy(Policy{MaxIdleTimeout: long(60 * m), Action: rayv1.ExpiryDelete}), want: rayv1.ExpiryDelete, at: 60 * m, warned: 55 * m},
		"at night":                     {annotations: nightly(), want: rayv1.ExpirySuspend, at: 600 * m, warned: 595 * m},
		"at night, in a zone":          {annotations: nightly(rayv1.AnnotationScheduleTimeZone, "Europe/Vienna"), want: rayv1.ExpirySuspend, at: 540 * m, warned: 535 * m},
		"at night, never deleted":      {annotations: nightly(rayv1.AnnotationExpiryAction, "Delete"), want: rayv1.ExpirySuspend, at: 600 * m, warned: 595 * m},
		"at night, after a job":        {annotations: nightly(), change: active(0, 660*m), want: rayv1.ExpirySuspend, at: 665 * m, warned: 660 * m},
		"at night, despite a job":      {annotations: nightly(rayv1.AnnotationSuspendGrace, "30m"), change: active(0, 99*time.Hour), want: rayv1.ExpirySuspend, at: 630 * m, warned: 625 * m},
		"at night, unknown for long":   {annotations: nightly(), change: failing(9*time.Hour, 99*time.Hour), warned: -1},
		"kept at night":                {annotations: nightly(rayv1.AnnotationKeepUntil, "2026-03-02T20:00:00Z"), want: rayv1.ExpirySuspend, at: 720 * m, warned: 715 * m},
		"kept until the morning":       {annotations: nightly(rayv1.AnnotationKeepUntil, "2026-03-03T02:00:00Z", rayv1.AnnotationResumeSchedule, "0 2 * * *"), warned: -1},
		"a job until the morning":      {annotations: nightly(), change: active(0, 23*time.Hour), warned: -1},
		"a schedule that is no such":   {annotations: with(rayv1.AnnotationSuspendSchedule, "0 18"), warned: -1},
		"a zone that is unknown":       {annotations: with(rayv1.AnnotationScheduleTimeZone, "Vienna", rayv1.AnnotationResumeSchedule, "0 2 * * *"), warned: -1},
		"suspended by its user":        {annotations: idle, change: func(_ time.Duration, rc *rayv1.RayCluster, _ *Input) { rc.Spec.Suspend = new(true) }, warned: -1},
		"resumed": {annotations: map[string]string{rayv1.AnnotationMaxAge: "1h"}, change: func(now time.Duration, rc *rayv1.RayCluster, _ *Input) {
			c := metav1.Condition{Type: rayv1.RayClusterSuspended, Status: metav1.ConditionTrue, LastTransitionTime: metav1.NewTime(after(30 * m))}
			if now >= 2*time.Hour {
				c.Status, c.LastTransitionTime = metav1.ConditionFalse, metav1.NewTime(after(120*m))
			}
			meta.SetStatusCondition(&rc.Status.Conditions, c)
		}, want: rayv1.ExpirySuspend, at: 180 * m, warned: 175 * m},
	} {
		t.Run(name, func(t *testing.T) {
			s := tell(tc.annotations, tc.change)
			action, at, warned := s.run()
			if tc.want != "" {
				at -= 5 * time.Second // from the decision to the action
			}
			if action != tc.want || at != tc.at || warned != tc.warned {
				t.Errorf("%q at %s, warned at %s; want %q at %s, warned at %s", action, at, warned, tc.want, tc.at, tc.warned)
			}
		})
	}
}

// The cause is known as long as the cluster is suspended, and a warning does not become a cause.
func TestConditions(t *testing.T) {
	for name, tc := range map[string]struct{ expired, want metav1.ConditionStatus }{
		"decided": {metav1.ConditionTrue, metav1.ConditionTrue}, "warned": {metav1.ConditionFalse, ""}, "neither": {"", ""},
	} {
		s := tell(map[string]string{rayv1.AnnotationIdleTimeout: "30m"}, nil)
		if s.rc.Spec.Suspend = new(true); tc.expired != "" {
			raytest.Condition(rayv1.RayClusterExpired, tc.expired)(s.rc)
		}
		var got metav1.ConditionStatus
		plan := s.next(0)
		if plan.Expired != nil {
			got = plan.Expired.Status
		}
		if got != tc.want || plan.Interval != 0 || plan.After != 0 {
			t.Errorf("%s: %q with %+v, want %q", name, got, plan, tc.want)
		}
	}
	s := tell(map[string]string{rayv1.AnnotationIdleTimeout: "30m"}, nil)
	s.next(0)
	plan := s.next(28 * time.Minute)
	want := map[string]string{
		rayv1.RayClusterIdle:    "nothing has run since 2026-03-02T08:00:00Z; the limit is reached at 2026-03-02T08:30:00Z",
		rayv1.RayClusterExpired: "the cluster will be suspended at 2026-03-02T08:31:00Z: it has been idle since 2026-03-02T08:00:00Z; to keep it, set the annotation raygate.io/keep-until",
	}
	if diff := cmp.Diff(want, map[string]string{rayv1.RayClusterIdle: plan.Idle.Message, rayv1.RayClusterExpired: plan.Expired.Message}); diff != "" {
		t.Error(diff)
	}
	s.change = func(_ time.Duration, _ *rayv1.RayCluster, in *Input) {
		in.Policy.MaxIdleTimeout = &metav1.Duration{Duration: 20 * time.Minute}
	}
	bounded := s.next(29 * time.Minute)
	want = map[string]string{
		rayv1.RayClusterIdle: "nothing has run since 2026-03-02T08:00:00Z; the limit is reached at 2026-03-02T08:20:00Z, by the configuration of the operator for the namespace",
		rayv1.RayClusterExpired: "the cluster will be suspended at 2026-03-02T08:30:00Z: it has been idle since 2026-03-02T08:00:00Z, and the configuration of the operator for the namespace allows 20m0s; " +
			"to keep it, set the annotation raygate.io/keep-until",
	}
	if diff := cmp.Diff(want, map[string]string{rayv1.RayClusterIdle: bounded.Idle.Message, rayv1.RayClusterExpired: bounded.Expired.Message}); diff != "" {
		t.Error(diff)
	}
	if plan.After != 3*time.Minute || plan.Interval != time.Minute {
		t.Errorf("decides again after %s, asks every %s", plan.After, plan.Interval)
	}
}

// A cluster that was suspended in the evening is resumed in the morning, unless its user suspended it, or the evening has come again.
func TestResumption(t *testing.T) {
	for name, tc := range map[string]struct {
		cause metav1.ConditionStatus
		at    time.Duration // after 8:00 of the day before
		want  Plan
	}{
		"at night":              {metav1.ConditionTrue, 20 * time.Hour, Plan{After: 2 * time.Hour}},
		"in the morning":        {metav1.ConditionTrue, 22 * time.Hour, Plan{Resume: true}},
		"late":                  {metav1.ConditionTrue, 33 * time.Hour, Plan{Resume: true}},
		"in the evening":        {metav1.ConditionTrue, 34 * time.Hour, Plan{After: 12 * time.Hour}},
		"a warning is no cause": {metav1.ConditionFalse, 22 * time.Hour, Plan{}},
	} {
		s := tell(map[string]string{rayv1.AnnotationSuspendSchedule: "0 18 * * *", rayv1.AnnotationResumeSchedule: "0 6 * * *"}, nil)
		s.rc.Spec.Suspend = new(true)
		s.rc.Status.Conditions = []metav1.Condition{{Type: rayv1.RayClusterExpired, Status: tc.cause, LastTransitionTime: metav1.NewTime(after(10 * time.Hour))}}
		plan := s.next(tc.at)
		if plan.Expired != nil != (tc.cause == metav1.ConditionTrue) {
			t.Errorf("%s: the cause is %v", name, plan.Expired)
		}
		plan.Expired = nil
		if diff := cmp.Diff(tc.want, plan); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// FuzzFor plays random stories: whatever happens, a cluster is suspended as idle only if nothing ran and all was known for its time, the
// warning came early enough, and nobody kept it. An undisturbed cluster is suspended in bounded time.
func FuzzFor(f *testing.F) {
	for seed := range uint64(60) {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, seed uint64) {
		r := rand.New(rand.NewPCG(seed, 1)) //nolint:gosec // a simulation
		limit := time.Duration(1+r.IntN(90)) * time.Minute
		lead := min(limit/10, maxLead).Truncate(time.Second)
		calm := 3 * time.Hour
		var until time.Duration // the time of the current state
		var mode int
		var since, kept, changed time.Duration // since when all was known and nothing ran
		s := tell(map[string]string{rayv1.AnnotationIdleTimeout: limit.String()}, func(now time.Duration, rc *rayv1.RayCluster, in *Input) {
			if now >= until && now < calm {
				until, mode, changed = now+time.Duration(r.IntN(int(40*time.Minute))), r.IntN(6), now
				if r.IntN(8) == 0 {
					kept = now + time.Duration(r.IntN(int(time.Hour))).Truncate(time.Second)
					rc.Annotations[rayv1.AnnotationKeepUntil] = after(kept).Format(time.RFC3339)
				}
			}
			if now >= calm {
				mode = 0
			}
			switch mode {
			case 1:
				in.Usage.Active, since = rayv1.ReasonActorAlive, now
			case 2:
				if in.Usage.FailingSince = after(changed); now-changed >= unknownAfter {
					since = now
				}
			case 3: // the operator has just started
				in.Usage = Usage{}
			case 4:
				in.HeadSince, since = time.Time{}, now
			case 5:
				in.Usage.AskedAt = after(changed)
			}
		})
		for now := time.Duration(0); ; now += 10 * time.Second {
			plan := s.next(now)
			switch {
			case plan.Action != "" && (mode != 0 && (mode != 5 || now-changed > freshFor+time.Second) || now-since < limit || now < kept || now-s.warned < lead):
				t.Fatalf("%q at %s: state %d, known to be idle since %s, kept until %s, warned at %s, limit %s", plan.Action, now, mode, since, kept, s.warned, limit)
			case plan.Action != "":
				return
			case now > calm+max(limit, time.Hour)+lead+time.Minute:
				t.Fatalf("nothing at %s with limit %s: %+v", now, limit, plan)
			case mode == 0 && plan.After == 0 && !plan.Ask:
				t.Fatalf("does not decide again: %+v", plan)
			}
		}
	})
}

// The cluster of an interactive RayJob expires when the status of its RayJob has the decision, and not while that has a job that runs.
func TestInteractiveJob(t *testing.T) {
	const m = time.Minute
	knows := func(s *story, j *rayv1.RayJob) { s.rc.Status.DeepCopyInto(&j.Status.RayClusterStatus) }
	runs := func(s *story, j *rayv1.RayJob) {
		knows(s, j)
		j.Status.JobDeploymentStatus, j.Status.JobStatus = rayv1.JobDeploymentStatusRunning, rayv1.JobStatusRunning
	}
	ended := func(_ *story, j *rayv1.RayJob) { j.Status.JobDeploymentStatus = rayv1.JobDeploymentStatusComplete }
	late := func(s *story, j *rayv1.RayJob) {
		if s.in.Now.After(after(40 * m)) {
			knows(s, j)
		}
	}
	earlier := func(s *story, j *rayv1.RayJob) {
		knows(s, j)
		for i := range j.Status.RayClusterStatus.Conditions {
			j.Status.RayClusterStatus.Conditions[i].LastTransitionTime = metav1.NewTime(start)
		}
	}
	idle, old := map[string]string{rayv1.AnnotationIdleTimeout: "30m"}, map[string]string{rayv1.AnnotationMaxAge: "30m"}
	for name, tc := range map[string]struct {
		mode        rayv1.JobSubmissionMode
		annotations map[string]string
		status      func(*story, *rayv1.RayJob)
		want        rayv1.ExpiryAction
		at          time.Duration
	}{
		"its RayJob knows":                {rayv1.InteractiveMode, idle, knows, rayv1.ExpirySuspend, 30 * m},
		"its RayJob knows late":           {rayv1.InteractiveMode, idle, late, rayv1.ExpirySuspend, 40 * m},
		"its RayJob knows an earlier one": {rayv1.InteractiveMode, idle, earlier, "", 0},
		"its RayJob has ended":            {rayv1.InteractiveMode, idle, ended, rayv1.ExpirySuspend, 30 * m},
		"idle while its RayJob has a job": {rayv1.InteractiveMode, idle, runs, "", 0},
		"old while its RayJob has a job":  {rayv1.InteractiveMode, old, runs, rayv1.ExpirySuspend, 30 * m},
		"its RayJob is of another mode":   {rayv1.HTTPMode, idle, knows, "", 0},
		"its RayJob is gone":              {rayv1.InteractiveMode, idle, nil, rayv1.ExpirySuspend, 30 * m},
		"its RayJob has no status":        {rayv1.InteractiveMode, idle, func(*story, *rayv1.RayJob) {}, "", 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			j := &rayv1.RayJob{ObjectMeta: metav1.ObjectMeta{Name: "demo"}}
			s := tell(tc.annotations, nil)
			s.rc.Labels = map[string]string{rayv1.LabelJobSubmissionMode: string(tc.mode)}
			s.rc.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(j, rayv1.GroupVersion.WithKind("RayJob"))}
			s.change = func(_ time.Duration, _ *rayv1.RayCluster, in *Input) {
				if tc.status != nil {
					in.Job = j
					tc.status(s, j)
				}
			}
			if action, at, _ := s.run(); action != tc.want || at < tc.at || at > tc.at+10*time.Second {
				t.Errorf("%q after %s, want %q after %s", action, at, tc.want, tc.at)
			}
		})
	}
}
