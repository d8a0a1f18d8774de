package verb

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"google.golang.org/protobuf/proto"

	raygate "github.com/raygate/raygate/clients/go"
	"github.com/raygate/raygate/cmd/raygate/internal/connect"
	"github.com/raygate/raygate/cmd/raygate/internal/kind"
	"github.com/raygate/raygate/cmd/raygate/internal/output"
)

// selection selects objects of a kind.
type selection struct {
	selector, filter string
	allNamespaces    bool
}

func (s *selection) addSelection(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVarP(&s.selector, "selector", "l", "", "label selector, for example team=a,tier!=web")
	f.StringVar(&s.filter, "filter", "", `filter expression, for example 'status.state = "ready" AND status.readyWorkerReplicas > 3'`)
	f.BoolVarP(&s.allNamespaces, "all-namespaces", "A", false, "all namespaces")
}

func (s *selection) given() bool { return s.selector != "" || s.filter != "" }

// namespace returns the namespace of the objects; empty for all.
func (s *selection) namespace(of *session) string {
	if s.allNamespaces {
		return ""
	}
	return of.namespace
}

type get struct {
	selection
	output  output.Flags
	orderBy string
	watch   bool
}

func newGet(flags *connect.Flags) *cobra.Command {
	g := &get{}
	cmd := &cobra.Command{
		Use:   "get (TYPE[,TYPE...] [NAME...] | TYPE/NAME...)",
		Short: "Show objects",
		Long: `Show the named objects, or all objects of a type in a namespace.

Types are rayclusters, rayjobs, rayservices and raycronjobs, also in the singular and
without "ray", and "all" for all of them. A named object in a queue of Kueue is shown
with its state there: whether it waits, its position, and the missing quota.`,
		Example: `  # The clusters of the namespace, with more columns
  raygate get clusters -o wide

  # One job, in a form that can be applied
  raygate get rayjob/train -o yaml

  # Clusters that are not ready, in all namespaces
  raygate get clusters -A --filter 'NOT status.state = "ready"'`,
		RunE: run(flags, g.run),
	}
	g.output.Add(cmd.Flags())
	g.addSelection(cmd)
	cmd.Flags().StringVar(&g.orderBy, "order-by", "", "name, createTime or state, with the suffix ' desc' for descending order (default by namespace and name)")
	cmd.Flags().BoolVarP(&g.watch, "watch", "w", false, "then show changes, like the command watch")
	cmd.ValidArgsFunction = completeObjects(flags, false)
	return cmd
}

func (g *get) run(ctx context.Context, s *session, args []string) error {
	if err := g.output.Check(output.Forms...); err != nil {
		return err
	}
	refs, err := kind.ParseRefs(args)
	if err != nil {
		return err
	}
	byName := refs[0].Name != ""
	switch {
	case byName && (g.given() || g.allNamespaces || g.orderBy != ""):
		return errors.New("an object that is named needs no --selector, --filter, --order-by and --all-namespaces")
	case g.watch:
		return (&watch{selection: g.selection, output: g.output}).run(ctx, s, args)
	}
	g.output.WithNamespace = g.allNamespaces
	ctx, cancel := s.bounded(ctx)
	defer cancel()
	if byName {
		return g.named(ctx, s, refs)
	}
	return g.listed(ctx, s, refs)
}

// listed shows the objects of the types that the flags choose.
func (g *get) listed(ctx context.Context, s *session, refs []kind.Ref) error {
	var items []output.Item
	for _, ref := range refs {
		found, err := g.list(ctx, s, ref.Kind)
		if err != nil {
			s.fail("listing "+ref.Kind.Plural, err, ExitFailed)
			continue
		}
		items = append(items, found...)
	}
	if len(items) == 0 && !g.output.Full() {
		if s.failed == 0 {
			fmt.Fprintln(s.err, g.nothing(s, refs))
		}
		return nil
	}
	return g.print(s, items, false)
}

func (g *get) print(s *session, items []output.Item, single bool) error {
	if g.output.Full() && slices.ContainsFunc(items, func(i output.Item) bool { return output.HasUnknown(i.Message) }) {
		fmt.Fprintln(s.err, "Warning: the gateway is newer than this program, which does not print all fields; do not apply what is printed")
	}
	return g.output.Objects(s.out, items, single)
}

// nothing returns the message for an empty result.
func (g *get) nothing(s *session, refs []kind.Ref) string {
	var names []string
	for _, ref := range refs {
		names = append(names, ref.Kind.Plural)
	}
	text := "No " + strings.Join(names, ", ") + " found"
	if g.given() {
		text += " that match"
	}
	if !g.allNamespaces {
		text += " in namespace " + s.namespace
	}
	return text + "."
}

func (g *get) named(ctx context.Context, s *session, refs []kind.Ref) error {
	var items []output.Item
	for _, ref := range refs {
		m, err := s.of(ref.Kind).Get(ctx, ref.Name)
		if err != nil {
			s.fail(ref.String(), err, ExitFailed)
			continue
		}
		items = append(items, output.Item{Kind: ref.Kind, Message: m})
	}
	if len(items) == 0 {
		return nil
	}
	if err := g.print(s, items, len(refs) == 1); err != nil {
		return err
	}
	if g.output.Form == output.Table || g.output.Form == output.Wide {
		explainQueues(ctx, s, items)
	}
	return nil
}

func (g *get) list(ctx context.Context, s *session, k *kind.Kind) ([]output.Item, error) {
	return list(ctx, s, k, g.selection, raygate.ListOptions{OrderBy: g.orderBy, Basic: !g.output.Full()})
}

// list returns the objects of a selection.
func list(ctx context.Context, s *session, k *kind.Kind, which selection, o raygate.ListOptions) ([]output.Item, error) {
	o.LabelSelector, o.Filter = which.selector, which.filter
	var items []output.Item
	for m, err := range s.client.Messages(k.Kind, which.namespace(s)).List(ctx, o) {
		if err != nil {
			return nil, err
		}
		items = append(items, output.Item{Kind: k, Message: m})
	}
	return items, nil
}

// nameOf returns the name of an object.
func nameOf(m proto.Message) string { return metaOf(m).GetName() }
