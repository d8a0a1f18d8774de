package jobplan

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
)

var start = time.Date(2026, time.March, 1, 12, 0, 0, 0, time.UTC)

func at(seconds int) time.Time { return start.Add(time.Duration(seconds) * time.Second) }

func stamp(seconds int) *metav1.Time { return &metav1.Time{Time: at(seconds)} }

// input is a K8sJobMode job that started at 0 and runs, in the tenth second, with all in order.
func input(changes ...func(*Input)) Input {
	in := Input{
		Job: &rayv1.RayJob{
			ObjectMeta: metav1.ObjectMeta{Name: "demo", Namespace: "default"},
			Spec: rayv1.RayJobSpec{
				SubmissionMode: rayv1.K8sJobMode, RayClusterSpec: &rayv1.RayClusterSpec{}, Entrypoint: "ls", BackoffLimit: new(int32(0)),
				ShutdownAfterJobFinishes: true,
			},
			Status: rayv1.RayJobStatus{
				JobId: "demo-aaaaa", RayClusterName: "demo-bbbbb", DashboardURL: "demo:8265", StartTime: stamp(0),
				JobDeploymentStatus: running, JobStatus: rayv1.JobStatusRunning,
			},
		},
		Now:       at(10),
		Suffix:    func() string { return "ccccc" },
		Cluster:   Cluster{Found: true, Ready: true, Dashboard: "demo:8265"},
		Submitter: Submitter{Found: true},
		Ray:       Ray{AskedAt: at(9), Status: rayv1.JobStatusRunning},
		Limits:    DefaultLimits(),
	}
	for _, change := range changes {
		change(&in)
	}
	return in
}

func state(s rayv1.JobDeploymentStatus) func(*Input) {
	return func(in *Input) { in.Job.Status.JobDeploymentStatus = s }
}

func jobStatus(s rayv1.JobStatus) func(*Input) {
	return func(in *Input) { in.Job.Status.JobStatus = s }
}

func mode(m rayv1.JobSubmissionMode) func(*Input) {
	return func(in *Input) {
		in.Job.Spec.SubmissionMode = m
		if m == rayv1.HTTPMode || m == rayv1.InteractiveMode {
			in.Submitter = Submitter{}
		}
	}
}

func spec(change func(*rayv1.RayJobSpec)) func(*Input) {
	return func(in *Input) { change(&in.Job.Spec) }
}

func now(seconds int) func(*Input) { return func(in *Input) { in.Now = at(seconds) } }

func ray(r Ray) func(*Input) { return func(in *Input) { in.Ray = r } }

// says is an answer of Ray to a question of that second.
func says(s rayv1.JobStatus, asked int) func(*Input) {
	r := Ray{AskedAt: at(asked), Status: s, Message: "from Ray"}
	if s.IsTerminal() {
		r.EndTime, r.Since = at(3), at(5) // by a clock that is behind
	}
	return ray(r)
}

func unknown(asked int) func(*Input) {
	return ray(Ray{AskedAt: at(asked), Unknown: true, Since: at(5)})
}

func unreachable(since, last int) func(*Input) {
	return func(in *Input) {
		in.Ray = Ray{FailingSince: at(since), FailedAt: at(last), Failure: "connection refused"}
		in.Job.Status.JobStatusCheckFailureStartTime = stamp(since)
	}
}

func submitter(s Submitter) func(*Input) { return func(in *Input) { in.Submitter = s } }

func finished(seconds int) func(*Input) {
	return submitter(Submitter{Found: true, FinishedSince: at(seconds)})
}

func broke(seconds int) func(*Input) {
	return submitter(Submitter{Found: true, FinishedSince: at(seconds), PodsEndedSince: at(seconds), Failed: true, Message: "BackoffLimitExceeded"})
}

func podsLive(in *Input) { in.Submitter.Pods, in.Submitter.PodsEndedSince = true, time.Time{} }

func cluster(c Cluster) func(*Input) { return func(in *Input) { in.Cluster = c } }

func retries(n int32) func(*Input) { return spec(func(s *rayv1.RayJobSpec) { s.BackoffLimit = &n }) }

func grace(in *Input) {
	metav1.SetMetaDataAnnotation(&in.Job.ObjectMeta, rayv1.AnnotationSuspendGrace, "30s")
}

func suspend(s *rayv1.RayJobSpec) { s.Suspend = true }

func active(seconds int32) func(*Input) {
	return spec(func(s *rayv1.RayJobSpec) { s.ActiveDeadlineSeconds = &seconds })
}

func preRunning(seconds int32) func(*Input) {
	return spec(func(s *rayv1.RayJobSpec) { s.PreRunningDeadlineSeconds = &seconds })
}

func selects(s *rayv1.RayJobSpec) {
	s.ClusterSelector = map[string]string{rayv1.LabelCluster: "shared"}
}

// stopped is a request that Ray has accepted.
func stopped(seconds int) func(*Input) {
	return func(in *Input) { in.Stop = Command{Asked: true, Done: true, DoneAt: at(seconds)} }
}

// stopFails is a request that has failed for a while.
func stopFails(since, seconds int) func(*Input) {
	return func(in *Input) {
		in.Stop = Command{Asked: true, Done: true, DoneAt: at(seconds), FailingSince: at(since), Failed: true, Message: "no route"}
	}
}

// stopMisses is a request about a job that Ray does not have.
func stopMisses(since, seconds int) func(*Input) {
	return func(in *Input) {
		stopFails(since, seconds)(in)
		in.Stop.Missing = true
	}
}

// givingUp is an attempt that is given up since the tenth second.
func givingUp(reason rayv1.JobFailedReason, changes ...func(*Input)) []func(*Input) {
	return append([]func(*Input){func(in *Input) {
		in.Job.Status.Reason, in.Job.Status.Message, in.EndingSince = reason, "why", at(10)
	}}, changes...)
}

// awaits is an interactive job without an id.
func awaits(in *Input) {
	state(waiting)(in)
	mode(rayv1.InteractiveMode)(in)
	in.Job.Status.JobStatus, in.Job.Status.JobId, in.Ray = "", "", Ray{}
}

// expired is the own cluster that was suspended or deleted by its annotations.
func expired(suspended bool) func(*Input) {
	return func(in *Input) {
		in.Job.Status.RayClusterStatus.Conditions = []metav1.Condition{{Type: rayv1.RayClusterExpired, Status: metav1.ConditionTrue, Message: "nothing has run"}}
		in.Cluster = Cluster{Found: suspended, Suspended: suspended}
	}
}

func submitted(seconds int) func(*Input) {
	return func(in *Input) { in.Submit = Command{Asked: true, Done: true, DoneAt: at(seconds)} }
}

