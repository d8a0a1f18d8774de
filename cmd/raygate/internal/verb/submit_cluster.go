package verb

import (
	"context"
	"fmt"
	"strings"
	"time"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	raygate "github.com/raygate/raygate/clients/go"
	"github.com/raygate/raygate/cmd/raygate/internal/output"
	raygatev2 "github.com/raygate/raygate/proto/gen/go/raygate/v2"
)

// submission is a job on a running cluster.
type submission struct {
	*session
	jobs    *raygate.Submissions
	cluster string
	id      string
}

func toCluster(ctx context.Context, s *session, cluster string, wanted *raygatev2.Submission) (followed, error) {
	ctx, cancel := s.bounded(ctx)
	defer cancel()
	jobs := s.client.Submissions(s.namespace, cluster)
	made, err := jobs.Create(ctx, wanted)
	if err != nil {
		return nil, err
	}
	return &submission{session: s, jobs: jobs, cluster: cluster, id: made.GetSubmissionId()}, nil
}

func (j *submission) name() string { return "job " + j.id + " on raycluster/" + j.cluster }

func (j *submission) commands() (logs, stop string) {
	where := " -n " + j.namespace + " --cluster " + j.cluster + " " + j.id
	return "raygate logs -f" + where, "raygate stop" + where
}

func (j *submission) stop(ctx context.Context) error {
	_, err := j.jobs.Stop(ctx, j.id)
	return err
}

// pollInterval is the interval of requests for the state of a job whose log has ended.
const pollInterval = time.Second

func (j *submission) follow(ctx context.Context) (int, error) {
	j.progress.Show(j.name() + ": waiting for output")
	if _, err := j.copyLog(j.jobs.Logs(ctx, j.id, raygate.LogOptions{Follow: true})); err != nil {
		if ctx.Err() != nil {
			return 0, err
		}
		j.progress.Note("The log broke off: " + reasonOf(err))
	}
	for {
		now, err := j.jobs.Get(ctx, j.id)
		if err != nil {
			return 0, err
		}
		if code, ended := exitCodeOf(now); ended {
			if code != 0 {
				j.progress.Note(fmt.Sprintf("%s: %s: %s", j.name(), now.GetStatus(), firstLine(now.GetMessage())))
			}
			return code, nil
		}
		j.progress.Show(j.name() + ": " + now.GetStatus())
		select {
		case <-time.After(pollInterval):
		case <-ctx.Done():
			return 0, ctx.Err()
		}
	}
}

// exitCodeOf returns the exit code of a job that has ended; 1 if it failed and Ray does not know the code.
func exitCodeOf(job *raygatev2.Submission) (code int, ended bool) {
	switch rayv1.JobStatus(job.GetStatus()) {
	case rayv1.JobStatusSucceeded:
		return 0, true
	case rayv1.JobStatusFailed, rayv1.JobStatusStopped:
		if code := int(job.GetDriverExitCode()); code > 0 && code < 256 {
			return code, true
		}
		return 1, true
	}
	return 0, false
}

func firstLine(text string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(output.Clean(text)), "\n")
	return line
}
