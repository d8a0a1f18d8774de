package verb

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"google.golang.org/protobuf/proto"

	raygate "github.com/raygate/raygate/clients/go"
	"github.com/raygate/raygate/clients/go/convert"
	"github.com/raygate/raygate/cmd/raygate/internal/connect"
	"github.com/raygate/raygate/cmd/raygate/internal/kind"
	"github.com/raygate/raygate/cmd/raygate/internal/output"
)

// dryRun is the flag of that name.
type dryRun struct{ mode string }

func (d *dryRun) add(fs *pflag.FlagSet) {
	fs.StringVar(&d.mode, "dry-run", "none", "none, or server: check the request, but do not write")
	fs.Lookup("dry-run").NoOptDefVal = "server"
}

func (d *dryRun) server() (bool, error) {
	switch d.mode {
	case "none":
		return false, nil
	case "server":
		return true, nil
	case "client":
		return false, errors.New("--dry-run=client is `raygate validate`; use --dry-run=server to ask the gateway")
	}
	return false, fmt.Errorf("unknown --dry-run=%s: use none or server", d.mode)
}

// effect are the flags of a command that writes: whether it does, and whether and how long it waits for the effect.
type effect struct {
	dry   dryRun
	wait  bool
	limit waitLimit
}

func (e *effect) addEffect(fs *pflag.FlagSet, wait bool, usage string) {
	fs.BoolVar(&e.wait, "wait", wait, usage)
	e.limit.add(fs)
	e.dry.add(fs)
}

// checkEffect checks the flags and reports whether the gateway only validates.
func (e *effect) checkEffect() (validateOnly bool, err error) {
	if validateOnly, err = e.dry.server(); err != nil {
		return false, err
	}
	return validateOnly, e.limit.check()
}

// done returns the text for an operation that succeeded.
func done(operation string, validateOnly bool) string {
	if validateOnly {
		return operation + " (server dry run)"
	}
	return operation
}

// write is the common part of create and apply.
type write struct {
	verb  string
	files []string
	// profile is the name of the profile of the objects; empty means that of the files.
	profile string
	output  output.Flags
	effect
	apply raygate.ApplyOptions
}

func newCreate(flags *connect.Flags) *cobra.Command {
	w := &write{verb: "created"}
	cmd := &cobra.Command{
		Use:   "create {-f FILE... | TYPE NAME --profile PROFILE}",
		Short: "Create objects from files, or one from a profile",
		Long: `Create the Ray objects in YAML or JSON files. Files can contain several documents and
lists. Other objects are skipped, with a note.

All errors in an object are reported at once, with their paths. Objects without a
namespace get the current one. With -n, an object of another namespace is refused.

With --profile, the gateway adds to each object what it lacks from this profile of the
platform team. TYPE NAME is an object that has nothing but the profile, such as a cluster.`,
		Example: `  raygate create -f cluster.yaml
  helm template my-chart | raygate create -f - --dry-run=server
  raygate create -f job.yaml --wait --timeout 1h
  raygate create raycluster demo --profile a100x4`,
		RunE: run(flags, w.run),
	}
	w.add(cmd)
	cmd.Flags().StringVar(&w.profile, "profile", "", "profile of the objects (raygate profiles)")
	cmd.Args = cobra.MaximumNArgs(2)
	return cmd
}

func newApply(flags *connect.Flags) *cobra.Command {
	w := &write{verb: "applied"}
	cmd := &cobra.Command{
		Use:   "apply -f FILE...",
		Short: "Apply the fields in files to objects, or create them",
		Long: `Apply the Ray objects in YAML or JSON files by server-side apply. Kubernetes records the
manager of each field. It removes a field that you omit in the next apply. A field of
another manager is a conflict; --force-conflicts takes it over.`,
		Example: `  raygate apply -f manifests/
  raygate get raycluster/demo -o yaml | sed s/v1/v2/ | raygate apply -f - --force-conflicts`,
		RunE: run(flags, w.run),
	}
	w.add(cmd)
	cmd.Flags().StringVar(&w.apply.FieldManager, "field-manager", "raygate", "field manager, the owner of the fields")
	cmd.Flags().BoolVar(&w.apply.Force, "force-conflicts", false, "take over fields that others own")
	return cmd
}