func submitFails(seconds int) func(*Input) {
	return func(in *Input) {
		in.Submit = Command{Asked: true, Done: true, DoneAt: at(seconds), FailingSince: at(seconds), Failed: true, Message: "timeout"}
	}
}

// limited is KubeRay's limit on jobs that go on after their submitter.
func limited(in *Input) { in.Limits.SubmitterFinished = 30 * time.Second }

func broken(in *Input) { in.Invalid = "spec.entrypoint: Required value" }

func unseen(in *Input) { in.Job.Status.JobStatus = "" }

// young is a job whose cluster comes up.
func young(in *Input) {
	in.Job.Status.DashboardURL, in.Job.Status.JobStatus, in.Job.Status.JobDeploymentStatus = "", "", initializing
	in.Cluster, in.Submitter, in.Ray = Cluster{Found: true}, Submitter{}, Ray{}
}

type want struct {
	rule    string
	to      rayv1.JobDeploymentStatus
	ray     rayv1.JobStatus
	reason  rayv1.JobFailedReason
	actions []Action
}

func TestLifeCycle(t *testing.T) {
	const (
		none   = rayv1.JobStatusNew
		run    = rayv1.JobStatusRunning
		ok     = rayv1.JobStatusSucceeded
		bad    = rayv1.JobStatusFailed
		halted = rayv1.JobStatusStopped
		late   = rayv1.JobDeploymentStatusTransitionGracePeriodExceeded
	)
	type changes = []func(*Input)
	poll, serve := []Action{Poll}, []Action{EnsureHeadService, Poll}
	cases := map[string]struct {
		in   changes
		want want
	}{
		"a new job":                   {changes{state(newJob), jobStatus("")}, want{"Begin", initializing, none, "", []Action{EnsureFinalizer}}},
		"a new job that is invalid":   {changes{state(newJob), jobStatus(""), broken}, want{"Invalid", validationFailed, none, rayv1.ValidationFailed, poll}},
		"a new job that is suspended": {changes{state(newJob), jobStatus(""), spec(suspend)}, want{"Begin", initializing, none, "", []Action{EnsureFinalizer}}},

		"no cluster":                       {changes{young, cluster(Cluster{})}, want{"ClusterMissing", initializing, none, "", []Action{Reserve, EnsureCluster}}},
		"a cluster that is going":          {changes{young, cluster(Cluster{Found: true, Deleting: true})}, want{"ClusterMissing", initializing, none, "", nil}},
		"no selected cluster":              {changes{young, spec(selects), cluster(Cluster{})}, want{"SelectedClusterMissing", initializing, none, "", nil}},
		"a cluster that is not ready":      {changes{young}, want{"ClusterNotReady", initializing, none, "", []Action{Reserve}}},
		"not ready, suspended":             {changes{young, spec(suspend)}, want{"Suspend", suspending, none, "", nil}},
		"not ready in time":                {changes{young, preRunning(10)}, want{"PreRunningDeadlineExceeded", failed, none, rayv1.PreRunningDeadlineExceeded, nil}},
		"not ready in time, with retries":  {changes{young, preRunning(10), retries(1)}, want{"PreRunningDeadlineExceeded", retrying, none, rayv1.PreRunningDeadlineExceeded, nil}},
		"not ready, almost late":           {changes{young, preRunning(11), active(11)}, want{"ClusterNotReady", initializing, none, "", []Action{Reserve}}},
		"not ready by the active deadline": {changes{young, active(10), retries(1)}, want{"DeadlineExceeded", failed, none, rayv1.DeadlineExceeded, nil}},
		"ready":                            {changes{young, cluster(Cluster{Found: true, Ready: true, Dashboard: "demo:8265"})}, want{"Ready", running, none, "", []Action{EnsureSubmitter}}},
		"ready, over HTTP":                 {changes{young, mode(rayv1.HTTPMode), cluster(Cluster{Found: true, Ready: true, Dashboard: "demo:8265"})}, want{"Ready", running, none, "", nil}},
		"ready, interactive":               {changes{young, mode(rayv1.InteractiveMode), cluster(Cluster{Found: true, Ready: true, Dashboard: "demo:8265"})}, want{"Interactive", waiting, none, "", nil}},
		"ready, killed after the Job":      {changes{young, cluster(Cluster{Found: true, Ready: true, Dashboard: "demo:8265"}), submitter(Submitter{Found: true})}, want{"Ready", running, none, "", nil}},
		"the name of the Job is taken":     {changes{young, cluster(Cluster{Found: true, Ready: true, Dashboard: "demo:8265"}), submitter(Submitter{Foreign: true})}, want{"SubmitterForeign", initializing, none, "", nil}},
		"a sidecar polls before it is ready": {changes{young, mode(rayv1.SidecarMode), cluster(Cluster{Found: true, Dashboard: "demo:8265"}), says(run, 9)},
			want{"ClusterNotReady", initializing, run, "", []Action{Reserve, Poll}}},
		"a sidecar ends before the cluster is ready": {changes{young, mode(rayv1.SidecarMode), cluster(Cluster{Found: true, Dashboard: "demo:8265"}), finished(5)},
			want{"SidecarEnded", running, none, "", nil}},

		"a sidecar loses its head early": {changes{young, mode(rayv1.SidecarMode), jobStatus(run), cluster(Cluster{Found: true, Dashboard: "demo:8265"}), submitter(Submitter{HeadLost: true})},
			want{"HeadLost", failed, bad, rayv1.AppFailed, nil}},
		"a sidecar loses a head that comes back": {changes{young, mode(rayv1.SidecarMode), cluster(Cluster{Found: true, Dashboard: "demo:8265"}), submitter(Submitter{HeadLost: true, HeadReturns: true})},
			want{"HeadLost", initializing, none, rayv1.AppFailed, poll}},
		"a sidecar that ran loses a head that comes back": {changes{young, mode(rayv1.SidecarMode), jobStatus(run), cluster(Cluster{Found: true, Dashboard: "demo:8265"}), submitter(Submitter{HeadLost: true, HeadReturns: true})},
			want{"HeadLost", initializing, run, rayv1.AppFailed, poll}},
		"a sidecar is given up, its cluster is deleted first": {givingUp(rayv1.AppFailed, young, mode(rayv1.SidecarMode)),
			want{"GivingUp", initializing, none, rayv1.AppFailed, []Action{DeleteCluster}}},
		"a sidecar is given up, its cluster cannot be deleted": {givingUp(rayv1.AppFailed, young, mode(rayv1.SidecarMode), now(131)),
			want{"GivingUp", failed, none, rayv1.AppFailed, []Action{DeleteCluster}}},
		"a sidecar is given up, its cluster is being deleted": {givingUp(rayv1.AppFailed, young, mode(rayv1.SidecarMode), cluster(Cluster{Found: true, Deleting: true})),
			want{"GivingUp", failed, none, rayv1.AppFailed, nil}},
		"a sidecar loses its cluster early": {changes{young, mode(rayv1.SidecarMode), jobStatus(run), cluster(Cluster{}), retries(1)}, want{"ClusterLost", retrying, bad, rayv1.AppFailed, nil}},
		"a sidecar is forgotten early": {changes{young, mode(rayv1.SidecarMode), jobStatus(run), cluster(Cluster{Found: true, Dashboard: "demo:8265"}), unknown(9)},
			want{"RecordLost", failed, bad, rayv1.AppFailed, nil}},
		"another head submits": {changes{young, mode(rayv1.SidecarMode), jobStatus(run), cluster(Cluster{Found: true, Dashboard: "demo:8265"}), ray(Ray{AskedAt: at(9), Status: run, StartTime: at(8)}),
			func(in *Input) { in.Job.Status.RayJobStatusInfo.StartTime = stamp(2) }}, want{"RecordLost", initializing, run, rayv1.AppFailed, poll}},
		"not ready in time, and nobody asked": {changes{young, mode(rayv1.SidecarMode), cluster(Cluster{Found: true, Dashboard: "demo:8265"}), preRunning(10)},
			want{"FirstLook", initializing, none, "", poll}},
		"not ready in time, and it runs": {changes{young, mode(rayv1.SidecarMode), cluster(Cluster{Found: true, Dashboard: "demo:8265"}), says(run, 10), active(10)},
			want{"DeadlineExceeded", initializing, run, rayv1.DeadlineExceeded, poll}},
		"not ready, succeeded past the deadline": {changes{young, mode(rayv1.SidecarMode), cluster(Cluster{Found: true, Dashboard: "demo:8265"}), says(ok, 3600), now(3600), active(10)},
			want{"EndedBefore", running, ok, "", nil}},
		"killed after the Job, late": {changes{young, cluster(Cluster{Found: true, Ready: true, Dashboard: "demo:8265"}), submitter(Submitter{Found: true}), active(10), now(3600)},
			want{"FirstLook", initializing, none, "", poll}},

		"a sidecar's spec became invalid": {changes{young, broken, mode(rayv1.SidecarMode), cluster(Cluster{Found: true, Dashboard: "demo:8265"})},
			want{"Invalid", validationFailed, none, rayv1.ValidationFailed, poll}},
		"a sidecar's job ends under an invalid spec": {changes{young, broken, state(validationFailed), mode(rayv1.SidecarMode), cluster(Cluster{Found: true, Dashboard: "demo:8265"}), says(ok, 9), finished(9)},
			want{"JobEnded", complete, ok, "", nil}},

		"waits for the user":                          {changes{awaits}, want{"JobAwaited", waiting, none, "", nil}},
		"the user gives an id":                        {changes{awaits, spec(func(s *rayv1.RayJobSpec) { s.JobId = "mine" })}, want{"JobGiven", running, none, "", nil}},
		"waits too long":                              {changes{awaits, preRunning(10)}, want{"PreRunningDeadlineExceeded", failed, none, rayv1.PreRunningDeadlineExceeded, nil}},
		"waits past all":                              {changes{awaits, active(10)}, want{"DeadlineExceeded", failed, none, rayv1.DeadlineExceeded, nil}},
		"waits and is suspended":                      {changes{awaits, spec(suspend)}, want{"Suspend", suspending, none, "", nil}},
		"waits, and its cluster is suspended as idle": {changes{awaits, expired(true)}, want{"JobAwaited", waiting, none, "", nil}},
		"waits, and its cluster is resumed":           {changes{awaits, expired(true), cluster(Cluster{Found: true})}, want{"JobAwaited", waiting, none, "", nil}},
		"waits, and its cluster is deleted as idle":   {changes{awaits, expired(false)}, want{"ClusterExpired", failed, none, rayv1.DeadlineExceeded, nil}},
		"waits, and somebody deletes its cluster":     {changes{awaits, cluster(Cluster{})}, want{"JobAwaited", waiting, none, "", []Action{EnsureCluster}}},
		"not ready before it is suspended as old":     {changes{young, mode(rayv1.InteractiveMode), expired(true)}, want{"ClusterNotReady", initializing, none, "", []Action{Reserve}}},
		"not ready before it is deleted as old":       {changes{young, mode(rayv1.InteractiveMode), expired(false)}, want{"ClusterExpired", failed, none, rayv1.DeadlineExceeded, nil}},
		"the user's job was not submitted before the cluster is suspended as idle": {changes{mode(rayv1.InteractiveMode), unseen, unreachable(5, 9), now(1000), expired(true)},
			want{"ClusterSuspended", running, none, "", nil}},
		"the user's job runs until the cluster is suspended as old": {changes{mode(rayv1.InteractiveMode), unreachable(5, 9), now(200), expired(true), stopFails(5, 190), func(in *Input) { in.EndingSince = at(60) }},
			want{"ClusterExpired", failed, bad, rayv1.DeadlineExceeded, nil}},
		"the user's job runs until the cluster is deleted as old": {changes{mode(rayv1.InteractiveMode), expired(false)}, want{"ClusterExpired", failed, bad, rayv1.DeadlineExceeded, nil}},
		"an expired cluster of another mode":                      {changes{mode(rayv1.HTTPMode), expired(false)}, want{"ClusterLost", failed, bad, rayv1.AppFailed, nil}},
		"the user's job is not there":                             {changes{mode(rayv1.InteractiveMode), unseen, unknown(9), now(100000)}, want{"Watch", running, none, "", serve}},

		"runs":                                   {nil, want{"Watch", running, run, "", serve}},
		"runs on a selected cluster":             {changes{spec(selects)}, want{"Watch", running, run, "", poll}},
		"was not asked yet":                      {changes{ray(Ray{}), unseen}, want{"Watch", running, none, "", serve}},
		"not submitted yet":                      {changes{unseen, unknown(9)}, want{"Watch", running, none, "", serve}},
		"succeeded, the submitter goes on":       {changes{says(ok, 9)}, want{"SubmitterAwaited", running, ok, "", poll}},
		"succeeded, and the submitter is done":   {changes{says(ok, 9), finished(8)}, want{"JobEnded", complete, ok, "", nil}},
		"succeeded long ago":                     {changes{jobStatus(ok), ray(Ray{}), finished(8), now(100000)}, want{"JobEnded", complete, ok, "", nil}},
		"succeeded, and the submitter broke":     {changes{says(ok, 9), broke(8)}, want{"JobEnded", complete, ok, "", nil}},
		"succeeded, and the submitter hangs":     {changes{says(ok, 304), now(305)}, want{"JobEndedSubmitterHangs", complete, ok, late, []Action{KillSubmitter}}},
		"succeeded, and Ray lost its record":     {changes{jobStatus(ok), unknown(9)}, want{"JobEndedSubmitterHangs", complete, ok, late, []Action{KillSubmitter}}},
		"succeeded, and Ray is away":             {changes{jobStatus(ok), unreachable(5, 8), now(9)}, want{"SubmitterAwaited", running, ok, "", poll}},
		"succeeded, and Ray stays away":          {changes{jobStatus(ok), unreachable(5, 14), now(15)}, want{"JobEndedSubmitterHangs", complete, ok, late, []Action{KillSubmitter}}},
		"succeeded, seen late":                   {changes{ray(Ray{AskedAt: at(1000), Status: ok, EndTime: at(5), Since: at(1000)}), now(1000)}, want{"SubmitterAwaited", running, ok, "", poll}},
		"succeeded, and the Job was deleted":     {changes{says(ok, 9), submitter(Submitter{})}, want{"JobEnded", complete, ok, "", nil}},
		"succeeded, the cluster is gone":         {changes{jobStatus(ok), cluster(Cluster{})}, want{"JobEnded", complete, ok, "", []Action{KillSubmitter}}},
		"succeeded, nothing is left":             {changes{jobStatus(ok), cluster(Cluster{}), submitter(Submitter{})}, want{"JobEnded", complete, ok, "", nil}},
		"succeeded before it is suspended":       {changes{says(ok, 9), spec(suspend)}, want{"JobEnded", complete, ok, "", nil}},
		"succeeded past the deadline":            {changes{says(ok, 9), finished(8), active(6)}, want{"JobEnded", complete, ok, "", nil}},
		"succeeded past it, the submitter waits": {changes{says(ok, 9), active(6)}, want{"SubmitterAwaited", running, ok, "", poll}},
		"succeeded, the spec became invalid":     {changes{says(ok, 9), finished(8), broken}, want{"JobEnded", complete, ok, "", nil}},
		"succeeded over HTTP":                    {changes{mode(rayv1.HTTPMode), says(ok, 9)}, want{"JobEnded", complete, ok, "", nil}},
		"stopped":                                {changes{says(halted, 9), finished(8)}, want{"JobEnded", complete, halted, "", nil}},
		"failed, the submitter goes on":          {changes{says(bad, 9)}, want{"SubmitterAwaited", running, bad, "", poll}},
		"failed":                                 {changes{says(bad, 9), finished(8)}, want{"JobFailed", failed, bad, rayv1.AppFailed, nil}},
		"failed, with retries":                   {changes{says(bad, 9), finished(8), retries(1)}, want{"JobFailed", retrying, bad, rayv1.AppFailed, nil}},
		"failed, and the submitter broke":        {changes{says(bad, 9), broke(8)}, want{"JobFailed", failed, bad, rayv1.AppFailed, nil}},
		"failed, and the submitter hangs":        {changes{says(bad, 304), now(305)}, want{"JobFailedSubmitterHangs", failed, bad, late, []Action{KillSubmitter}}},
		"Ray changes its mind":                   {changes{jobStatus(ok), says(bad, 9), finished(8)}, want{"JobEnded", complete, ok, "", nil}},

		"suspended":                               {changes{spec(suspend)}, want{"Suspend", suspending, run, "", nil}},
		"became invalid":                          {changes{broken}, want{"Invalid", validationFailed, run, rayv1.ValidationFailed, poll}},
		"the submitter broke, the job goes on":    {changes{broke(8), says(run, 1000), now(1000)}, want{"Watch", running, run, "", serve}},
		"the Job was deleted, the job goes on":    {changes{submitter(Submitter{}), says(run, 1000), now(1000)}, want{"Watch", running, run, "", serve}},
		"the Job was deleted before it submitted": {changes{submitter(Submitter{}), unseen, unknown(9)}, want{"SubmitterMissing", running, none, "", []Action{Poll, EnsureSubmitter}}},
		"the submitter broke before it submitted": {changes{broke(5), unseen, unknown(18), now(18)}, want{"SubmissionFailed", failed, none, rayv1.SubmissionFailed, nil}},
		"the same, retried":                       {changes{broke(5), unseen, unknown(18), now(18), retries(2)}, want{"SubmissionFailed", retrying, none, rayv1.SubmissionFailed, nil}},
		"the same, not asked since":               {changes{broke(5), unseen, unknown(9), now(18)}, want{"Watch", running, none, "", []Action{EnsureHeadService, Poll, Refresh}}},
		"the same, a submission may arrive":       {changes{broke(5), unseen, unknown(9)}, want{"Watch", running, none, "", serve}},
		"the same, its Pod has not ended":         {changes{broke(5), podsLive, unseen, unknown(18), now(18)}, want{"Watch", running, none, "", serve}},
		"the same, its Pod does not end":          {changes{broke(5), podsLive, unseen, unknown(126), now(126)}, want{"SubmissionFailed", running, none, rayv1.SubmissionFailed, poll}},
		"the submitter ended without submitting":  {changes{finished(5), unseen, unknown(9)}, want{"SubmissionFailed", failed, none, rayv1.AppFailed, nil}},
		"the submitter left, just now":            {changes{limited, finished(8), says(run, 30), now(37)}, want{"Watch", running, run, "", serve}},
		"the submitter left, not asked since":     {changes{limited, finished(8), says(run, 37), now(38)}, want{"Watch", running, run, "", []Action{EnsureHeadService, Poll, Refresh}}},
		"the submitter left the job":              {changes{limited, finished(8), says(run, 38), now(38)}, want{"SubmitterFinished", running, run, late, poll}},
		"the submitter may leave":                 {changes{finished(8), says(run, 1000), now(1000)}, want{"Watch", running, run, "", serve}},
		"the submitter may leave, to a success":   {changes{finished(8), says(ok, 1000), now(1000)}, want{"JobEnded", complete, ok, "", nil}},

		"the head was started anew":                {changes{unknown(9), finished(8)}, want{"RecordLost", failed, bad, rayv1.AppFailed, nil}},
		"started anew, the submitter lives":        {changes{unknown(9)}, want{"Watch", running, run, "", serve}},
		"started anew, the submitter hangs":        {changes{unknown(304), now(305)}, want{"RecordLost", running, run, rayv1.AppFailed, poll}},
		"the head was started anew, HTTP":          {changes{mode(rayv1.HTTPMode), unknown(9), retries(1)}, want{"RecordLost", retrying, bad, rayv1.AppFailed, nil}},
		"the cluster is deleted":                   {changes{cluster(Cluster{Found: true, Deleting: true}), submitter(Submitter{})}, want{"ClusterLost", failed, bad, rayv1.AppFailed, nil}},
		"the cluster is gone":                      {changes{cluster(Cluster{}), finished(8), retries(1)}, want{"ClusterLost", retrying, bad, rayv1.AppFailed, nil}},
		"the selected cluster is gone":             {changes{spec(selects), cluster(Cluster{})}, want{"ClusterLost", running, run, rayv1.AppFailed, poll}},
		"the selected cluster is gone early":       {changes{spec(selects), unseen, cluster(Cluster{}), ray(Ray{})}, want{"SelectedClusterMissing", running, none, "", nil}},
		"the same, and the submitter has given up": {changes{spec(selects), unseen, cluster(Cluster{}), ray(Ray{}), broke(8)}, want{"SubmissionFailed", failed, none, rayv1.SubmissionFailed, nil}},
		"the cluster is gone before it ran":        {changes{unseen, cluster(Cluster{}), ray(Ray{})}, want{"ClusterMissing", running, none, "", []Action{Reserve, EnsureCluster, Poll}}},
		"the head Pod is gone, sidecar":            {changes{mode(rayv1.SidecarMode), submitter(Submitter{HeadLost: true})}, want{"HeadLost", failed, bad, rayv1.AppFailed, nil}},
		"the cluster is gone, sidecar unseen":      {changes{mode(rayv1.SidecarMode), cluster(Cluster{}), jobStatus(""), ray(Ray{})}, want{"ClusterLost", failed, none, rayv1.AppFailed, nil}},
		"the head Pod is gone after":               {changes{mode(rayv1.SidecarMode), says(ok, 9), submitter(Submitter{HeadLost: true})}, want{"JobEnded", complete, ok, "", nil}},

		"past the deadline":                    {changes{active(10)}, want{"DeadlineExceeded", running, run, rayv1.DeadlineExceeded, poll}},
		"long past the deadline, nobody asked": {changes{active(10), ray(Ray{}), now(3600)}, want{"FirstLook", running, run, "", poll}},
		"long past it, succeeded":              {changes{active(10), says(ok, 3600), finished(8), now(3600)}, want{"JobEnded", complete, ok, "", nil}},
		"long past it, the dashboard fails":    {changes{active(10), unreachable(3599, 3599), now(3600)}, want{"DeadlineExceeded", running, run, rayv1.DeadlineExceeded, poll}},
		"long past it, invalid, nobody asked":  {changes{state(validationFailed), broken, active(10), ray(Ray{}), now(3600)}, want{"FirstLook", validationFailed, run, "", poll}},
		"suspended, nobody asked":              {changes{spec(suspend), ray(Ray{})}, want{"FirstLook", running, run, "", poll}},
		"suspended, the cluster is gone":       {changes{spec(suspend), ray(Ray{}), cluster(Cluster{})}, want{"Suspend", suspending, run, "", nil}},
		"stopped before the deadline": {
			changes{active(10), finished(9), ray(Ray{AskedAt: at(12), Status: halted, EndTime: at(9)}), now(13)},
			want{"JobEnded", complete, halted, "", nil},
		},
		"past the deadline, never seen":       {changes{active(10), unseen, unknown(10)}, want{"DeadlineExceeded", running, none, rayv1.DeadlineExceeded, poll}},
		"past the deadline, no cluster":       {changes{active(10), unseen, ray(Ray{}), cluster(Cluster{}), submitter(Submitter{})}, want{"DeadlineExceeded", failed, none, rayv1.DeadlineExceeded, nil}},
		"the dashboard fails":                 {changes{unreachable(9, 9)}, want{"Watch", running, run, "", serve}},
		"the dashboard fails for too long":    {changes{unreachable(5, 300), now(305), retries(1)}, want{"StatusCheckTimeout", running, run, rayv1.JobStatusCheckTimeoutExceeded, poll}},
		"the dashboard fails almost too long": {changes{unreachable(5, 300), now(304)}, want{"Watch", running, run, "", serve}},
		"it failed while the operator was away": {changes{unreachable(5, 1000), now(1001), func(in *Input) { in.Ray.FailingSince = at(1000) }},
			want{"Watch", running, run, "", serve}},
		"the submitter broke, no dashboard": {changes{broke(5), unseen, unreachable(5, 300), now(305), retries(1)}, want{"StatusCheckTimeout", running, none, rayv1.SubmissionFailed, poll}},
		"the dashboard answers again":       {changes{unreachable(5, 9), says(run, 10)}, want{"Watch", running, run, "", serve}},

		"to submit":                        {changes{mode(rayv1.HTTPMode), unseen, unknown(9)}, want{"SubmissionDue", running, none, "", []Action{Poll, EnsureHeadService, Submit}}},
		"to submit, not asked yet":         {changes{mode(rayv1.HTTPMode), unseen, ray(Ray{})}, want{"Watch", running, none, "", serve}},
		"to submit, no answer":             {changes{mode(rayv1.HTTPMode), unseen, unreachable(9, 9)}, want{"Watch", running, none, "", serve}},
		"submitted, no answer":             {changes{mode(rayv1.HTTPMode), unseen, says(rayv1.JobStatusPending, 9)}, want{"Watch", running, rayv1.JobStatusPending, "", serve}},
		"Ray refuses":                      {changes{mode(rayv1.HTTPMode), unseen, unknown(9), func(in *Input) { in.Submit = Command{Done: true, Refused: true} }}, want{"SubmissionFailed", failed, none, rayv1.SubmissionFailed, nil}},
		"Ray refuses, with retries":        {changes{mode(rayv1.HTTPMode), unseen, unknown(9), retries(3), func(in *Input) { in.Submit = Command{Done: true, Refused: true} }}, want{"SubmissionFailed", failed, none, rayv1.SubmissionFailed, nil}},
		"Ray refuses a second time":        {changes{mode(rayv1.HTTPMode), func(in *Input) { in.Submit = Command{Done: true, Refused: true} }}, want{"Watch", running, run, "", serve}},
		"submitted, not asked since":       {changes{mode(rayv1.HTTPMode), unseen, unknown(8), submitted(9)}, want{"Watch", running, none, "", []Action{EnsureHeadService, Poll, Refresh}}},
		"submitted, and lost":              {changes{mode(rayv1.HTTPMode), unseen, unknown(9), submitted(8), retries(1)}, want{"RecordLost", retrying, none, rayv1.AppFailed, nil}},
		"submitting failed, not asked yet": {changes{mode(rayv1.HTTPMode), unseen, unknown(8), submitFails(9)}, want{"Watch", running, none, "", []Action{EnsureHeadService, Poll, Refresh}}},
		"submitting failed, not accepted":  {changes{mode(rayv1.HTTPMode), unseen, unknown(9), submitFails(8)}, want{"SubmissionDue", running, none, "", []Action{Poll, EnsureHeadService, Submit}}},
		"submitting failed, but accepted": {changes{mode(rayv1.HTTPMode), unseen, says(run, 2000), submitFails(8), now(2000), func(in *Input) {
			in.Job.Status.JobStatusCheckFailureStartTime = stamp(8)
		}}, want{"Watch", running, run, "", serve}},
		"too late for what was submitted": {changes{mode(rayv1.HTTPMode), unseen, active(9), unknown(9), submitted(9)}, want{"DeadlineExceeded", running, none, rayv1.DeadlineExceeded, poll}},
		"too late for what is being submitted": {changes{mode(rayv1.HTTPMode), unseen, active(9), unknown(9), func(in *Input) { in.Submit = Command{Asked: true} }},
			want{"DeadlineExceeded", running, none, rayv1.DeadlineExceeded, poll}},
		"too late for what was not submitted": {changes{mode(rayv1.HTTPMode), unseen, active(9), unknown(9)}, want{"DeadlineExceeded", failed, none, rayv1.DeadlineExceeded, nil}},

		"submitting fails for long, and is tried again": {changes{mode(rayv1.HTTPMode), unseen, unknown(300), now(310), func(in *Input) { in.Submit = Command{FailingSince: at(5)} }},
			want{"StatusCheckTimeout", failed, none, rayv1.JobStatusCheckTimeoutExceeded, nil}},
		"submitting fails for long": {changes{mode(rayv1.HTTPMode), unseen, unknown(300), now(310), submitFails(5)},
			want{"StatusCheckTimeout", failed, none, rayv1.JobStatusCheckTimeoutExceeded, nil}},

		"suspending, the job runs":       {changes{state(suspending)}, want{"JobToStop", suspending, run, "", []Action{Stop}}},
		"suspending, the job is stopped": {changes{state(suspending), stopped(9)}, want{"ChildrenLeft", suspending, run, "", []Action{DeleteCluster, DeleteSubmitter}}},
		"suspending, the job saves":      {changes{state(suspending), stopped(9), grace}, want{"JobEnds", suspending, run, "", []Action{Poll}}},
		"suspending, the job has saved":  {changes{state(suspending), stopped(9), grace, says(halted, 10)}, want{"ChildrenLeft", suspending, run, "", []Action{DeleteCluster, DeleteSubmitter}}},
		"suspending, saves for too long": {changes{state(suspending), stopped(9), grace, now(44)}, want{"ChildrenLeft", suspending, run, "", []Action{DeleteCluster, DeleteSubmitter}}},
		"suspending, Ray goes meanwhile": {changes{state(suspending), stopped(9), grace, unreachable(5, 9)}, want{"ChildrenLeft", suspending, run, "", []Action{DeleteCluster, DeleteSubmitter}}},
		"suspending, no dashboard":       {changes{state(suspending), unreachable(5, 9)}, want{"ChildrenLeft", suspending, run, "", []Action{DeleteCluster, DeleteSubmitter}}},
		"suspending, the cluster goes":   {changes{state(suspending), cluster(Cluster{Found: true, Deleting: true}), submitter(Submitter{})}, want{"ChildrenLeft", suspending, run, "", nil}},
		"suspending, the Job is left":    {changes{state(suspending), cluster(Cluster{})}, want{"ChildrenLeft", suspending, run, "", []Action{DeleteSubmitter}}},
		"suspending, all gone":           {changes{state(suspending), cluster(Cluster{}), submitter(Submitter{})}, want{"Suspended", suspended, none, "", []Action{Release}}},
		"suspended still":                {changes{state(suspended), jobStatus(""), spec(suspend)}, want{"Suspended", suspended, none, "", nil}},
		"resumed":                        {changes{state(suspended), jobStatus("")}, want{"Resume", newJob, none, "", nil}},
		"retrying":                       {changes{state(retrying), jobStatus(bad), spec(suspend)}, want{"ChildrenLeft", retrying, bad, "", []Action{DeleteCluster, DeleteSubmitter}}},
		"retrying, HTTP":                 {changes{state(retrying), jobStatus(bad), mode(rayv1.HTTPMode), submitter(Submitter{Found: true}), cluster(Cluster{})}, want{"Retry", newJob, none, "", []Action{Release}}},
		"retrying, all gone":             {changes{state(retrying), jobStatus(bad), cluster(Cluster{}), submitter(Submitter{})}, want{"Retry", newJob, none, "", []Action{Release}}},
		"retrying, too soon":             {changes{state(retrying), jobStatus(bad), cluster(Cluster{}), submitter(Submitter{}), now(1)}, want{"Pause", retrying, bad, "", nil}},

		"invalid still":              {changes{state(validationFailed), broken}, want{"Invalid", validationFailed, run, rayv1.ValidationFailed, poll}},
		"invalid, past the deadline": {changes{state(validationFailed), broken, active(10), says(run, 10)}, want{"DeadlineExceeded", validationFailed, run, rayv1.DeadlineExceeded, poll}},
		"invalid, and suspended":     {changes{state(validationFailed), broken, spec(suspend)}, want{"Suspend", suspending, run, "", nil}},
		"invalid, new and suspended": {changes{state(validationFailed), broken, spec(suspend), func(in *Input) { in.Job.Status = rayv1.RayJobStatus{JobDeploymentStatus: validationFailed} }}, want{"Invalid", validationFailed, none, rayv1.ValidationFailed, nil}},
		"invalid, and succeeded":     {changes{state(validationFailed), broken, says(ok, 9), finished(8)}, want{"JobEnded", complete, ok, "", nil}},
		"invalid, submitter hangs":   {changes{state(validationFailed), broken, says(ok, 304), now(305)}, want{"JobEndedSubmitterHangs", complete, ok, late, []Action{KillSubmitter}}},
		"invalid, failed, it hangs":  {changes{state(validationFailed), broken, says(bad, 304), now(305)}, want{"JobFailedSubmitterHangs", failed, bad, late, []Action{KillSubmitter}}},
		"repaired, running":          {changes{state(validationFailed)}, want{"RepairedRunning", running, run, "", nil}},
		"repaired, initializing":     {changes{young, state(validationFailed)}, want{"RepairedInitializing", initializing, none, "", nil}},
		"repaired, waiting":          {changes{state(validationFailed), unseen, mode(rayv1.InteractiveMode), func(in *Input) { in.Job.Status.JobId = "" }}, want{"RepairedWaiting", waiting, none, "", nil}},
		"repaired, new":              {changes{state(validationFailed), func(in *Input) { in.Job.Status = rayv1.RayJobStatus{JobDeploymentStatus: validationFailed} }}, want{"Repaired", newJob, none, "", nil}},
		"was complete":               {changes{state(validationFailed), broken, jobStatus(ok), func(in *Input) { in.Job.Status.EndTime = stamp(8) }}, want{"CompletedBefore", complete, ok, "", nil}},
		"was failed":                 {changes{state(validationFailed), broken, jobStatus(bad), func(in *Input) { in.Job.Status.EndTime = stamp(8) }}, want{"FailedBefore", failed, bad, "", nil}},

		"at the end, suspended": {changes{state(complete), jobStatus(ok), spec(suspend), broken}, want{"CleanUp", complete, ok, "", []Action{Release, DeleteCluster}}},
		"in a state of others":  {changes{state("Sleeping"), jobStatus("")}, want{"Begin", initializing, none, "", []Action{EnsureFinalizer}}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			in := input(tc.in...)
			before := in.Job.DeepCopy()
			p := Next(in)
			got := want{p.Rule, p.Status.JobDeploymentStatus, p.Status.JobStatus, p.Status.Reason, p.Actions}
			if diff := cmp.Diff(tc.want, got, cmp.AllowUnexported(want{})); diff != "" {
				t.Errorf("plan (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(before, in.Job); diff != "" {
				t.Errorf("planning changed the job (-want +got):\n%s", diff)
			}
		})
	}
}

