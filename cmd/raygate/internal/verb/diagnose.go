package verb

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"
	"google.golang.org/protobuf/proto"
	"sigs.k8s.io/yaml"

	raygate "github.com/raygate/raygate/clients/go"
	"github.com/raygate/raygate/clients/go/convert"
	"github.com/raygate/raygate/cmd/raygate/internal/connect"
	"github.com/raygate/raygate/cmd/raygate/internal/output"
)

// messageEvent is an event of a watch.
type messageEvent = raygate.Event[proto.Message]

// explainLimit limits the time for which a failed command searches for the reason.
const explainLimit = 10 * time.Second

type diagnoseCommand struct {
	output output.Flags
	past   raygate.Run
}

func newDiagnose(flags *connect.Flags) *cobra.Command {
	d := &diagnoseCommand{}
	cmd := &cobra.Command{
		Use:   "diagnose (TYPE NAME | TYPE/NAME)",
		Short: "Say why an object is not ready, and what to do",
		Long: `Show why an object is not ready, the most important reason first, with a remedy for each.

For a job or a service, the diagnosis includes its clusters. For a service, it includes
the state of its applications in Ray Serve, and the progress of an upgrade.

If the gateway has a history store, --attempt and --uid diagnose an earlier attempt of a
RayJob, and a RayJob or RayCluster that was deleted. "raygate history" lists them.`,
		Example: `  raygate diagnose raycluster/demo
  raygate diagnose job train
  raygate diagnose job train --attempt 1
  raygate diagnose rayservice chat -o json`,
		RunE: run(flags, d.run),
	}
	f := cmd.Flags()
	f.StringVarP(&d.output.Form, "output", "o", "", "output format: json or yaml (default text)")
	f.Int32Var(&d.past.Attempt, "attempt", 0, "attempt of a RayJob, from 1 (default the last one)")
	f.StringVar(&d.past.UID, "uid", "", "UID of a RayJob or RayCluster that was deleted (default the last one of the name)")
	cmd.ValidArgsFunction = completeObjects(flags, true)
	return cmd
}

func (d *diagnoseCommand) run(ctx context.Context, s *session, args []string) error {
	if err := d.output.Check("", output.JSON, output.YAML); err != nil {
		return err
	}
	refs, err := named(args)
	if err != nil {
		return err
	}
	if len(refs) != 1 {
		return errors.New("diagnose one object at a time")
	}
	t := target{Ref: refs[0], namespace: s.namespace}
	ctx, cancel := s.bounded(ctx)
	defer cancel()
	diagnosis, err := s.client.Messages(t.Kind.Kind, t.namespace).DiagnoseRun(ctx, t.Name, d.past)
	switch {
	case errors.Is(err, raygate.ErrNoSuchMethod):
		return errors.New("--attempt is for jobs, and --uid for jobs and clusters")
	case err != nil:
		s.fail(t.String(), err, ExitFailed)
		return nil
	case d.output.Form != "":
		return printDiagnosis(s.out, d.output.Form, t, diagnosis)
	}
	output.Diagnosis(s.out, t.String(), diagnosis)
	return nil
}

// printDiagnosis prints a diagnosis for programs.
func printDiagnosis(w io.Writer, form string, about target, d *raygate.Diagnosis) error {
	findings := make([]any, len(d.Findings))
	for i, f := range d.Findings {
		findings[i] = convert.Tree(f)
	}
	return printFor(w, form, map[string]any{"object": about.String(), "ready": d.Ready, "findings": findings})
}

// printFor prints an answer that is no object, for programs.
func printFor(w io.Writer, form string, answer map[string]any) error {
	data, err := json.MarshalIndent(answer, "", "    ")
	if err != nil {
		return err
	}
	if form == output.YAML {
		if data, err = yaml.JSONToYAML(data); err != nil {
			return err
		}
		_, err = w.Write(data)
		return err
	}
	_, err = fmt.Fprintf(w, "%s\n", data)
	return err
}

// explain prints the diagnosis of an object after a failure. It ignores its own errors.
func explain(ctx context.Context, s *session, t target, w io.Writer) {
	ctx, cancel := context.WithTimeout(ctx, explainLimit)
	defer cancel()
	d, err := s.client.Messages(t.Kind.Kind, t.namespace).Diagnose(ctx, t.Name)
	if err != nil {
		fmt.Fprintf(w, "  the reason is unknown: %s\n", reasonOf(err))
		return
	}
	output.Diagnosis(w, t.String(), d)
}
