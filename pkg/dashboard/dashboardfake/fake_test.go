package dashboardfake

import (
	"errors"
	"testing"
	"time"

	clocktesting "k8s.io/utils/clock/testing"

	"github.com/raygate/raygate/pkg/dashboard"
)

func TestLifeOfAJob(t *testing.T) {
	ctx, clock := t.Context(), clocktesting.NewFakeClock(time.Unix(1000, 0))
	d := New(clock)
	job := dashboard.Submission{Entrypoint: "ls", SubmissionID: "demo"}
	d.LoseAnswers(1)
	if _, err := d.SubmitJob(ctx, job); !errors.Is(err, dashboard.ErrUnavailable) {
		t.Errorf("want the answer lost, got %v", err)
	}
	if _, err := d.SubmitJob(ctx, job); !errors.Is(err, dashboard.ErrDuplicate) || d.Submissions("demo") != 1 || d.Calls("SubmitJob") != 2 {
		t.Errorf("got %v after %d submissions", err, d.Submissions("demo"))
	}
	if err := d.DeleteJob(ctx, "demo"); err == nil {
		t.Error("deleted a job that has not ended")
	}
	d.Set("demo", dashboard.Running, "")
	clock.Step(time.Minute)
	if stopped, err := d.StopJob(ctx, "demo"); !stopped || err != nil {
		t.Errorf("got %t, %v", stopped, err)
	}
	if stopped, err := d.StopJob(ctx, "demo"); stopped || err != nil {
		t.Errorf("a second time: got %t, %v", stopped, err)
	}
	got, err := d.GetJob(ctx, "demo")
	if err != nil || got.Status != dashboard.Stopped || got.EndTime.Sub(got.StartTime) != time.Minute {
		t.Errorf("got %+v, %v", got, err)
	}
	d.Set("demo", dashboard.Succeeded, "") // too late
	if jobs, err := d.ListJobs(ctx); err != nil || len(jobs) != 1 || jobs[0].Status != dashboard.Stopped {
		t.Errorf("got %+v, %v", jobs, err)
	}
	if err := d.DeleteJob(ctx, "demo"); err != nil {
		t.Error(err)
	}
	if _, err := d.GetJob(ctx, "demo"); !errors.Is(err, dashboard.ErrNotFound) {
		t.Errorf("want %v, got %v", dashboard.ErrNotFound, err)
	}
}