func TestBeginKeepsNames(t *testing.T) {
	in := input(state(newJob), jobStatus(""), func(in *Input) {
		in.Job.Status = rayv1.RayJobStatus{Failed: new(int32(1)), EndTime: stamp(3)}
	})
	got := Next(in).Status
	wantStatus := rayv1.RayJobStatus{
		JobId: "demo-ccccc", RayClusterName: "demo-ccccc", JobDeploymentStatus: initializing, StartTime: stamp(10), Failed: new(int32(1)), EndTime: stamp(3),
	}
	if diff := cmp.Diff(wantStatus, got); diff != "" {
		t.Errorf("status (-want +got):\n%s", diff)
	}
	in.Job.Status = got
	in.Job.Status.JobDeploymentStatus = newJob
	in.Suffix = func() string { return "other" }
	if again := Next(in).Status; again.JobId != got.JobId || again.RayClusterName != got.RayClusterName {
		t.Errorf("names changed: %+v", again)
	}
	chosen := input(state(newJob), spec(selects), spec(func(s *rayv1.RayJobSpec) { s.JobId = "mine" }), func(in *Input) { in.Job.Status = rayv1.RayJobStatus{} })
	if s := Next(chosen).Status; s.JobId != "mine" || s.RayClusterName != "shared" {
		t.Errorf("got %+v", s)
	}
	if s := Next(input(state(newJob), mode(rayv1.InteractiveMode), func(in *Input) { in.Job.Status = rayv1.RayJobStatus{} })).Status; s.JobId != "" {
		t.Errorf("want no id in InteractiveMode, got %s", s.JobId)
	}
}

