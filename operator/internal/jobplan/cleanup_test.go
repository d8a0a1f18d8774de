package jobplan

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
)

func onJob(s rayv1.JobStatus, p rayv1.DeletionPolicyType, ttl int32) rayv1.DeletionRule {
	return rayv1.DeletionRule{Policy: p, Condition: rayv1.DeletionCondition{JobStatus: &s, TTLSeconds: ttl}}
}

func onFailed(p rayv1.DeletionPolicyType, ttl int32) rayv1.DeletionRule {
	return rayv1.DeletionRule{Policy: p, Condition: rayv1.DeletionCondition{JobDeploymentStatus: new(failed), TTLSeconds: ttl}}
}

func rules(list ...rayv1.DeletionRule) func(*Input) {
	return spec(func(s *rayv1.RayJobSpec) {
		s.ShutdownAfterJobFinishes = false
		s.DeletionStrategy = &rayv1.DeletionStrategy{DeletionRules: list}
	})
}

func legacy(success, failure rayv1.DeletionPolicyType, shutdown bool, ttl int32) func(*Input) {
	return spec(func(s *rayv1.RayJobSpec) {
		s.ShutdownAfterJobFinishes, s.TTLSecondsAfterFinished = shutdown, ttl
		s.DeletionStrategy = &rayv1.DeletionStrategy{
			OnSuccess: &rayv1.DeletionPolicy{Policy: &success}, OnFailure: &rayv1.DeletionPolicy{Policy: &failure}, //nolint:staticcheck // deprecated, and users have it
		}
	})
}

// over is a job that ended at second 100 and is looked at so many seconds after that.
func over(s rayv1.JobDeploymentStatus, job rayv1.JobStatus, after int) func(*Input) {
	return func(in *Input) {
		in.Job.Status.JobDeploymentStatus, in.Job.Status.JobStatus, in.Job.Status.EndTime = s, job, stamp(100)
		in.Now = at(100 + after)
	}
}

func action(p rayv1.DeletionPolicyType) Action {
	return map[rayv1.DeletionPolicyType]Action{
		rayv1.DeleteSelf: DeleteJob, rayv1.DeleteCluster: DeleteCluster, rayv1.DeleteWorkers: SuspendWorkers,
	}[p]
}

// assertCleanUp compares the one action besides the batch scheduler's, empty for none, and the time to the next look.
func assertCleanUp(t *testing.T, in Input, want Action, after time.Duration) {
	t.Helper()
	p := Next(in)
	wantActions := []Action{Release}
	if want != "" {
		wantActions = append(wantActions, want)
	}
	if diff := cmp.Diff(wantActions, p.Actions); diff != "" || p.After != after {
		t.Errorf("want to look again after %v, got %v; actions (-want +got):\n%s", after, p.After, diff)
	}
	if diff := cmp.Diff(in.Job.Status, p.Status); diff != "" {
		t.Errorf("status (-want +got):\n%s", diff)
	}
}

var policies = []rayv1.DeletionPolicyType{rayv1.DeleteNone, rayv1.DeleteWorkers, rayv1.DeleteCluster, rayv1.DeleteSelf}

var endings = []struct {
	state rayv1.JobDeploymentStatus
	job   rayv1.JobStatus
}{
	{complete, rayv1.JobStatusSucceeded}, {complete, rayv1.JobStatusStopped}, {complete, ""}, {failed, rayv1.JobStatusFailed}, {failed, rayv1.JobStatusStopped},
	{failed, rayv1.JobStatusRunning}, {failed, ""}, {failed, rayv1.JobStatusSucceeded},
}

// TestSingleRule has every policy under every condition with every ending, before, at and after its time.
func TestSingleRule(t *testing.T) {
	const ttl = 30
	for _, policy := range policies {
		for condition, rule := range map[string]rayv1.DeletionRule{
			"SUCCEEDED": onJob(rayv1.JobStatusSucceeded, policy, ttl), "FAILED": onJob(rayv1.JobStatusFailed, policy, ttl), "Failed": onFailed(policy, ttl),
		} {
			for _, end := range endings {
				matches := condition == string(end.job) || condition == string(end.state)
				for _, after := range []int{0, ttl - 1, ttl, ttl + 1000} {
					t.Run(fmt.Sprint(policy, " on ", condition, ": ", end.state, " ", end.job, " after ", after), func(t *testing.T) {
						var want Action
						var again time.Duration
						switch {
						case !matches:
						case after < ttl:
							again = time.Duration(ttl-after)*time.Second + margin
						default:
							want = action(policy)
						}
						assertCleanUp(t, input(over(end.state, end.job, after), rules(rule)), want, again)
					})
				}
			}
		}
	}
}

