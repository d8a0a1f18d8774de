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
		Short: "Say what raygate would find on a cluster with KubeRay",
		Long: `Look at a Kubernetes cluster on which KubeRay runs, with the rights of your kubeconfig,
and say what raygate would find there. Nothing is written: it gets and lists objects, and
asks access reviews, which are not stored.

It reports the versions of the CRDs and who owns them; every RayCluster, RayJob, RayService
and RayCronJob that today's rules warn about or refuse, with the field, the rule and the
remedy; the flags, the environment and the configuration file of the running operator and
what they are called here; rights that the operator would lack; and what KubeRay would
not know if you went back.

An error has to be mended before: raygate would not start, or would not act on the object.
A warning works, but perhaps not as meant.

Exit code: 0 no errors, 1 errors, 2 wrong use or a cluster that cannot be read.`,
		Example: `  # The cluster of the current context
  raygate migrate check

  # For a program, about two namespaces
  raygate migrate check -o json --namespaces research,production

  # Where the operator is not where KubeRay's chart puts it
  raygate migrate check --operator ray/operator --service-account ray/operator`,
		Args: cobra.NoArgs,
		RunE: o.run,
	}
	f := cmd.Flags()
	f.StringVar(&o.kubeconfig, "kubeconfig", "", "kubeconfig of the cluster (default as for kubectl)")
	f.StringVar(&o.context, "context", "", "context of the kubeconfig (default the current one)")
	f.StringVarP(&o.output, "output", "o", "text", "form of the report: text or json")
	f.StringVar(&o.Operator, "operator", "", "Deployment of the running operator, as NAMESPACE/NAME (default what looks like KubeRay's)")
	f.StringVar(&o.ServiceAccount, "service-account", "", "whose rights to check, as NAMESPACE/NAME (default that of raygate, or else of the running operator)")
	f.StringSliceVar(&o.Namespaces, "namespaces", nil, "namespaces whose objects to look at (default all)")
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
