package verb

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"
	"sigs.k8s.io/yaml"

	raygate "github.com/raygate/raygate/clients/go"
	"github.com/raygate/raygate/clients/go/convert"
	"github.com/raygate/raygate/cmd/raygate/internal/connect"
	"github.com/raygate/raygate/cmd/raygate/internal/kind"
	"github.com/raygate/raygate/cmd/raygate/internal/output"
)

// messageEvent is what a watch yields.
type messageEvent = raygate.Event[proto.Message]

// explainLimit bounds how long a command that failed looks for the reason.
const explainLimit = 10 * time.Second

type diagnoseCommand struct{ output output.Flags }

func newDiagnose(flags *connect.Flags) *cobra.Command {
	d := &diagnoseCommand{}
	cmd := &cobra.Command{
		Use:   "diagnose (TYPE NAME | TYPE/NAME)",
		Short: "Say why an object is not ready, and what to do",
		Long: `Say why an object is not ready, the most decisive reason first, and what to do about it.

For a kind that the gateway does not diagnose by itself the cluster that runs the object
is diagnosed, and the warnings that Kubernetes recorded are shown.`,
		Example: `  raygate diagnose raycluster/demo
  raygate diagnose job train`,
		RunE: run(flags, d.run),
	}
	cmd.Flags().StringVarP(&d.output.Form, "output", "o", "", "form of the output: json or yaml (default text)")
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
	if d.output.Form == "" {
		if err := tryExplain(ctx, s, t, s.out); err != nil {
			s.fail(t.String(), err, ExitFailed)
		}
		return nil
	}
	about, diagnosis, err := diagnose(ctx, s, t)
	if err != nil {
		s.fail(t.String(), err, ExitFailed)
		return nil
	}
	return printDiagnosis(s.out, d.output.Form, about, diagnosis)
}

// printDiagnosis prints a diagnosis for programs.
func printDiagnosis(w io.Writer, form string, about target, d *raygate.Diagnosis) error {
	findings := make([]any, len(d.Findings))
	for i, f := range d.Findings {
		findings[i] = convert.Tree(f)
	}
	data, err := json.MarshalIndent(map[string]any{"object": about.String(), "ready": d.Ready, "findings": findings}, "", "    ")
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

// diagnose asks for the diagnosis of an object, or of the cluster that runs it, and says of which.
func diagnose(ctx context.Context, s *session, t target) (about target, d *raygate.Diagnosis, err error) {
	if t.Kind.Can("Diagnose") {
		d, err = s.client.Messages(t.Kind.Kind, t.namespace).Diagnose(ctx, t.Name)
		return t, d, err
	}
	m, err := s.client.Messages(t.Kind.Kind, t.namespace).Get(ctx, t.Name)
	if err != nil {
		return t, nil, err
	}
	name := ""
	if t.Kind.Cluster != nil {
		name = t.Kind.Cluster(m)
	}
	if name == "" {
		return t, nil, fmt.Errorf("no cluster runs it, and the gateway diagnoses clusters: %w", raygate.ErrNoSuchMethod)
	}
	cluster, _ := kind.OfObject(raygate.ClusterKind.Name)
	about = target{Ref: kind.Ref{Kind: cluster, Name: name}, namespace: t.namespace}
	d, err = s.client.Messages(raygate.ClusterKind, t.namespace).Diagnose(ctx, name)
	return about, d, err
}

// tryExplain prints all that can be found out about an object that is not ready.
func tryExplain(ctx context.Context, s *session, t target, w io.Writer) error {
	messages := s.client.Messages(t.Kind.Kind, t.namespace)
	own := t.Kind.Can("Diagnose")
	if !own {
		m, err := messages.Get(ctx, t.Name)
		if err != nil {
			return err
		}
		fmt.Fprintf(w, "%s: %s\n", t, output.Clean(t.Kind.Summary(m)))
	}
	about, d, err := diagnose(ctx, s, t)
	switch p := raygate.ProblemOf(err); {
	case err == nil:
		output.Diagnosis(w, about.String(), d)
	case own:
		return err
	case !errors.Is(err, raygate.ErrNoSuchMethod) && p.Code != codes.NotFound: // a cluster that is gone says nothing
		return err
	}
	if own {
		return nil
	}
	events, err := messages.Events(ctx, t.Name, true)
	if err != nil {
		return err
	}
	output.Warnings(w, t.String(), events)
	return nil
}

// explain is tryExplain after another failure, about which it says nothing.
func explain(ctx context.Context, s *session, t target, w io.Writer) {
	ctx, cancel := context.WithTimeout(ctx, explainLimit)
	defer cancel()
	if err := tryExplain(ctx, s, t, w); err != nil {
		fmt.Fprintf(w, "  the reason could not be found out: %s\n", reasonOf(err))
	}
}
