package verb

import (
	"context"
	"errors"
	"fmt"
	"time"

	"google.golang.org/protobuf/proto"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/clients/go"
	"github.com/raygate/raygate/clients/go/convert"
	"github.com/raygate/raygate/cmd/raygate/internal/kind"
	raygatev2 "github.com/raygate/raygate/proto/gen/go/raygate/v2"
)

// rayJob is a job with a cluster of its own.
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

func (j *rayJob) name() string { return j.target.String() }

func (j *rayJob) commands() (logs, stop string) {
	where := " -n " + j.target.namespace + " " + j.Name
	return "raygate logs -f" + where, "raygate stop" + where
}

// stop stops the job; one that has not started is suspended, so that it does not start.
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
	for attempt := 1; ; attempt++ {
		exit := 1
		err := j.jobLog(ctx, j.target, raygate.LogOptions{Follow: true})
		if ctx.Err() != nil {
			return 0, ctx.Err()
		}
		now, getErr := j.now(ctx)
		if getErr != nil {
			return 0, getErr
		}
		reason := raygate.ProblemOf(err).Reason
		if err != nil && reason != reasonNotStarted {
			j.progress.Note("The log broke off: " + reasonOf(err))
		}
		id := now.GetStatus().GetJobId()
		if code, known := j.exitCode(ctx, now); known {
			exit = code
		}
		settled, err := j.settle(ctx, id)
		if err != nil {
			return 0, err
		}
		state := rayv1.JobDeploymentStatus(settled.GetStatus().GetJobDeploymentStatus())
		if !state.IsTerminal() {
			j.progress.Note(fmt.Sprintf("%s: attempt %d failed, and is made again", j.target, attempt))
			continue
		}
		return j.end(ctx, settled, exit), nil
	}
}

func (j *rayJob) now(ctx context.Context) (*raygatev2.RayJob, error) {
	ctx, cancel := j.bounded(ctx)
	defer cancel()
	m, err := j.client.Messages(j.Kind.Kind, j.target.namespace).Get(ctx, j.Name)
	if err != nil {
		return nil, err
	}
	return m.(*raygatev2.RayJob), nil
}

// exitCodeLimit bounds how long Ray is asked for an exit code: the cluster may be on its way out.
const exitCodeLimit = 5 * time.Second

// exitCode asks Ray for the exit code of the present attempt, which a RayJob does not have.
func (j *rayJob) exitCode(ctx context.Context, job *raygatev2.RayJob) (code int, known bool) {
	status := job.GetStatus()
	if status.GetJobId() == "" || status.GetRayClusterName() == "" {
		return 0, false
	}
	ctx, cancel := context.WithTimeout(ctx, exitCodeLimit)
	defer cancel()
	jobs := j.client.Submissions(j.target.namespace, status.GetRayClusterName())
	for {
		said, err := jobs.Get(ctx, status.GetJobId())
		if err != nil {
			return 0, false
		}
		if code, ended := exitCodeOf(said); ended {
			return code, true
		}
		select {
		case <-time.After(pollInterval / 4):
		case <-ctx.Done():
			return 0, false
		}
	}
}

var errGone = errors.New("the RayJob was deleted before it ended")

// settle waits until the job has ended, or has a later attempt than the one with this id.
func (j *rayJob) settle(ctx context.Context, id string) (*raygatev2.RayJob, error) {
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
		state := rayv1.JobDeploymentStatus(job.GetStatus().GetJobDeploymentStatus())
		now := job.GetStatus().GetJobId()
		if state.IsTerminal() || now != id && now != "" {
			return job, nil
		}
		j.progress.Show(j.target.String() + ": " + j.Kind.Summary(proto.Message(job)))
	}
	return nil, ctx.Err()
}

// end says how the job ended and returns its exit code.
func (j *rayJob) end(ctx context.Context, job *raygatev2.RayJob, exit int) int {
	status := job.GetStatus()
	switch rayv1.JobStatus(status.GetJobStatus()) {
	case rayv1.JobStatusSucceeded:
		return 0
	case rayv1.JobStatusNew: // it never ran
		j.progress.Note(fmt.Sprintf("%s did not run: %s %s", j.target, status.GetReason(), firstLine(status.GetMessage())))
		j.progress.Clear()
		explain(ctx, j.session, j.target, j.session.err)
		return ExitNotRun
	}
	j.progress.Note(fmt.Sprintf("%s: %s %s: %s", j.target, status.GetJobDeploymentStatus(), status.GetReason(), firstLine(status.GetMessage())))
	if exit == 0 {
		return 1 // of an attempt that Ray did not see fail, such as one past its deadline
	}
	return exit
}
