package verb

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"
	"google.golang.org/protobuf/proto"

	raygate "github.com/raygate/raygate/clients/go"
	"github.com/raygate/raygate/cmd/raygate/internal/connect"
	"github.com/raygate/raygate/cmd/raygate/internal/output"
)

// modify is the common part of scale, suspend and resume.
type modify struct {
	verb, done string
	// state is the state to wait for; empty means the default.
	state  string
	do     func(ctx context.Context, m *raygate.Messages, name string, o raygate.WriteOptions) (proto.Message, error)
	output output.Flags
	effect
}

func (c *modify) add(flags *connect.Flags, cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVarP(&c.output.Form, "output", "o", "", "output format: json, yaml or name (default a line for each object)")
	c.addEffect(f, false, "wait until the change has taken effect")
	cmd.ValidArgsFunction = completeObjects(flags, true)
}

func (c *modify) run(ctx context.Context, s *session, args []string) error {
	if err := c.output.Check("", output.JSON, output.YAML, output.Name); err != nil {
		return err
	}
	refs, err := named(args)
	if err != nil {
		return err
	}
	validateOnly, err := c.checkEffect()
	if err != nil {
		return err
	}
	if c.wait && validateOnly {
		return errors.New("--wait and --dry-run exclude each other: nothing is written that could take effect")
	}
	var changed []target
	for _, r := range refs {
		if !r.Kind.Can(c.verb) {
			return fmt.Errorf("%s cannot be %s", r.Kind.Plural, c.done)
		}
		m, err := c.one(ctx, s, target{Ref: r, namespace: s.namespace}, validateOnly)
		if err != nil {
			s.fail(r.String(), err, ExitFailed)
			continue
		}
		if err := c.output.Done(s.out, output.Item{Kind: r.Kind, Message: m}, done(c.done, validateOnly)); err != nil {
			return err
		}
		changed = append(changed, target{Ref: r, namespace: s.namespace})
	}
	if c.wait {
		c.await(ctx, s, changed)
	}
	return nil
}

// await waits until the changed objects have the wanted state.
func (c *modify) await(ctx context.Context, s *session, changed []target) {
	if c.state == "" {
		waitForReady(ctx, s, changed, c.limit)
		return
	}
	w := newWaiter(s, c.limit)
	for _, t := range changed {
		if w.wait(ctx, t, c.state) {
			fmt.Fprintf(s.out, "%s is %s\n", t, c.state)
		}
	}
}

func (c *modify) one(ctx context.Context, s *session, t target, validateOnly bool) (proto.Message, error) {
	ctx, cancel := s.bounded(ctx)
	defer cancel()
	return c.do(ctx, s.client.Messages(t.Kind.Kind, t.namespace), t.Name, raygate.WriteOptions{ValidateOnly: validateOnly})
}

func newScale(flags *connect.Flags) *cobra.Command {
	o := raygate.ScaleOptions{}
	var replicas, least, most int32
	c := &modify{verb: "Scale", done: "scaled", do: func(ctx context.Context, m *raygate.Messages, name string, w raygate.WriteOptions) (proto.Message, error) {
		o.WriteOptions = w
		return m.Scale(ctx, name, o)
	}}
	cmd := &cobra.Command{
		Use:   "scale (TYPE NAME... | TYPE/NAME...) --replicas N",
		Short: "Change the size of a worker group",
		Long: `Change the size of a worker group of clusters or services: the number of workers, or the
bounds for the autoscaler. Omitted values stay.`,
		Example: `  raygate scale raycluster/demo --replicas 5
  raygate scale cluster demo --group gpu --min-replicas 0 --max-replicas 20 --wait`,
	}
	f := cmd.Flags()
	f.StringVar(&o.Group, "group", "", "name of the worker group; optional for a single group")
	numbers := map[string]*int32{"replicas": &replicas, "min-replicas": &least, "max-replicas": &most}
	f.Int32Var(&replicas, "replicas", 0, "number of workers")
	f.Int32Var(&least, "min-replicas", 0, "minimum for the autoscaler")
	f.Int32Var(&most, "max-replicas", 0, "maximum for the autoscaler")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		given := func(name string) *int32 {
			if f.Changed(name) {
				return numbers[name]
			}
			return nil
		}
		o.Replicas, o.MinReplicas, o.MaxReplicas = given("replicas"), given("min-replicas"), given("max-replicas")
		if !slices.ContainsFunc([]*int32{o.Replicas, o.MinReplicas, o.MaxReplicas}, func(n *int32) bool { return n != nil }) {
			return errors.New("give at least one of --replicas, --min-replicas and --max-replicas")
		}
		return run(flags, c.run)(cmd, args)
	}
	c.add(flags, cmd)
	return cmd
}

func newSuspend(flags *connect.Flags) *cobra.Command {
	c := &modify{verb: "Suspend", done: "suspended", state: "suspended", do: func(ctx context.Context, m *raygate.Messages, name string, o raygate.WriteOptions) (proto.Message, error) {
		return m.Suspend(ctx, name, o)
	}}
	cmd := &cobra.Command{
		Use:   "suspend (TYPE NAME... | TYPE/NAME...)",
		Short: "Suspend objects: delete their Pods, and keep the objects",
		Long: `Suspend objects. The Pods of a cluster, and the cluster of a job or service, are deleted
until you resume it. A suspended cron job creates no jobs.`,
		Example: `  raygate suspend raycluster/demo --wait`,
		RunE:    run(flags, c.run),
	}
	c.add(flags, cmd)
	return cmd
}

func newResume(flags *connect.Flags) *cobra.Command {
	c := &modify{verb: "Resume", done: "resumed", do: func(ctx context.Context, m *raygate.Messages, name string, o raygate.WriteOptions) (proto.Message, error) {
		return m.Resume(ctx, name, o)
	}}
	cmd := &cobra.Command{
		Use:     "resume (TYPE NAME... | TYPE/NAME...)",
		Short:   "Resume suspended objects",
		Long:    `Resume suspended objects. With --wait, wait until jobs are complete, and other objects ready.`,
		Example: `  raygate resume raycluster/demo --wait`,
		RunE:    run(flags, c.run),
	}
	c.add(flags, cmd)
	return cmd
}
