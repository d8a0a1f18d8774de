package verb

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"
	"google.golang.org/protobuf/proto"

	raygate "github.com/raygate/raygate/clients/go"
	"github.com/raygate/raygate/cmd/raygate/internal/connect"
)

func newStop(flags *connect.Flags) *cobra.Command {
	var cluster string
	c := &modify{verb: "Stop", done: "asked to stop", do: func(ctx context.Context, m *raygate.Messages, name string, _ raygate.WriteOptions) (proto.Message, error) {
		return m.Stop(ctx, name)
	}}
	cmd := &cobra.Command{
		Use:   "stop (JOB... | rayjob/JOB... | --cluster CLUSTER SUBMISSION...)",
		Short: "Stop jobs; the objects stay",
		Long: `Ask Ray to stop the jobs of RayJobs, or jobs that were submitted to a running cluster.
The RayJob stays, with the state of a stopped job.`,
		Example: `  raygate stop train
  raygate stop --cluster demo raysubmit_4f3a`,
		Args: cobra.MinimumNArgs(1),
		RunE: run(flags, func(ctx context.Context, s *session, args []string) error {
			if cluster != "" {
				return stopSubmissions(ctx, s, cluster, args)
			}
			for _, arg := range args {
				t, err := jobTarget(s, arg)
				if err != nil {
					return err
				}
				if _, err := c.one(ctx, s, t, false); err != nil {
					s.fail(t.String(), err, ExitFailed)
					continue
				}
				fmt.Fprintf(s.out, "%s %s\n", t, c.done)
			}
			return nil
		}),
	}
	cmd.Flags().StringVar(&cluster, "cluster", "", "cluster of submitted jobs; without it the jobs are RayJobs")
	cmd.ValidArgsFunction = completeOne(flags, raygate.JobKind)
	return cmd
}

func stopSubmissions(ctx context.Context, s *session, cluster string, ids []string) error {
	for _, id := range ids {
		bounded, cancel := s.bounded(ctx)
		_, err := s.client.Submissions(s.namespace, cluster).Stop(bounded, id)
		cancel()
		if err != nil {
			s.fail(id, err, ExitFailed)
			continue
		}
		fmt.Fprintf(s.out, "%s asked to stop\n", id)
	}
	return nil
}

func newTrigger(flags *connect.Flags) *cobra.Command {
	var dry dryRun
	cmd := &cobra.Command{
		Use:     "trigger (CRONJOB | raycronjob/CRONJOB)",
		Short:   "Run a cron job now",
		Long:    `Create a RayJob of a cron job now, also if the cron job is suspended. At most one is created in a minute.`,
		Example: `  raygate trigger nightly`,
		Args:    cobra.ExactArgs(1),
		RunE: run(flags, func(ctx context.Context, s *session, args []string) error {
			validateOnly, err := dry.server()
			if err != nil {
				return err
			}
			ref, err := namedOne("raycronjob", args[0])
			if err != nil {
				return err
			}
			if !ref.Kind.Can("Trigger") {
				return fmt.Errorf("%s cannot be triggered", ref.Kind.Plural)
			}
			ctx, cancel := s.bounded(ctx)
			defer cancel()
			job, err := s.of(ref.Kind).Trigger(ctx, ref.Name, validateOnly)
			if err != nil {
				s.fail(ref.String(), err, ExitFailed)
				return nil
			}
			fmt.Fprintf(s.out, "rayjob.ray.io/%s %s\n", nameOf(job), done("created", validateOnly))
			return nil
		}),
	}
	dry.add(cmd.Flags())
	cmd.ValidArgsFunction = completeObjects(flags, true)
	return cmd
}
