package verb

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/cli-runtime/pkg/printers"

	"github.com/raygate/raygate/clients/go/convert"
	"github.com/raygate/raygate/cmd/raygate/internal/connect"
	"github.com/raygate/raygate/cmd/raygate/internal/output"
	raygatev2 "github.com/raygate/raygate/proto/gen/go/raygate/v2"
)

type profilesCommand struct{ output output.Flags }

func newProfiles(flags *connect.Flags) *cobra.Command {
	p := &profilesCommand{}
	cmd := &cobra.Command{
		Use:   "profiles",
		Short: "List the profiles of the platform team",
		Long: `List the profiles that you may use in a namespace. A profile is a piece of a RayCluster:
image, resources, queue and more. The gateway adds it to an object that names it; fields
of the object come first, except locked ones. The template and the locked fields are in
the YAML and JSON output.`,
		Example: `  raygate profiles -n team-a
  raygate create raycluster demo --profile a100x4
  raygate submit --profile a100x4 -- python train.py`,
		Args: cobra.NoArgs,
		RunE: run(flags, p.run),
	}
	cmd.Flags().StringVarP(&p.output.Form, "output", "o", output.Table, "output format: table, name, json, yaml")
	return cmd
}

func (p *profilesCommand) run(ctx context.Context, s *session, _ []string) error {
	if err := p.output.Check(output.Table, output.Name, output.JSON, output.YAML); err != nil {
		return err
	}
	ctx, cancel := s.bounded(ctx)
	defer cancel()
	all, err := s.client.Profiles(ctx, s.namespace)
	switch {
	case err != nil:
		s.fail("profiles of namespace "+s.namespace, err, ExitFailed)
		return nil
	case p.output.Full():
		return printFor(s.out, p.output.Form, convert.Tree(&raygatev2.ListProfilesResponse{Profiles: all}))
	case p.output.Form == output.Name:
		for _, one := range all {
			fmt.Fprintln(s.out, one.GetName())
		}
		return nil
	}
	return profileTable(s.out, all)
}

func profileTable(w io.Writer, all []*raygatev2.Profile) error {
	tabs := printers.GetNewTabWriter(w)
	fmt.Fprintln(tabs, "NAME\tNAMESPACE\tDESCRIPTION")
	for _, one := range all {
		text := one.GetDescription()
		if mistake := one.GetMistake(); mistake != "" {
			text = "cannot be used: " + mistake
		}
		fmt.Fprintln(tabs, strings.Join([]string{one.GetName(), one.GetNamespace(), onOneLine(text)}, "\t"))
	}
	return tabs.Flush()
}

// setDefaults sets the image of the cluster. With a profile, it drops the defaults of flags instead: the profile has its own.
func (c *submitCommand) setDefaults(flags *pflag.FlagSet) {
	if c.Profile == "" {
		if c.Image == "" {
			c.Image = "rayproject/ray:" + c.RayVersion
		}
		return
	}
	for flag, value := range map[string]*string{
		"ray-version": &c.RayVersion, "head-cpu": &c.Head.CPU, "head-memory": &c.Head.Memory, "head-gpu": &c.Head.GPU,
		"worker-cpu": &c.Worker.CPU, "worker-memory": &c.Worker.Memory, "worker-gpu": &c.Worker.GPU, "worker-tpu": &c.Worker.TPU,
	} {
		if !flags.Changed(flag) {
			*value = ""
		}
	}
}
