package jobplan

import (
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
	"time"

	"sigs.k8s.io/randfill"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
)

var (
	states   = []rayv1.JobDeploymentStatus{newJob, initializing, waiting, running, complete, failed, validationFailed, suspending, suspended, retrying}
	statuses = []rayv1.JobStatus{"", rayv1.JobStatusPending, rayv1.JobStatusRunning, rayv1.JobStatusSucceeded, rayv1.JobStatusFailed, rayv1.JobStatusStopped}
	modes    = []rayv1.JobSubmissionMode{rayv1.K8sJobMode, rayv1.HTTPMode, rayv1.SidecarMode, rayv1.InteractiveMode, "", "Other"}
)

func one[T any](r *rand.Rand, list []T) T { return list[r.IntN(len(list))] }

func sometimes(r *rand.Rand, t time.Time) time.Time {
	if r.IntN(2) == 0 {
		return time.Time{}
	}
	return t.Add(time.Duration(r.IntN(700)-350) * time.Second)
}

func observe(r *rand.Rand, in *Input) {
	yes := func() bool { return r.IntN(3) > 0 }
	in.Cluster = Cluster{Found: yes(), Deleting: !yes(), Ready: yes(), WorkersSuspended: !yes(), Dashboard: one(r, []string{"", "demo:8265"})}
	in.Submitter = Submitter{Found: yes(), Pods: !yes(), Foreign: !yes(), HeadLost: !yes(), HeadReturns: !yes(), FinishedSince: sometimes(r, in.Now), Failed: !yes()}
	in.Ray = Ray{AskedAt: sometimes(r, in.Now), Since: sometimes(r, in.Now), FailingSince: sometimes(r, in.Now), FailedAt: sometimes(r, in.Now)}
	if in.Ray.Unknown = !yes(); !in.Ray.Unknown && !in.Ray.AskedAt.IsZero() {
		in.Ray.Status, in.Ray.StartTime, in.Ray.EndTime = one(r, statuses), sometimes(r, in.Now), sometimes(r, in.Now)
	}
	in.Submit = Command{Asked: yes(), Done: yes(), DoneAt: sometimes(r, in.Now), Refused: !yes(), Failed: !yes()}
	in.Stop = Command{Asked: yes(), Done: yes(), DoneAt: sometimes(r, in.Now), Failed: !yes(), Missing: !yes(), FailingSince: sometimes(r, in.Now)}
	if in.EndingSince.IsZero() || !yes() {
		in.EndingSince = sometimes(r, in.Now)
	}
	in.Invalid = one(r, []string{"", "", "", "no"})
}

// FuzzNext walks through a life with anything observed on the way, an operator that is killed before it saves a status, and a
// spec of any kind.
func FuzzNext(f *testing.F) {
	for seed := range uint64(200) {
		f.Add(seed)
	}
	edges := Edges()
	f.Fuzz(func(t *testing.T, seed uint64) {
		r := rand.New(rand.NewPCG(seed, 1))
		job := &rayv1.RayJob{}
		randfill.NewWithSeed(int64(seed)).NilChance(0.5).NumElements(0, 2).MaxDepth(4).Fill(job)
		job.Spec.SubmissionMode = one(r, modes)
		job.Status.JobDeploymentStatus, job.Status.JobStatus = one(r, states), one(r, statuses)
		in := Input{Job: job, Now: start, Suffix: func() string { return "ccccc" }, Limits: DefaultLimits()}
		in.Limits.SubmitterFinished = one(r, []time.Duration{0, 30 * time.Second})
		for range 60 {
			in.Now = in.Now.Add(time.Duration(r.IntN(120)) * time.Second)
			observe(r, &in)
			job.Spec.Suspend = r.IntN(8) == 0
			before := job.DeepCopy()
			p := Next(in)
			if again := Next(in); !reflect.DeepEqual(p, again) {
				t.Fatalf("planned twice: %+v and %+v", p, again)
			}
			if !reflect.DeepEqual(before, job) {
				t.Fatal("planning changed the job")
			}
			assertSane(t, in, p, edges)
			if r.IntN(4) > 0 { // else killed
				job.Status = p.Status
			}
		}
	})
}