func TestAttemptsAreCounted(t *testing.T) {
	in := input(says(rayv1.JobStatusFailed, 9), finished(8), retries(2))
	var outcomes []rayv1.JobDeploymentStatus
	for range 3 {
		p := Next(in)
		outcomes = append(outcomes, p.Status.JobDeploymentStatus)
		in.Job.Status.Failed, in.Job.Status.Succeeded = p.Status.Failed, p.Status.Succeeded
		if (p.Status.EndTime != nil) != (p.Status.JobDeploymentStatus == failed) {
			t.Errorf("end %v in state %s", p.Status.EndTime, p.Status.JobDeploymentStatus)
		}
	}
	if diff := cmp.Diff([]rayv1.JobDeploymentStatus{retrying, retrying, failed}, outcomes); diff != "" {
		t.Errorf("outcomes (-want +got):\n%s", diff)
	}
	if *in.Job.Status.Failed != 3 || *in.Job.Status.Succeeded != 0 {
		t.Errorf("failed %d, succeeded %d", *in.Job.Status.Failed, *in.Job.Status.Succeeded)
	}
	s := Next(input(says(rayv1.JobStatusSucceeded, 9), finished(8), func(in *Input) { in.Job.Status.Failed = new(int32(1)) })).Status
	if *s.Failed != 1 || *s.Succeeded != 1 || s.Message != "from Ray" || s.RayJobStatusInfo.EndTime == nil {
		t.Errorf("got %+v", s)
	}
	if s := Next(input(says(rayv1.JobStatusStopped, 9), finished(8))).Status; *s.Failed != 0 || *s.Succeeded != 0 {
		t.Errorf("a job that was stopped counts: %+v", s)
	}
}

