package cli

import (
	"fmt"

	"github.com/spf13/cobra"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/component-base/version"

	"github.com/raygate/raygate/cmd/raygate/internal/migrate"
)

type migrateOptions struct {
	migrate.Options
	kubeconfig, context string
	output              string
}

func newMigrate() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "migrate",
		Short: "Help with coming from KubeRay",
		Long: `Help with coming from KubeRay, and with going back. docs/moving-from-kuberay.md has the
steps.`,
		Args: cobra.NoArgs,
	}
	cmd.AddCommand(newMigrateCheck())
	return cmd
}

func newMigrateCheck() *cobra.Command {
	o := &migrateOptions{}
	cmd := &cobra.Command{
		Use:   "check",
		Short: "Check a cluster with KubeRay for problems with raygate",
		Long: `Check a Kubernetes cluster with KubeRay, with the rights of your kubeconfig, and report
problems with raygate. Nothing is written: the command reads objects, and sends access
reviews, which are not stored.

The report contains:

* the versions and owners of the CRDs,
* Ray objects that the rules warn about or refuse, with field, rule and remedy,
* flags, environment and configuration file of the operator, with their names in raygate,
* rights that the operator would lack,
* fields that KubeRay does not know, for the way back.

Correct an error first: raygate would not start, or would ignore the object. An object
with a warning works, but perhaps in another way than you expect.

Exit code: 0 no errors, 1 errors, 2 wrong use or a cluster that cannot be read.`,
		Example: `  # The cluster of the current context
  raygate migrate check

  # For a program, about two namespaces
  raygate migrate check -o json --namespaces research,production

  # For an operator with another name than in KubeRay's chart
  raygate migrate check --operator ray/operator --service-account ray/operator`,
		Args: cobra.NoArgs,
		RunE: o.run,
	}
	f := cmd.Flags()
	f.StringVar(&o.kubeconfig, "kubeconfig", "", "kubeconfig of the cluster (default as for kubectl)")
	f.StringVar(&o.context, "context", "", "context of the kubeconfig (default the current one)")
	f.StringVarP(&o.output, "output", "o", "text", "output format: text or json")
	f.StringVar(&o.Operator, "operator", "", "Deployment of the running operator, as NAMESPACE/NAME (default a Deployment that looks like KubeRay's)")
	f.StringVar(&o.ServiceAccount, "service-account", "", "service account whose rights to check, as NAMESPACE/NAME (default that of raygate, otherwise of the running operator)")
	f.StringSliceVar(&o.Namespaces, "namespaces", nil, "namespaces to check (default all)")
	return cmd
}

func (o *migrateOptions) run(cmd *cobra.Command, _ []string) error {
	if o.output != "text" && o.output != "json" {
		return fmt.Errorf("unknown output %q: use text or json", o.output)
	}
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = o.kubeconfig
	config, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, &clientcmd.ConfigOverrides{CurrentContext: o.context}).ClientConfig()
	if err != nil {
		return fmt.Errorf("reading kubeconfig: %w", err)
	}
	config.QPS, config.Burst = 50, 100 // it is in no hurry, and the cluster is in use
	config.UserAgent = "raygate/" + version.Get().GitVersion
	checker, err := migrate.New(config, o.Options)
	if err != nil {
		return err
	}
	report, err := checker.Run(cmd.Context(), func(step string) { fmt.Fprintln(cmd.ErrOrStderr(), step) })
	if err != nil {
		return fmt.Errorf("reading the cluster: %w", err)
	}
	write := report.WriteText
	if o.output == "json" {
		write = report.WriteJSON
	}
	if err := write(cmd.OutOrStdout()); err != nil {
		return fmt.Errorf("writing the report: %w", err)
	}
	if report.Errors > 0 {
		return errFindings
	}
	return nil
}