func assertSane(t *testing.T, in Input, p Plan, edges []Edge) {
	t.Helper()
	old, s := in.Job.Status, p.Status
	if from, to := old.JobDeploymentStatus, s.JobDeploymentStatus; from != to && !slices.Contains(edges, Edge{p.Rule, from, to}) {
		t.Errorf("no such transition: %s from %q to %q", p.Rule, from, to)
	}
	if p.Rule == "" || p.After < 0 {
		t.Errorf("rule %q, look again after %v", p.Rule, p.After)
	}
	ends := s.JobDeploymentStatus == newJob || s.JobDeploymentStatus == suspended || old.JobDeploymentStatus == newJob
	if old.JobStatus.IsTerminal() && s.JobStatus != old.JobStatus && !ends {
		t.Errorf("%s: the result %s became %q", p.Rule, old.JobStatus, s.JobStatus)
	}
	if old.JobStatus == rayv1.JobStatusSucceeded && old.JobDeploymentStatus == running && s.JobDeploymentStatus == failed {
		t.Errorf("%s: a job that succeeded failed", p.Rule)
	}
	if !ends && old.JobId != "" && s.JobId != old.JobId && p.Rule != "JobGiven" || !ends && s.RayClusterName != old.RayClusterName && old.RayClusterName != "" {
		t.Errorf("%s: the names changed from %s, %s to %s, %s", p.Rule, old.JobId, old.RayClusterName, s.JobId, s.RayClusterName)
	}
	does := func(a Action) bool { return slices.Contains(p.Actions, a) }
	if does(Submit) && (in.Job.Spec.SubmissionMode != rayv1.HTTPMode || old.JobStatus != "" || !in.Ray.Unknown) {
		t.Errorf("%s submits with mode %s, status %s", p.Rule, in.Job.Spec.SubmissionMode, old.JobStatus)
	}
	if does(Submit) && in.Submit.Done && !in.Ray.AskedAt.After(in.Submit.DoneAt) {
		t.Errorf("%s submits again without asking: %+v, %+v", p.Rule, in.Submit, in.Ray)
	}
	if len(in.Job.Spec.ClusterSelector) > 0 && (does(EnsureCluster) || does(DeleteCluster) || does(SuspendWorkers)) {
		t.Errorf("%s touches a cluster of somebody else: %v", p.Rule, p.Actions)
	}
	over := func(st rayv1.JobDeploymentStatus) bool { return st.IsTerminal() || st == retrying }
	patient := in.EndingSince.IsZero() || in.Now.Before(in.EndingSince.Add(patience))
	before := newStep(in)
	if over(s.JobDeploymentStatus) && !over(old.JobDeploymentStatus) && old.EndTime == nil && before.submitterLives() && patient && !s.JobStatus.IsTerminal() {
		t.Errorf("%s: %s with a submitter that may submit: %+v", p.Rule, s.JobDeploymentStatus, in.Submitter)
	}
	if s.JobDeploymentStatus.IsTerminal() && s.EndTime == nil {
		t.Errorf("%s: an end without a time", p.Rule)
	}
	if (does(EnsureCluster) || does(EnsureSubmitter)) && s.JobDeploymentStatus != initializing && s.JobDeploymentStatus != waiting && s.JobDeploymentStatus != running {
		t.Errorf("%s creates in state %s", p.Rule, s.JobDeploymentStatus)
	}
}

func FuzzClip(f *testing.F) {
	f.Add("é", 10000)
	f.Fuzz(func(t *testing.T, text string, n int) {
		long := text
		for len(long) < n%100000 && len(text) > 0 {
			long += text
		}
		if got := clip(long); len(got) > maxMessage || len(long) <= maxMessage && got != long {
			t.Errorf("clipped %d bytes to %d", len(long), len(got))
		}
	})
}
