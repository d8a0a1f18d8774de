package verb

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/spf13/cobra"
	"google.golang.org/grpc/codes"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	raygate "github.com/raygate/raygate/clients/go"
	"github.com/raygate/raygate/clients/go/convert"
	"github.com/raygate/raygate/cmd/raygate/internal/connect"
	"github.com/raygate/raygate/cmd/raygate/internal/kind"
	"github.com/raygate/raygate/cmd/raygate/internal/submit"
	raygatev2 "github.com/raygate/raygate/proto/gen/go/raygate/v2"
)

type rerunCommand struct {
	submitCommand
	uid string
}

func newRerun(flags *connect.Flags) *cobra.Command {
	c := &rerunCommand{}
	cmd := &cobra.Command{
		Use:   "rerun (JOB | rayjob/JOB)",
		Short: "Run a RayJob again, print its log, and end as it ends",
		Long: `Create a RayJob with the spec, labels and annotations of another one, which may still
run, have ended, or be deleted. The spec of a deleted RayJob comes from the history of the
gateway. The command then does the same as "raygate submit", and has its exit codes.

The new RayJob is not suspended. If files of a folder were submitted with the RayJob, give
the folder again.`,
		Example: `  raygate rerun train
  raygate rerun rayjob/train --name train-2 --detach
  raygate rerun train --working-dir .`,
		Args: cobra.ExactArgs(1),
		RunE: run(flags, c.run),
	}
	f := cmd.Flags()
	f.StringVar(&c.Name, "name", "", "name of the new RayJob (default a generated name)")
	f.StringVar(&c.WorkingDir, "working-dir", "", "folder to upload as the working directory, or the URI of an archive that Ray fetches (default that of the RayJob)")
	f.StringVar(&c.uid, "uid", "", "UID of a deleted RayJob (default the last one of the name)")
	c.addFollowing(f)
	cmd.ValidArgsFunction = completeOne(flags, raygate.JobKind)
	return cmd
}

func (c *rerunCommand) run(ctx context.Context, s *session, args []string) error {
	t, err := jobTarget(s, args[0])
	if err != nil {
		return err
	}
	if _, err := c.takeFolder(nil, -1); err != nil {
		return err
	}
	old, err := c.old(ctx, s, t.Ref)
	if err != nil {
		s.fail(t.String(), err, ExitNotRun)
		return nil
	}
	if err := c.upload(ctx, s); err != nil {
		s.fail("uploading "+c.folder, err, ExitNotRun)
		return nil
	}
	wanted, err := submit.Rerun(old, c.Name, c.WorkingDir)
	if err != nil {
		return err
	}
	job, err := asRayJob(ctx, s, wanted)
	if err != nil {
		s.fail("creating a RayJob", err, ExitNotRun)
		return nil
	}
	c.attend(ctx, s, job)
	return nil
}

// old returns the RayJob to run again.
func (c *rerunCommand) old(ctx context.Context, s *session, ref kind.Ref) (*rayv1.RayJob, error) {
	ctx, cancel := s.bounded(ctx)
	defer cancel()
	m, err := s.of(ref.Kind).Get(ctx, ref.Name)
	switch {
	case err == nil && (c.uid == "" || c.uid == metaOf(m).GetUid()):
		return convert.RayJob.Object(m.(*raygatev2.RayJob))
	case err != nil && raygate.ProblemOf(err).Code != codes.NotFound:
		return nil, err
	}
	job, historyErr := recorded(ctx, raygatev2.NewHistoryServiceClient(s.client.Conn()), &raygatev2.GetHistoryRequest{
		Namespace: s.namespace, Kind: ref.Kind.Name, Name: ref.Name, Uid: c.uid,
	})
	if c.uid == "" && historyErr != nil {
		return nil, err
	}
	return job, historyErr
}

// recorded returns a deleted RayJob from the history.
func recorded(ctx context.Context, client raygatev2.HistoryServiceClient, req *raygatev2.GetHistoryRequest) (*rayv1.RayJob, error) {
	got, err := client.GetHistory(ctx, req)
	if err != nil {
		return nil, err
	}
	text, err := got.GetObject().MarshalJSON()
	if err != nil {
		return nil, fmt.Errorf("reading the history of RayJob %s: %w", req.GetName(), err)
	}
	job := &rayv1.RayJob{}
	if err := json.Unmarshal(text, job); err != nil {
		return nil, fmt.Errorf("reading the history of RayJob %s: %w", req.GetName(), err)
	}
	return job, nil
}
