package verb

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"time"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	raygate "github.com/raygate/raygate/clients/go"
	"github.com/raygate/raygate/clients/go/convert"
	"github.com/raygate/raygate/cmd/raygate/internal/kind"
	"github.com/raygate/raygate/cmd/raygate/internal/output"
	raygatev2 "github.com/raygate/raygate/proto/gen/go/raygate/v2"
)

// rayJob is a job with its own cluster.
type rayJob struct {
	*session
	target
}

func asRayJob(ctx context.Context, s *session, job *rayv1.RayJob) (followed, error) {
	m, err := convert.RayJob.Message(job)
	if err != nil {
		return nil, err
	}
	ctx, cancel := s.bounded(ctx)
	defer cancel()
	jobs, _ := kind.OfObject(raygate.JobKind.Name)
	made, err := s.of(jobs).Create(ctx, m, raygate.CreateOptions{})
	if err != nil {
		return nil, err
	}
	return &rayJob{s, target{Ref: kind.Ref{Kind: jobs, Name: nameOf(made)}, namespace: s.namespace}}, nil
}

func (j *rayJob) name() string { return j.String() }

func (j *rayJob) commands() (logs, stop string) {
	where := " -n " + j.target.namespace + " " + j.Name
	return "raygate logs -f" + where, "raygate stop" + where
}

// stop stops the job. A job that has not started is suspended, so that it does not start.
func (j *rayJob) stop(ctx context.Context) error {
	messages := j.client.Messages(j.Kind.Kind, j.target.namespace)
	_, err := messages.Stop(ctx, j.Name)
	if raygate.ProblemOf(err).Reason == reasonNotStarted {
		_, err = messages.Suspend(ctx, j.Name, raygate.WriteOptions{})
	}
	return err
}

// follow prints the log of each attempt, until the job has ended.
func (j *rayJob) follow(ctx context.Context) (int, error) {
	exit := 0
	settled, err := j.attempts(ctx, func(started *raygatev2.RayJob) error {
		err := j.jobLog(ctx, j.target, raygate.LogOptions{Follow: true})
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil && raygate.ProblemOf(err).Reason != reasonNotStarted {
			j.progress.Note("The log broke off: " + firstLine(reasonOf(err)))
		}
		exit = j.exitCode(ctx, started)
		return nil
	})
	if err != nil {
		return 0, err
	}
	return j.end(ctx, settled, exit), nil
}

// attempts calls each when an attempt has started, and returns the job when it has ended.
func (j *rayJob) attempts(ctx context.Context, each func(started *raygatev2.RayJob) error) (*raygatev2.RayJob, error) {
	for attempt := 1; ; attempt++ {
		// Determine the attempt before its log is read: the next one begins as soon as this one has failed.
		started, err := j.until(ctx, func(s *raygatev2.RayJobStatus) bool {
			state := rayv1.JobDeploymentStatus(s.GetJobDeploymentStatus())
			return state == rayv1.JobDeploymentStatusRunning || state.IsTerminal()
		})
		if err != nil {
			return nil, err
		}
		if err := each(started); err != nil {
			return nil, err
		}
		id := started.GetStatus().GetJobId()
		settled, err := j.until(ctx, func(s *raygatev2.RayJobStatus) bool {
			return rayv1.JobDeploymentStatus(s.GetJobDeploymentStatus()).IsTerminal() || s.GetJobId() != id && s.GetJobId() != ""
		})
		if err != nil {
			return nil, err
		}
		if rayv1.JobDeploymentStatus(settled.GetStatus().GetJobDeploymentStatus()).IsTerminal() && settled.GetStatus().GetJobId() == id {
			return settled, nil
		}
		j.progress.Note(fmt.Sprintf("%s: attempt %d has ended, and another is made", j.target, attempt))
	}
}

var errGone = errors.New("the RayJob was deleted before it ended")

// until follows the job until its status is as wanted, and shows its progress.
func (j *rayJob) until(ctx context.Context, is func(*raygatev2.RayJobStatus) bool) (*raygatev2.RayJob, error) {
	for event, err := range j.client.Messages(j.Kind.Kind, j.target.namespace).Watch(ctx, raygate.WatchOptions{Filter: filterFor(j.Name)}) {
		switch {
		case err != nil:
			return nil, err
		case event.Type == raygate.Deleted:
			return nil, errGone
		case event.Object == nil:
			continue
		}
		job := event.Object.(*raygatev2.RayJob)
		j.progress.Show(j.String() + ": " + output.Clean(j.Kind.Summary(job)))
		if is(job.GetStatus()) {
			return job, nil
		}
	}
	return nil, ctx.Err()
}

// exitCodeLimit limits the requests for an exit code: the cluster may be terminating.
const exitCodeLimit = 5 * time.Second

// exitCode requests the exit code of an attempt from Ray, because a RayJob does not have it. It returns 0 if Ray does not know it either.
func (j *rayJob) exitCode(ctx context.Context, attempt *raygatev2.RayJob) int {
	status := attempt.GetStatus()
	if status.GetJobId() == "" || status.GetRayClusterName() == "" {
		return 0
	}
	ctx, cancel := context.WithTimeout(ctx, exitCodeLimit)
	defer cancel()
	jobs := j.client.Submissions(j.target.namespace, status.GetRayClusterName())
	for {
		said, err := jobs.Get(ctx, status.GetJobId())
		if err != nil {
			return 0
		}
		if code, ended := exitCodeOf(said); ended {
			return code
		}
		select {
		case <-time.After(pollInterval / 4):
		case <-ctx.Done():
			return 0
		}
	}
}

// exitCodeIn finds the exit code in Ray's message about a failed job, because the cluster may be gone.
var exitCodeIn = regexp.MustCompile(`exit code (\d{1,3})\b`)

// end prints how the job ended and returns its exit code.
func (j *rayJob) end(ctx context.Context, job *raygatev2.RayJob, exit int) int {
	status := job.GetStatus()
	switch rayv1.JobStatus(status.GetJobStatus()) {
	case rayv1.JobStatusSucceeded:
		return 0
	case rayv1.JobStatusNew: // it never ran
		j.progress.Note(fmt.Sprintf("%s did not run: %s %s", j.target, status.GetReason(), firstLine(status.GetMessage())))
		j.progress.Clear()
		explain(ctx, j.session, j.target, j.err)
		return ExitNotRun
	}
	j.progress.Note(fmt.Sprintf("%s: %s %s: %s", j.target, status.GetJobDeploymentStatus(), status.GetReason(), firstLine(status.GetMessage())))
	if found := exitCodeIn.FindStringSubmatch(status.GetMessage()); exit <= 1 && found != nil {
		exit, _ = strconv.Atoi(found[1])
	}
	if exit < 1 || exit > 255 {
		return 1 // of an attempt that Ray did not see fail, such as one past its deadline
	}
	return exit
}