func (w *write) add(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringSliceVarP(&w.files, "filename", "f", nil, "files and directories; - is standard input")
	f.StringVarP(&w.output.Form, "output", "o", "", "output format: json, yaml or name (default a line for each object)")
	w.addEffect(f, false, "wait until objects are ready, and jobs complete")
	cmd.Args = cobra.NoArgs
}

func (w *write) run(ctx context.Context, s *session, args []string) error {
	if err := w.output.Check("", output.JSON, output.YAML, output.Name); err != nil {
		return err
	}
	validateOnly, err := w.checkEffect()
	if err != nil {
		return err
	}
	if w.wait && validateOnly {
		return errors.New("--wait and --dry-run exclude each other: nothing is written that could become ready")
	}
	documents, err := w.documents(s, args)
	if err != nil {
		return err
	}
	var written []target
	for _, d := range documents {
		m, err := w.one(ctx, s, d, validateOnly)
		if err != nil {
			s.fail(d.where, err, ExitFailed)
			continue
		}
		if err := w.output.Done(s.out, output.Item{Kind: d.kind, Message: m}, done(w.verb, validateOnly)); err != nil {
			return err
		}
		written = append(written, target{Ref: kind.Ref{Kind: d.kind, Name: nameOf(m)}, namespace: d.namespace})
	}
	if w.wait {
		waitForReady(ctx, s, written, w.limit)
	}
	return nil
}

// documents returns the objects in the files, or the one that the arguments name, with the profile.
func (w *write) documents(s *session, args []string) (documents []*document, err error) {
	switch {
	case len(args) == 0:
		if documents, err = readDocuments(s, w.files); err != nil {
			return nil, err
		}
	case len(args) != 2 || w.profile == "" || len(w.files) > 0:
		return nil, errors.New("name files with -f, or one object and its profile, as in: raygate create raycluster demo --profile a100x4")
	default:
		k, err := kind.Named(args[0])
		if err != nil {
			return nil, err
		}
		d := &document{where: k.Singular + "/" + args[1], kind: k, namespace: s.namespace, message: k.New()}
		if err := convert.Fill(d.message, map[string]any{"metadata": map[string]any{"name": args[1]}}); err != nil {
			return nil, err
		}
		documents = append(documents, d)
	}
	for _, d := range documents {
		if meta := metaOf(d.message); w.profile != "" && meta != nil {
			if meta.Labels == nil {
				meta.Labels = map[string]string{}
			}
			meta.Labels[raygate.ProfileLabel] = w.profile
		}
	}
	return documents, nil
}

func (w *write) one(ctx context.Context, s *session, d *document, validateOnly bool) (proto.Message, error) {
	ctx, cancel := s.bounded(ctx)
	defer cancel()
	if w.verb == "created" {
		return s.client.Messages(d.kind.Kind, d.namespace).Create(ctx, d.message, raygate.CreateOptions{ValidateOnly: validateOnly})
	}
	if nameOf(d.message) == "" {
		return nil, errors.New("metadata.name: required: apply needs the name, use create with generateName")
	}
	o := w.apply
	o.ValidateOnly = validateOnly
	return s.client.Messages(d.kind.Kind, d.namespace).Apply(ctx, nameOf(d.message), d.message, o)
}

// waitForReady waits for each of the objects until it has its default condition.
func waitForReady(ctx context.Context, s *session, targets []target, limit waitLimit) {
	w := newWaiter(s, limit)
	for _, t := range targets {
		if t.Kind.Ready != "" && w.wait(ctx, t, t.Kind.Ready) {
			fmt.Fprintf(s.out, "%s is %s\n", t, t.Kind.Ready)
		}
	}
}
