package jobplan

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
)

// TestGivingUp walks through what an attempt leaves behind that is given up in the tenth second.
func TestGivingUp(t *testing.T) {
	const (
		run  = rayv1.JobStatusRunning
		bad  = rayv1.JobStatusFailed
		late = rayv1.DeadlineExceeded
	)
	poll, stop, remove := []Action{Poll}, []Action{Poll, Stop}, []Action{Poll, DeleteSubmitter}
	pods, none := submitter(Submitter{Pods: true}), submitter(Submitter{})
	type changes = []func(*Input)
	cases := map[string]struct {
		in      changes
		to      rayv1.JobDeploymentStatus
		ray     rayv1.JobStatus
		actions []Action
	}{
		"Ray runs the job":                         {nil, running, run, stop},
		"Ray is about to stop it":                  {changes{stopped(11), says(run, 12), now(13)}, running, run, stop},
		"Ray does not stop it":                     {changes{stopped(11), says(run, 129), now(130), pods}, failed, bad, nil},
		"it is stopped, the submitter ends":        {changes{stopped(11), says(rayv1.JobStatusStopped, 12), now(13)}, running, rayv1.JobStatusStopped, poll},
		"it is stopped, the submitter hangs":       {changes{stopped(11), says(rayv1.JobStatusStopped, 12), now(35)}, running, rayv1.JobStatusStopped, remove},
		"it is stopped, the submitter is done":     {changes{stopped(11), says(rayv1.JobStatusStopped, 12), finished(12)}, failed, rayv1.JobStatusStopped, nil},
		"it failed by itself":                      {changes{says(bad, 12), finished(12)}, failed, bad, nil},
		"it succeeded by itself":                   {changes{says(rayv1.JobStatusSucceeded, 12), finished(12)}, complete, rayv1.JobStatusSucceeded, nil},
		"Ray never had it":                         {changes{unseen, unknown(9)}, running, "", remove},
		"Ray never had it, Pods end":               {changes{unseen, unknown(9), pods}, running, "", remove},
		"Ray never had it, Pods never end":         {changes{unseen, unknown(129), pods, now(130)}, failed, "", nil},
		"Ray never had it, the submitter is gone":  {changes{unseen, unknown(9), none}, running, "", stop},
		"Ray says that it does not have it":        {changes{unseen, unknown(41), none, stopMisses(40, 40), now(41)}, running, "", stop},
		"Ray has said so for a while":              {changes{unseen, unknown(51), none, stopMisses(40, 52), now(52)}, failed, "", nil},
		"the submitter broke":                      {changes{unseen, unknown(9), broke(5)}, running, "", stop},
		"the submitter broke a while ago":          {changes{unseen, unknown(17), broke(5), now(18)}, failed, "", nil},
		"it got there all the same":                {changes{unseen, says(run, 43), none, stopMisses(40, 40), now(43)}, running, run, stop},
		"Ray has lost it":                          {changes{unknown(9)}, running, run, remove},
		"Ray has lost it, HTTP":                    {changes{mode(rayv1.HTTPMode), unknown(9)}, failed, bad, nil},
		"it is being submitted":                    {changes{mode(rayv1.HTTPMode), unseen, unknown(9), func(in *Input) { in.Submit = Command{Asked: true} }}, running, "", stop},
		"the dashboard fails":                      {changes{unreachable(5, 9)}, running, run, remove},
		"the dashboard fails, no submitter":        {changes{unreachable(5, 9), none}, running, run, stop},
		"it cannot be stopped":                     {changes{says(run, 9), none, stopFails(11, 12), now(13)}, running, run, stop},
		"it cannot be stopped for long":            {changes{says(run, 9), none, stopFails(11, 129), now(130)}, failed, bad, nil},
		"the cluster is gone":                      {changes{cluster(Cluster{})}, running, run, remove},
		"the cluster is gone, so is the submitter": {changes{cluster(Cluster{}), none}, failed, bad, nil},
		"the spec became invalid":                  {changes{state(validationFailed), broken}, validationFailed, run, stop},
		"it is suspended":                          {changes{spec(suspend)}, running, run, stop},
		"a retry would follow":                     {changes{retries(3), cluster(Cluster{}), none}, failed, bad, nil},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			p := Next(input(givingUp(late, tc.in...)...))
			reason := late
			if tc.ray == rayv1.JobStatusSucceeded {
				reason = ""
			}
			got, wanted := want{"", p.Status.JobDeploymentStatus, p.Status.JobStatus, p.Status.Reason, p.Actions}, want{"", tc.to, tc.ray, reason, tc.actions}
			if diff := cmp.Diff(wanted, got, cmp.AllowUnexported(want{})); diff != "" {
				t.Errorf("plan %s (-want +got):\n%s", p.Rule, diff)
			}
			if tc.to == running && (p.Status.Message != "why" || p.Waits == "") {
				t.Errorf("message %q, waits for %q", p.Status.Message, p.Waits)
			}
		})
	}
	p := Next(input(givingUp(rayv1.JobDeploymentStatusTransitionGracePeriodExceeded, says(rayv1.JobStatusStopped, 12), finished(12))...))
	if p.Status.JobStatus != bad {
		t.Errorf("a job that outlived its submitter is %s, and FAILED with KubeRay", p.Status.JobStatus)
	}
	p = Next(input(givingUp(late, says(run, 9), none, stopFails(11, 129), now(130))...))
	if !strings.Contains(p.Status.Message, "no route") {
		t.Errorf("message %q", p.Status.Message)
	}
}

func TestFinalize(t *testing.T) {
	cases := map[string]struct {
		in   []func(*Input)
		want bool
	}{
		"runs":                   {nil, true},
		"was not seen yet":       {[]func(*Input){unseen}, true},
		"invalid":                {[]func(*Input){state(validationFailed), broken}, true},
		"asked to stop":          {[]func(*Input){stopped(9)}, false},
		"ended":                  {[]func(*Input){jobStatus(rayv1.JobStatusSucceeded)}, false},
		"the cluster is gone":    {[]func(*Input){cluster(Cluster{})}, false},
		"not begun":              {[]func(*Input){young}, false},
		"at the end":             {[]func(*Input){state(failed), jobStatus("")}, false},
		"on a selected cluster":  {[]func(*Input){spec(selects)}, true},
		"waits for the user yet": {[]func(*Input){state(waiting), unseen, func(in *Input) { in.Job.Status.JobId = "" }}, false},
	}
	for name, tc := range cases {
		if got := len(Finalize(input(tc.in...)).Actions) > 0; got != tc.want {
			t.Errorf("%s: want %t, got %t", name, tc.want, got)
		}
	}
}