// TestPreviousAttemptsAreKept: those that were retried, the last ones, also when the next attempt begins.
func TestPreviousAttemptsAreKept(t *testing.T) {
	in := input(says(rayv1.JobStatusFailed, 9), finished(8), retries(12))
	for n := range int32(12) {
		in.Job.Status.JobId = fmt.Sprint("attempt-", n+1)
		p := Next(in)
		in.Job.Status.Failed, in.Job.Status.PreviousAttempts = p.Status.Failed, p.Status.PreviousAttempts
	}
	last := Next(in).Status
	list := last.PreviousAttempts
	if last.JobDeploymentStatus != failed || len(list) != 10 || list[0].Attempt != 3 || list[0].JobId != "attempt-3" || list[9].Attempt != 12 {
		t.Fatalf("%s with %+v", last.JobDeploymentStatus, list)
	}
	a := list[9]
	if a.RayClusterName != in.Job.Status.RayClusterName || a.Reason != rayv1.AppFailed || !a.StartTime.Equal(in.Job.Status.StartTime) || !a.EndTime.Time.Equal(in.Now.Truncate(time.Second)) {
		t.Errorf("got %+v", a)
	}
	next := input(state(retrying), jobStatus(rayv1.JobStatusFailed), cluster(Cluster{}), submitter(Submitter{}), func(in *Input) { in.Job.Status.PreviousAttempts = list })
	if p := Next(next); p.Rule != "Retry" || len(p.Status.PreviousAttempts) != 10 {
		t.Errorf("%s keeps %+v", p.Rule, p.Status.PreviousAttempts)
	}
}

