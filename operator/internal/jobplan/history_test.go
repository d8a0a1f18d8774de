package jobplan

import (
	"slices"
	"testing"
	"time"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
)

// TestHistory shows which actions wait for the record of an attempt, and for how long.
func TestHistory(t *testing.T) {
	ended := func(in *Input) {
		in.Job.Status.JobStatus, in.Job.Status.EndTime = rayv1.JobStatusFailed, stamp(5)
		in.Job.Spec.TTLSecondsAfterFinished = 0
	}
	deleted := func(in *Input) { in.Job.DeletionTimestamp = stamp(5) }
	stopped := func(in *Input) { in.Stop = Command{Asked: true, Done: true, DoneAt: at(8)} }
	since := func(seconds int) func(*Input) {
		return func(in *Input) { in.History = History{Wanted: true, Since: at(seconds)} }
	}
	stored := func(in *Input) { in.History.Stored = true }
	finalize := func(in Input) Plan { return Finalize(in) }

	for name, tc := range map[string]struct {
		in    Input
		plan  func(Input) Plan
		want  []Action
		after time.Duration
	}{
		"end":               {input(state(failed), ended, since(10)), Next, []Action{Release, KeepHistory}, time.Minute},
		"end, stored":       {input(state(failed), ended, since(9), stored), Next, []Action{Release, DeleteCluster}, 0},
		"end, too late":     {input(state(failed), ended, since(10), now(70)), Next, []Action{Release, KeepHistory, DeleteCluster}, 0},
		"end, no store":     {input(state(failed), ended), Next, []Action{Release, DeleteCluster}, 0},
		"end, never begun":  {input(state(failed), ended, since(10), func(in *Input) { in.Job.Status.StartTime = nil }), Next, []Action{Release, DeleteCluster}, 0},
		"retry":             {input(state(retrying), ended, since(10)), Next, []Action{KeepHistory}, time.Minute},
		"retry, stored":     {input(state(retrying), ended, since(9), stored), Next, []Action{DeleteCluster, DeleteSubmitter}, 0},
		"retry, too late":   {input(state(retrying), ended, since(10), now(70)), Next, []Action{DeleteCluster, DeleteSubmitter}, 0},
		"suspend":           {input(state(suspending), stopped, since(9)), Next, []Action{KeepHistory}, 59 * time.Second},
		"suspend, too late": {input(state(suspending), stopped, since(9), now(69)), Next, []Action{DeleteCluster, DeleteSubmitter}, 0},
		"delete":            {input(deleted, stopped, since(10)), finalize, []Action{KeepHistory}, time.Minute},
		"delete, runs":      {input(deleted, since(10)), finalize, []Action{Stop}, 24 * time.Second},
		"delete, stored":    {input(deleted, stopped, since(9), stored), finalize, nil, 0},
		"delete, too late":  {input(deleted, stopped, since(9), now(70)), finalize, nil, 0},
		"delete, ended":     {input(state(failed), ended, deleted, since(10)), finalize, []Action{KeepHistory}, time.Minute},
		"delete, new":       {input(state(newJob), deleted, since(10)), finalize, nil, 0},
	} {
		t.Run(name, func(t *testing.T) {
			p := tc.plan(tc.in)
			if !slices.Equal(p.Actions, tc.want) || p.After != tc.after {
				t.Errorf("rule %s: actions %v after %v, want %v after %v", p.Rule, p.Actions, p.After, tc.want, tc.after)
			}
		})
	}
}
