package verb

import (
	"context"
	"errors"
	"strconv"

	"github.com/spf13/cobra"
	"google.golang.org/protobuf/proto"

	raygate "github.com/raygate/raygate/clients/go"
	"github.com/raygate/raygate/cmd/raygate/internal/connect"
	"github.com/raygate/raygate/cmd/raygate/internal/kind"
	"github.com/raygate/raygate/cmd/raygate/internal/output"
	raygatev2 "github.com/raygate/raygate/proto/gen/go/raygate/v2"
)

// metaOf returns the metadata of an object.
func metaOf(m proto.Message) *raygatev2.ObjectMeta {
	if o, ok := m.(interface{ GetMetadata() *raygatev2.ObjectMeta }); ok {
		return o.GetMetadata()
	}
	return nil
}

type watch struct {
	selection
	output output.Flags
}

func newWatch(flags *connect.Flags) *cobra.Command {
	w := &watch{}
	cmd := &cobra.Command{
		Use:   "watch (TYPE [NAME] | TYPE/NAME)",
		Short: "Show objects and go on with each change",
		Long: `Show existing objects, and then each change, until Ctrl-C.

After a broken connection the command reconnects, and continues at the same place. With
-o json each line is an object {"type", "object"}; the types are ADDED, MODIFIED and DELETED.`,
		Example: `  raygate watch clusters
  raygate watch rayjob/train -o json`,
		RunE: run(flags, w.run),
	}
	w.output.Add(cmd.Flags())
	w.addSelection(cmd)
	cmd.ValidArgsFunction = completeObjects(flags, false)
	return cmd
}

func (w *watch) run(ctx context.Context, s *session, args []string) error {
	if err := w.output.Check(output.Forms...); err != nil {
		return err
	}
	refs, err := kind.ParseRefs(args)
	if err != nil {
		return err
	}
	if len(refs) != 1 {
		return errors.New("watch one type, or one object, at a time")
	}
	ref := refs[0]
	o, err := w.options(ref.Name)
	if err != nil {
		return err
	}
	w.output.WithNamespace = w.allNamespaces
	o.OnReconnect = func(err error) { s.progress.Note("Connecting again: " + reasonOf(err)) }
	printer := w.output.Events(s.out, ref.Kind)
	for event, err := range s.client.Messages(ref.Kind.Kind, w.namespace(s)).Watch(ctx, o) {
		switch {
		case errors.Is(err, context.Canceled) && ctx.Err() != nil:
			return nil // Ctrl-C is how a watch ends
		case err != nil:
			s.fail("watching "+ref.Kind.Plural, err, ExitFailed)
			return nil
		case event.Type == raygate.Reset:
			s.progress.Note("Changes may have been missed; the objects as they are now:")
		}
		if err := printer.Print(event); err != nil {
			return err
		}
	}
	return nil
}

// options returns which objects are watched. name is empty unless one is named.
func (w *watch) options(name string) (raygate.WatchOptions, error) {
	o := raygate.WatchOptions{LabelSelector: w.selector, Filter: w.filter, Basic: !w.output.Full()}
	if name == "" {
		return o, nil
	}
	if w.given() || w.allNamespaces {
		return o, errors.New("an object that is named needs no --selector, --filter and --all-namespaces")
	}
	o.Filter = filterFor(name)
	return o, nil
}

func filterFor(name string) string { return "metadata.name = " + strconv.Quote(name) }

func reasonOf(err error) string { return output.Clean(raygate.ProblemOf(err).Message) }