func TestRetriesAreSpacedOut(t *testing.T) {
	gone := []func(*Input){state(retrying), jobStatus(rayv1.JobStatusFailed), cluster(Cluster{}), submitter(Submitter{})}
	for failures, wait := range map[int32]time.Duration{1: 2 * time.Second, 2: 4 * time.Second, 5: 32 * time.Second, 30: 5 * time.Minute} {
		in := input(append(gone, now(0), func(in *Input) { in.Job.Status.Failed = &failures })...)
		if p := Next(in); p.Rule != "Pause" || p.After != wait {
			t.Errorf("after %d failures: want to wait %v, got %s %v", failures, wait, p.Rule, p.After)
		}
		in.Now = in.Now.Add(wait)
		if p := Next(in); p.Rule != "Retry" {
			t.Errorf("after %d failures and %v: got %s", failures, wait, p.Rule)
		}
	}
}

// TestLooksAgainInTime asks when the next look is, without any change.
func TestLooksAgainInTime(t *testing.T) {
	cases := map[string]struct {
		in   []func(*Input)
		want time.Duration
	}{
		"nothing to wait for":   {nil, 0},
		"the active deadline":   {[]func(*Input){active(100), preRunning(50)}, 90 * time.Second},
		"the first of two":      {[]func(*Input){young, active(100), preRunning(50)}, 40 * time.Second},
		"the submitter":         {[]func(*Input){says(rayv1.JobStatusSucceeded, 9)}, 295 * time.Second},
		"the dashboard":         {[]func(*Input){unreachable(9, 9)}, 29 * time.Second},
		"what goes first":       {givingUp(rayv1.DeadlineExceeded), 2 * time.Second},
		"one more answer":       {[]func(*Input){limited, finished(8), now(38), says(rayv1.JobStatusRunning, 20)}, time.Second},
		"after the submitter":   {[]func(*Input){finished(8), says(rayv1.JobStatusRunning, 10)}, 0},
		"the end of submitters": {[]func(*Input){limited, finished(8), says(rayv1.JobStatusRunning, 10)}, 28 * time.Second},
		"invalid, the deadline": {[]func(*Input){broken, active(100)}, 90 * time.Second},
		"suspended":             {[]func(*Input){state(suspended), spec(suspend)}, 0},
		"the name of the Job":   {[]func(*Input){young, cluster(Cluster{Found: true, Ready: true, Dashboard: "demo:8265"}), submitter(Submitter{Foreign: true})}, 10 * time.Second},
		"after a change":        {[]func(*Input){state(newJob)}, time.Millisecond},
	}
	for name, tc := range cases {
		if got := Next(input(tc.in...)).After; got != tc.want {
			t.Errorf("%s: want %v, got %v", name, tc.want, got)
		}
	}
}

