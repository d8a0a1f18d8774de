package verb

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"time"

	"github.com/spf13/cobra"

	raygate "github.com/raygate/raygate/clients/go"
	"github.com/raygate/raygate/cmd/raygate/internal/connect"
	raygatev2 "github.com/raygate/raygate/proto/gen/go/raygate/v2"
)

type logsCommand struct {
	follow          bool
	tail            int32
	source, cluster string
	attempt         int32
	uid             string
	node, file      string
}

func newLogs(flags *connect.Flags) *cobra.Command {
	c := &logsCommand{}
	cmd := &cobra.Command{
		Use:   "logs (JOB | rayjob/JOB | --cluster CLUSTER SUBMISSION | --cluster CLUSTER --file FILE)",
		Short: "Print the log of a job or a node",
		Long: `Print the log of a job: of the last attempt of a RayJob, or of a job that was submitted to a
running cluster.

With --cluster and --file, but without a job, print a log of a node of a running cluster: of
the head or, with --node, of another Pod.

With -f the command waits for the start of the job, and follows the log through all
attempts until the job has ended. It reconnects after errors, and continues at the same
place.

If the gateway has a history store, the log can be read after the cluster or the RayJob
was deleted, also that of an earlier attempt. "raygate history" lists the attempts.

If the operator keeps logs of nodes, --file prints one of them after the attempt:
raylet.out of the head or, with --node, of another Pod. "raygate history rayjob/JOB
-o yaml" lists them under nodeLogs.`,
		Example: `  raygate logs -f train
  raygate logs train --attempt 1
  raygate logs train --tail 100
  raygate logs train --file raylet.out --node train-7k2p5-workers-worker-x4f6z
  raygate logs train --source submitter
  raygate logs -f --cluster demo raysubmit_4f3a
  raygate logs --cluster demo --file raylet.out --node demo-workers-worker-x4f6z`,
		Args: cobra.MaximumNArgs(1),
		RunE: run(flags, c.run),
	}
	f := cmd.Flags()
	f.BoolVarP(&c.follow, "follow", "f", false, "follow the log until the job has ended")
	f.Int32Var(&c.tail, "tail", -1, "number of lines from the end; -1: all")
	f.StringVar(&c.source, "source", "driver", "driver: output of the entrypoint; submitter: output of the Pod that submits the job to Ray")
	f.StringVar(&c.cluster, "cluster", "", "cluster of a submitted job or of a node; without it the job is a RayJob")
	f.Int32Var(&c.attempt, "attempt", 0, "attempt of a RayJob, from 1 (default the last one)")
	f.StringVar(&c.uid, "uid", "", "UID of a RayJob that was deleted (default the last one of the name)")
	f.StringVar(&c.file, "file", "", "log of a node, such as raylet.out: of a running cluster, or of an attempt that has ended")
	f.StringVar(&c.node, "node", "", "node of the file: name of the Pod, address, or id in Ray (default the head)")
	cmd.ValidArgsFunction = completeOne(flags, raygate.JobKind)
	return cmd
}

func (c *logsCommand) run(ctx context.Context, s *session, args []string) error {
	if err := c.check(args); err != nil {
		return err
	}
	o := raygate.LogOptions{Follow: c.follow, Source: c.source, Attempt: c.attempt, UID: c.uid, File: c.file, Node: c.node}
	if c.file != "" {
		o.Source = ""
	}
	if c.tail >= 0 {
		o.Tail = &c.tail
	}
	var err error
	var about string
	switch {
	case len(args) == 0:
		about = c.file + " of raycluster/" + c.cluster
		_, err = s.copyLog(s.client.NodeLogs(ctx, s.namespace, c.cluster, o))
	case c.cluster != "":
		o.Source, about = "", args[0]
		_, err = s.copyLog(s.client.Submissions(s.namespace, c.cluster).Logs(ctx, about, o))
	default:
		t, badName := jobTarget(s, args[0])
		if badName != nil {
			return badName
		}
		about = t.String()
		err = s.jobLogs(ctx, t, o)
	}
	if err != nil && ctx.Err() == nil {
		s.fail(about, err, ExitFailed)
		return nil
	}
	return err
}

// check refuses flags that have no meaning together.
func (c *logsCommand) check(args []string) error {
	past := c.attempt != 0 || c.uid != ""
	switch {
	case len(args) == 0 && (c.cluster == "" || c.file == ""):
		return errors.New("name a job, or a log of a node with --cluster and --file")
	case past && c.follow:
		return errors.New("--follow goes through all attempts of a RayJob: leave out --attempt and --uid")
	case past && c.cluster != "":
		return errors.New("--attempt and --uid are of RayJobs: leave out --cluster")
	case c.tail < -1:
		return errors.New("--tail must not be negative")
	case c.cluster != "" && c.source != "driver":
		return errors.New("what is submitted to a running cluster has no submitter: --source and --cluster exclude each other")
	}
	return c.checkFile(args)
}