// TestTwoRules has all pairs of policies, due and not due: of those that are due the one that deletes most is carried out,
// and those that are not are waited for.
func TestTwoRules(t *testing.T) {
	for i, one := range policies {
		for j, two := range policies {
			in := input(over(failed, rayv1.JobStatusFailed, 10), rules(onJob(rayv1.JobStatusFailed, one, 5), onFailed(two, 10)))
			assertCleanUp(t, in, action(policies[max(i, j)]), 0)
			in = input(over(failed, rayv1.JobStatusFailed, 10), rules(onJob(rayv1.JobStatusFailed, one, 10), onFailed(two, 25)))
			assertCleanUp(t, in, action(one), 15*time.Second+margin)
		}
	}
}

func TestStages(t *testing.T) {
	staged := rules(onJob(rayv1.JobStatusSucceeded, rayv1.DeleteSelf, 55), onJob(rayv1.JobStatusSucceeded, rayv1.DeleteWorkers, 15), onJob(rayv1.JobStatusSucceeded, rayv1.DeleteCluster, 35))
	without := cluster(Cluster{})
	shrunk := cluster(Cluster{Found: true, Ready: true, WorkersSuspended: true})
	going := cluster(Cluster{Found: true, Deleting: true})
	for _, tc := range []struct {
		after  int
		change func(*Input)
		want   Action
		again  time.Duration
	}{
		{0, nil, "", 17 * time.Second},
		{15, nil, SuspendWorkers, 22 * time.Second},
		{16, shrunk, "", 21 * time.Second},
		{35, shrunk, DeleteCluster, 22 * time.Second},
		{36, going, "", 21 * time.Second},
		{40, without, "", 17 * time.Second},
		{55, without, DeleteJob, 0},
		{1000, nil, DeleteJob, 0}, // all at once
	} {
		in := input(over(complete, rayv1.JobStatusSucceeded, tc.after), staged)
		if tc.change != nil {
			tc.change(&in)
		}
		assertCleanUp(t, in, tc.want, tc.again)
	}
}

// TestLegacyPolicies has all pairs of policies with every ending.
func TestLegacyPolicies(t *testing.T) {
	for i, success := range policies {
		for j, failure := range policies {
			for _, end := range endings {
				want := policies[min(i, j)]
				switch {
				case end.job == rayv1.JobStatusSucceeded:
					want = success
				case end.state == failed:
					want = failure
				}
				in := input(over(end.state, end.job, 0), legacy(success, failure, false, 60)) // without shutdown the TTL does not count
				assertCleanUp(t, in, action(want), 0)
				in = input(over(end.state, end.job, 20), legacy(success, failure, true, 60))
				assertCleanUp(t, in, "", 42*time.Second)
				in.Now = at(160)
				in.DeleteJob = true // is not for policies
				assertCleanUp(t, in, action(want), 0)
			}
		}
	}
	in := input(over(complete, rayv1.JobStatusSucceeded, 0), legacy(rayv1.DeleteWorkers, rayv1.DeleteNone, false, 0), cluster(Cluster{Found: true, WorkersSuspended: true}))
	assertCleanUp(t, in, "", 0) // not once more
}

func TestShutdown(t *testing.T) {
	ttl := spec(func(s *rayv1.RayJobSpec) { s.TTLSecondsAfterFinished = 10 })
	keep := spec(func(s *rayv1.RayJobSpec) { s.ShutdownAfterJobFinishes = false })
	deleteJob := func(in *Input) { in.DeleteJob = true }
	gateOff := func(in *Input) { in.IgnoreDeletionStrategy = true }
	self := rules(onFailed(rayv1.DeleteSelf, 0), onFailed(rayv1.DeleteCluster, 0))
	cases := map[string]struct {
		in    []func(*Input)
		want  Action
		again time.Duration
	}{
		"at once":                     {nil, DeleteCluster, 0},
		"too early":                   {[]func(*Input){ttl}, "", 7 * time.Second},
		"in time":                     {[]func(*Input){ttl, now(110)}, DeleteCluster, 0},
		"the RayJob":                  {[]func(*Input){deleteJob}, DeleteJob, 0},
		"already":                     {[]func(*Input){cluster(Cluster{})}, "", 0},
		"not asked for":               {[]func(*Input){keep}, "", 0},
		"not asked for, by anybody":   {[]func(*Input){keep, deleteJob}, "", 0},
		"not of somebody else":        {[]func(*Input){spec(selects)}, "", 0},
		"not of somebody else either": {[]func(*Input){spec(selects), deleteJob}, "", 0},
		"itself, of somebody else":    {[]func(*Input){spec(selects), self}, DeleteJob, 0},
		"gate off":                    {[]func(*Input){self, gateOff}, "", 0},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			assertCleanUp(t, input(append([]func(*Input){over(failed, rayv1.JobStatusFailed, 5)}, tc.in...)...), tc.want, tc.again)
		})
	}
	p := Next(input(state(complete), jobStatus(rayv1.JobStatusSucceeded), ttl))
	if p.Status.EndTime == nil || !p.Status.EndTime.Equal(stamp(10)) || p.After != 12*time.Second {
		t.Errorf("without an end: got %v, look again after %v", p.Status.EndTime, p.After)
	}
}