// TestEdges compares the life cycle with the one that users know, and with what this package adds to it.
func TestEdges(t *testing.T) {
	known := []string{
		"> Initializing", "Initializing > Suspending", "Initializing > Failed", "Initializing > Retrying", "Initializing > Waiting",
		"Initializing > Running", "Waiting > Running", "Waiting > Failed", "Waiting > Retrying", "Running > Suspending", "Running > Complete",
		"Running > Failed", "Running > Retrying", "Retrying >", "Suspending > Suspended", "Suspended >", "> ValidationFailed",
		"Initializing > ValidationFailed", "Waiting > ValidationFailed", "Running > ValidationFailed",
		// Transitions that only this operator has.
		"Waiting > Suspending", "ValidationFailed >", "ValidationFailed > Initializing", "ValidationFailed > Waiting", "ValidationFailed > Running", "ValidationFailed > Suspending",
		"ValidationFailed > Failed", "ValidationFailed > Complete", "ValidationFailed > Retrying",
	}
	var got []string
	for _, e := range Edges() {
		edge := strings.TrimSpace(string(e.From) + " > " + string(e.To))
		if !slices.Contains(got, edge) {
			got = append(got, edge)
		}
	}
	slices.Sort(known)
	slices.Sort(got)
	if diff := cmp.Diff(known, got); diff != "" {
		t.Errorf("edges (-want +got):\n%s", diff)
	}
}

