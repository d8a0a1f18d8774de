package cli

import (
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/raygate/raygate/cmd/raygate/internal/explain"
	"github.com/raygate/raygate/cmd/raygate/internal/manifestfile"
	"github.com/raygate/raygate/cmd/raygate/internal/output"
)

type explainOptions struct {
	files    []string
	output   string
	registry registryFlag
}

func newExplain() *cobra.Command {
	o := &explainOptions{}
	cmd := &cobra.Command{
		Use:   "explain -f FILE...",
		Short: "Show the effect of device admission on Pods that request shared accelerators",
		Long: `Show the effect of device admission on the Pods in YAML or JSON files, without a cluster.
The report contains additions with their reasons, the devices, their count in Ray, their
use of quotas, and the reason of a refusal.

Files can contain Pods, and Ray objects, whose templates count as Pods. Each ResourceQuota
in the files is compared with one Pod, as if nothing else were in use. Scopes of quotas
are ignored. ResourceClaims, ResourceClaimTemplates and DeviceClasses in the files show
the devices of claims. The report also lists Pods that device admission skips because of the label
devices.ray.io/webhook on the Pod or its Namespace.

Exit code: 0 every Pod passes, 1 a Pod is refused or does not fit a quota, 2 wrong use or
unreadable input.`,
		Example: `  # A Pod, by the registry that comes with the operator
  raygate explain -f pod.yaml

  # All groups of a cluster and a quota, by a registry of one's own
  raygate explain -f cluster.yaml -f quota.yaml --device-registry registry.yaml

  # For a program
  raygate explain -f cluster.yaml -o json`,
		RunE: func(cmd *cobra.Command, args []string) error {
			o.files = append(o.files, args...)
			return o.run(cmd.InOrStdin(), cmd.OutOrStdout())
		},
	}
	f := cmd.Flags()
	f.StringSliceVarP(&o.files, "filename", "f", nil, "files and directories; - is standard input")
	f.StringVarP(&o.output, "output", "o", "text", "output format: text or json")
	o.registry.add(f)
	return cmd
}

func (o *explainOptions) run(stdin io.Reader, stdout io.Writer) error {
	program, err := o.registry.read()
	if err != nil {
		return err
	}
	if program == nil {
		return fmt.Errorf("--%s: name a registry; without one there is nothing to explain", registryName)
	}
	if len(o.files) == 0 {
		return errors.New("name files with -f, or - for standard input")
	}
	if o.output != "text" && o.output != "json" {
		return fmt.Errorf("unknown output %q: use text or json", o.output)
	}
	sources, err := manifestfile.Read(o.files, stdin)
	if err != nil {
		return err
	}
	report := explain.Of(program, sources)
	if err := o.print(stdout, report); err != nil {
		return fmt.Errorf("writing the report: %w", err)
	}
	switch {
	case report.Unreadable:
		return errUnreadable
	case report.Failed():
		return errFindings
	}
	return nil
}

func (o *explainOptions) print(w io.Writer, report *explain.Report) error {
	if o.output == "json" {
		return output.Report(w, report)
	}
	_, err := io.WriteString(w, report.Text())
	return err
}
