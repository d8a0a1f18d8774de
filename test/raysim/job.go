package raysim

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// How much of a log the message of a failed job repeats.
const (
	messageLines = 10
	messageBytes = 20_000
)

// job is one record. details is guarded by the mutex of the cluster.
type job struct {
	c       *Cluster
	details Details
	dir     string
	cancel  context.CancelFunc // asks the entrypoint to end; nil for jobs that run nothing
}

func (j *job) snapshot() Details {
	j.c.mu.Lock()
	defer j.c.mu.Unlock()
	return j.details
}

// accept writes the record and starts the job beside.
func (c *Cluster) accept(s submission) (string, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return "", errors.New("the head is going away")
	}
	id := s.SubmissionID
	if id == "" {
		id = newSubmissionID()
	}
	for _, j := range c.order {
		if j.details.SubmissionID != nil && *j.details.SubmissionID == id {
			return "", fmt.Errorf("job with submission_id %s already exists. Please use a different submission_id", id)
		}
	}
	now := c.opts.Now().UnixMilli()
	ctx, cancel := context.WithCancel(c.ctx)
	j := &job{
		c: c, cancel: cancel,
		dir: c.newFolder(id),
		details: Details{
			Type: TypeSubmission, SubmissionID: &id, Status: Pending, Entrypoint: s.Entrypoint, StartTime: &now,
			Message:  new("The job is accepted and has not started yet."),
			Metadata: s.Metadata, RuntimeEnv: s.RuntimeEnv,
		},
	}
	c.order = append(c.order, j)
	s.SubmissionID = id
	c.jobs.Go(func() {
		defer cancel()
		j.run(ctx, s)
	})
	return id, nil
}

// newFolder returns a folder for the job of this id. The id may be any text, and may have been used before. The caller holds c.mu.
func (c *Cluster) newFolder(id string) string {
	safe := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' || r == '_' {
			return r
		}
		return '_'
	}, id)
	c.folders++
	return filepath.Join(c.opts.Dir, fmt.Sprintf("job-%d-%s", c.folders, safe[:min(len(safe), 60)]))
}

func (j *job) logPath() string { return filepath.Join(j.dir, "job-driver.log") }

// run executes the job from PENDING to its end.
func (j *job) run(ctx context.Context, s submission) {
	if s.unfit != nil {
		j.finish(Failed, ErrorSupervisor, fmt.Sprintf("The supervisor of the job could not be started: %v.", s.unfit), nil)
		return
	}
	work := filepath.Join(j.dir, "work")
	if err := os.MkdirAll(work, 0o700); err != nil {
		j.finish(Failed, ErrorCommandStart, fmt.Sprintf("The entrypoint could not be started: %v.", err), nil)
		return
	}
	if err := j.c.unpackWorkingDir(s.WorkingDir, work); err != nil {
		j.finish(Failed, ErrorRuntimeEnv, fmt.Sprintf("The runtime environment could not be set up: %v.", err), nil)
		return
	}
	log, err := os.OpenFile(j.logPath(), os.O_CREATE|os.O_TRUNC|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		j.finish(Failed, ErrorCommandStart, fmt.Sprintf("The entrypoint could not be started: %v.", err), nil)
		return
	}
	defer log.Close()
	var env []string
	for _, key := range slices.Sorted(maps.Keys(s.EnvVars)) {
		env = append(env, key+"="+s.EnvVars[key])
	}
	code, err := j.c.opts.Run(ctx, Launch{
		SubmissionID: s.SubmissionID, Entrypoint: s.Entrypoint, Env: env, Dir: work, Output: log, Started: j.started,
	})
	switch {
	case ctx.Err() != nil:
		j.finish(Stopped, "", "The job was stopped.", nil)
	case err != nil:
		j.finish(Failed, ErrorCommandStart, fmt.Sprintf("The entrypoint could not be started: %v.", err), nil)
	case code == 0:
		j.finish(Succeeded, "", "The job has finished successfully.", &code)
	default:
		j.finish(Failed, ErrorCommand, j.failure(code), &code)
	}
}

func (j *job) started() {
	j.c.mu.Lock()
	defer j.c.mu.Unlock()
	d := &j.details
	if d.Status != Pending {
		return
	}
	d.Status = Running
	d.Message = new("The job is running.")
	d.DriverAgentHTTPAddress = new("http://" + j.c.opts.NodeIP + ":52365")
	d.DriverNodeID = new(strings.Repeat("5a", 28))
}

// finish does nothing when the job has ended already, by Update for example.
func (j *job) finish(status Status, errorType, message string, code *int) {
	j.c.mu.Lock()
	defer j.c.mu.Unlock()
	d := &j.details
	if d.Status.Terminal() {
		return
	}
	d.Status, d.Message, d.DriverExitCode = status, &message, code
	if errorType != "" {
		d.ErrorType = &errorType
	}
	d.EndTime = new(j.c.opts.Now().UnixMilli())
}

// failure is the message of a job whose entrypoint has failed: the code and the end of the log.
func (j *job) failure(code int) string {
	message := fmt.Sprintf("The entrypoint ended with exit code %d.", code)
	text, _, err := j.readLog(messageBytes)
	if err != nil || text == "" {
		return message
	}
	lines := strings.SplitAfter(strings.TrimSuffix(text, "\n"), "\n")
	lines = lines[max(0, len(lines)-messageLines):]
	return message + " The last lines of its log:\n" + strings.ToValidUTF8(strings.Join(lines, ""), "\uFFFD")
}

// requestStop reports whether there was something to stop.
func (j *job) requestStop() bool {
	j.c.mu.Lock()
	defer j.c.mu.Unlock()
	if j.details.Status.Terminal() || j.cancel == nil {
		return false
	}
	j.cancel()
	return true
}

// readLog returns the last limit bytes of the log, and whether there are more.
func (j *job) readLog(limit int64) (text string, cut bool, err error) {
	f, err := os.Open(j.logPath())
	if errors.Is(err, fs.ErrNotExist) {
		return "", false, nil
	}
	if err != nil {
		return "", false, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return "", false, err
	}
	offset := max(0, info.Size()-limit)
	data, err := io.ReadAll(io.NewSectionReader(f, offset, info.Size()-offset))
	return string(data), offset > 0, err
}

// drop removes a record; the caller holds c.mu.
func (c *Cluster) drop(j *job) {
	c.order = slices.DeleteFunc(c.order, func(o *job) bool { return o == j })
}