// TestFailureTimer starts with the first failure, outlives the process that saw it, and ends with an answer.
func TestFailureTimer(t *testing.T) {
	persisted := func(in *Input) { in.Job.Status.JobStatusCheckFailureStartTime = stamp(3) }
	http := []func(*Input){mode(rayv1.HTTPMode), unseen}
	cases := map[string]struct {
		in   []func(*Input)
		want *metav1.Time
	}{
		"it fails":                       {[]func(*Input){ray(Ray{FailingSince: at(7), FailedAt: at(9)})}, stamp(7)},
		"it fails still":                 {[]func(*Input){unreachable(7, 9), persisted}, stamp(3)},
		"nobody asked since a restart":   {[]func(*Input){ray(Ray{}), persisted}, stamp(3)},
		"it answers":                     {[]func(*Input){persisted}, nil},
		"it answers, not knowing":        {append(http, unknown(9), persisted), nil},
		"it does not take the job":       {append(http, unknown(9), submitFails(8)), stamp(8)},
		"it took the job all the same":   {append(http, says(rayv1.JobStatusPending, 9), submitFails(8), persisted), nil},
		"it takes the job, second trial": {append(http, unknown(7), submitted(9), persisted), nil},
	}
	for name, tc := range cases {
		if diff := cmp.Diff(tc.want, Next(input(tc.in...)).Status.JobStatusCheckFailureStartTime); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestMessageOfAnExpiredCluster(t *testing.T) {
	const suspended = "RayCluster demo-bbbbb is suspended: nothing has run; resume it to submit a job"
	const deleted = "RayCluster demo-bbbbb was deleted: nothing has run"
	if got := Next(input(awaits, expired(true))); got.Status.Message != suspended || got.Waits != "" {
		t.Errorf("suspended: %q, waits for %q", got.Status.Message, got.Waits)
	}
	resumed := input(awaits, expired(true), cluster(Cluster{Found: true}))
	resumed.Job.Status.Message = suspended
	if got := Next(resumed); got.Status.Message != "" || got.Waits != "spec.jobId" {
		t.Errorf("resumed: %q, waits for %q", got.Status.Message, got.Waits)
	}
	if got := Next(input(awaits, expired(false))).Status.Message; got != deleted {
		t.Errorf("deleted: %q", got)
	}
	if st := Next(input(mode(rayv1.InteractiveMode), unseen, unreachable(5, 9), expired(true))).Status; st.Message != suspended || st.JobStatusCheckFailureStartTime != nil {
		t.Errorf("not submitted: %q, unreachable since %v", st.Message, st.JobStatusCheckFailureStartTime)
	}
}
