package verb

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	raygate "github.com/raygate/raygate/clients/go"
	"github.com/raygate/raygate/cmd/raygate/internal/connect"
	"github.com/raygate/raygate/cmd/raygate/internal/kind"
	"github.com/raygate/raygate/cmd/raygate/internal/output"
)

type deleteCommand struct {
	selection
	files         []string
	all           bool
	cascade       string
	ignoreMissing bool
	effect
	output output.Flags
}

// propagations are kubectl's terms for the handling of dependents.
var propagations = map[string]string{"background": "BACKGROUND", "foreground": "FOREGROUND", "orphan": "ORPHAN"}

func newDelete(flags *connect.Flags) *cobra.Command {
	d := &deleteCommand{}
	cmd := &cobra.Command{
		Use:   "delete (TYPE NAME... | TYPE/NAME... | TYPE -l SELECTOR | TYPE --all | -f FILE...)",
		Short: "Delete objects",
		Long: `Delete objects, and wait until they are deleted; --wait=false does not wait.

The cluster of a job, and the Pods of a cluster, are deleted, too.`,
		Example: `  raygate delete raycluster demo
  raygate delete jobs -l team=a --dry-run=server
  raygate delete -f manifests/ --ignore-not-found`,
		RunE: run(flags, d.run),
	}
	f := cmd.Flags()
	d.addSelection(cmd)
	f.StringSliceVarP(&d.files, "filename", "f", nil, "files and directories with the objects; - is standard input")
	f.BoolVar(&d.all, "all", false, "all objects of the type in the namespace")
	f.StringVar(&d.cascade, "cascade", "background", "deletion of dependents: background, foreground or orphan")
	f.BoolVar(&d.ignoreMissing, "ignore-not-found", false, "ignore missing objects")
	d.addEffect(f, true, "wait until the objects are deleted")
	f.StringVarP(&d.output.Form, "output", "o", "", "output format: name (default a line for each object)")
	cmd.ValidArgsFunction = completeObjects(flags, true)
	return cmd
}

func (d *deleteCommand) run(ctx context.Context, s *session, args []string) error {
	propagation, ok := propagations[d.cascade]
	if !ok {
		return fmt.Errorf("unknown --cascade=%s: use background, foreground or orphan", d.cascade)
	}
	if err := d.output.Check("", output.Name); err != nil {
		return err
	}
	validateOnly, err := d.checkEffect()
	if err != nil {
		return err
	}
	targets, err := d.targets(ctx, s, args)
	if err != nil {
		return err
	}
	if len(targets) == 0 && s.failed == 0 {
		fmt.Fprintln(s.err, "Nothing to delete.")
	}
	var going []target
	for _, t := range targets {
		if d.one(ctx, s, t, propagation, validateOnly) && !validateOnly {
			going = append(going, t)
		}
	}
	if d.wait {
		w := newWaiter(s, d.limit)
		for _, t := range going {
			w.wait(ctx, t, "deleted")
		}
	}
	return nil
}

// one deletes an object and reports whether there was one.
func (d *deleteCommand) one(ctx context.Context, s *session, t target, propagation string, validateOnly bool) bool {
	ctx, cancel := s.bounded(ctx)
	defer cancel()
	uid, err := s.client.Messages(t.Kind.Kind, t.namespace).Delete(ctx, t.Name, raygate.DeleteOptions{
		UID: t.uid, Propagation: propagation, AllowMissing: d.ignoreMissing, ValidateOnly: validateOnly,
	})
	if err != nil {
		s.fail(t.String(), err, ExitFailed)
	}
	if err != nil || uid == "" {
		return false
	}
	printDeleted(s.out, t.Ref, done("deleted", validateOnly), d.output.Form == output.Name)
	return true
}

func printDeleted(w io.Writer, r kind.Ref, operation string, short bool) {
	if short {
		fmt.Fprintf(w, "%s.ray.io/%s\n", r.Kind.Singular, r.Name)
		return
	}
	fmt.Fprintf(w, "%s.ray.io %q %s\n", r.Kind.Singular, r.Name, operation)
}

// targets are the objects that flags and arguments name.
func (d *deleteCommand) targets(ctx context.Context, s *session, args []string) ([]target, error) {
	switch {
	case len(d.files) > 0 && (len(args) > 0 || d.chooses()):
		return nil, errors.New("name the objects by files, or by type, and not both")
	case len(d.files) > 0:
		return d.inFiles(s)
	}
	refs, err := kind.ParseRefs(args)
	if err != nil {
		return nil, err
	}
	if refs[0].Name != "" {
		if d.chooses() {
			return nil, errors.New("an object that is named needs no --selector, --filter, --all and --all-namespaces")
		}
		var targets []target
		for _, r := range refs {
			targets = append(targets, target{Ref: r, namespace: s.namespace})
		}
		return targets, nil
	}
	return d.selected(ctx, s, refs)
}

// chooses reports whether a flag chooses among the objects of a type.
func (d *deleteCommand) chooses() bool { return d.given() || d.all || d.allNamespaces }

// selected are the objects of the types that the flags choose.
func (d *deleteCommand) selected(ctx context.Context, s *session, refs []kind.Ref) ([]target, error) {
	if !d.given() && !d.all {
		return nil, fmt.Errorf("name the %s to delete, or select them with -l, --filter or --all", refs[0].Kind.Plural)
	}
	if d.given() && d.all {
		return nil, errors.New("--all and a selection exclude each other")
	}
	var targets []target
	for _, r := range refs {
		ctx, cancel := s.bounded(ctx)
		items, err := list(ctx, s, r.Kind, d.selection, raygate.ListOptions{Basic: true})
		cancel()
		if err != nil {
			s.fail("listing "+r.Kind.Plural, err, ExitFailed)
			continue
		}
		for _, item := range items {
			meta := metaOf(item.Message)
			targets = append(targets, target{kind.Ref{Kind: r.Kind, Name: meta.GetName()}, meta.GetNamespace(), meta.GetUid()})
		}
	}
	return targets, nil
}

func (d *deleteCommand) inFiles(s *session) ([]target, error) {
	documents, err := readDocuments(s, d.files)
	if err != nil {
		return nil, err
	}
	var targets []target
	for _, doc := range documents {
		if nameOf(doc.message) == "" {
			return nil, fmt.Errorf("%s: it has no metadata.name", strings.TrimSpace(doc.where))
		}
		targets = append(targets, target{Ref: kind.Ref{Kind: doc.kind, Name: nameOf(doc.message)}, namespace: doc.namespace})
	}
	return targets, nil
}