// checkFile refuses flags that have no meaning for the log of a node.
func (c *logsCommand) checkFile(args []string) error {
	switch {
	case c.node != "" && c.file == "":
		return errors.New("--node needs --file, such as raylet.out")
	case c.file != "" && (c.follow || c.source != "driver"):
		return errors.New("--file is a log of a node as it is now: leave out --follow and --source")
	case c.file != "" && c.cluster != "" && len(args) > 0:
		return errors.New("--file is a log of a node, which no submission has: leave out the submission or --cluster")
	}
	return nil
}

// jobTarget reads NAME or TYPE/NAME of a RayJob.
func jobTarget(s *session, arg string) (target, error) {
	ref, err := namedOne("rayjob", arg)
	if err == nil && !ref.Kind.Can("Stop") {
		err = fmt.Errorf("%s have no logs of their own: name a RayJob", ref.Kind.Plural)
	}
	return target{Ref: ref, namespace: s.namespace}, err
}

// copyLog prints a log and returns the number of bytes of it, like io.Copy.
func (s *session) copyLog(log iter.Seq2[[]byte, error]) (int, error) {
	printed := 0
	for part, err := range log {
		if err != nil {
			return printed, err
		}
		s.progress.Clear()
		n, err := s.out.Write(part)
		printed += n
		if err != nil {
			return printed, fmt.Errorf("writing the log: %w", err)
		}
	}
	return printed, nil
}

// Reasons of errors of logs. The first two mean that there is no log yet; the third that a head is busy, as at the start of a job, or lost.
const (
	reasonNotStarted  = "JOB_NOT_STARTED"
	reasonNotReady    = "LOG_NOT_READY"
	reasonDashboard   = "DASHBOARD_UNAVAILABLE"
	reasonClusterGone = "CLUSTER_GONE"
	reasonForbidden   = "FORBIDDEN"
)

// jobLogs prints the log of a RayJob. If it is followed, it prints the log of each attempt until the job has ended.
func (s *session) jobLogs(ctx context.Context, t target, o raygate.LogOptions) error {
	if !o.Follow {
		return s.jobLog(ctx, t, o)
	}
	if err := s.exists(ctx, t); err != nil {
		return err
	}
	var gone error // the cluster of an attempt may go before its log was read
	_, err := (&rayJob{s, t}).attempts(ctx, func(*raygatev2.RayJob) error {
		if gone != nil {
			s.progress.Note("The log broke off: " + firstLine(reasonOf(gone)))
		}
		err := s.jobLog(ctx, t, o)
		o.Tail, gone = nil, nil // the tail is of the first alone
		if raygate.ProblemOf(err).Reason == reasonClusterGone {
			gone, err = err, nil
		}
		return err
	})
	if err == nil {
		err = gone
	}
	if raygate.ProblemOf(err).Reason == reasonForbidden {
		return s.jobLog(ctx, t, o) // a caller who may get the job may read its log, even without the right to watch for another attempt
	}
	return err
}

// exists returns an error if the object does not exist, because there is nothing to wait for.
func (s *session) exists(ctx context.Context, t target) error {
	ctx, cancel := s.bounded(ctx)
	defer cancel()
	_, err := s.client.Messages(t.Kind.Kind, t.namespace).Get(ctx, t.Name)
	return err
}

// jobLog prints the log of a RayJob's present attempt. When it is followed, its beginning is waited for.
func (s *session) jobLog(ctx context.Context, t target, o raygate.LogOptions) error {
	for ended := false; ; {
		printed, err := s.copyLog(s.client.JobLogs(ctx, t.namespace, t.Name, o))
		if err == nil || !o.Follow || ended || !mayBegin(raygate.ProblemOf(err).Reason, printed) {
			return err
		}
		if ended, err = s.awaitLog(ctx, t, err); err != nil {
			return err
		}
	}
}

// mayBegin reports whether a log whose reading failed after so many bytes may begin later.
func mayBegin(reason string, printed int) bool {
	return reason == reasonNotStarted || reason == reasonNotReady || reason == reasonDashboard && printed == 0
}

// awaitLog waits before another request for a log that has not begun, and reports whether the job has ended; there may be a log all the same.
func (s *session) awaitLog(ctx context.Context, t target, why error) (ended bool, err error) {
	reason := raygate.ProblemOf(why).Reason
	if reason == reasonDashboard {
		s.progress.Note("The log has not begun: " + firstLine(reasonOf(why)))
	}
	if reason == reasonNotReady {
		s.progress.Show(t.String() + ": waiting for the log")
	} else if err := newWaiter(s, waitLimit{}).quietly(ctx, t, "ready"); raygate.ProblemOf(err).Reason == reasonNever {
		ended = true
	} else if err != nil {
		return false, err
	}
	select {
	case <-time.After(time.Second / 2):
		return ended, nil
	case <-ctx.Done():
		return ended, ctx.Err()
	}
}
