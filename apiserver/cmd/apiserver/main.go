// Command apiserver is the gateway: gRPC and REST over the ray.io custom resources.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"
	logsapi "k8s.io/component-base/logs/api/v1"
	"k8s.io/component-base/version"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	defer stop()
	context.AfterFunc(ctx, stop) // a second signal ends the process at once
	cmd := newCommand(run)
	cmd.SetArgs(withTwoDashes(os.Args[1:]))
	if err := cmd.ExecuteContext(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "raygate-apiserver:", err)
		os.Exit(1)
	}
}

// newCommand returns the command line, which calls run once the options are complete.
func newCommand(run func(context.Context, *Options) error) *cobra.Command {
	o := NewOptions()
	cmd := &cobra.Command{
		Use:           "raygate-apiserver",
		Short:         "gRPC and REST gateway for Ray on Kubernetes",
		Long:          "raygate-apiserver serves RayClusters by gRPC (raygate.v2) and REST (/apis/v2).\n\nReads come from a cache that one watch keeps up to date; writes go to the Kubernetes API server with the caller's own\ncredentials. See /docs on the REST address.",
		Example:       "  # on a laptop\n  raygate-apiserver --authentication=none\n\n  # in a cluster\n  raygate-apiserver --tls-cert-file=/tls/tls.crt --tls-private-key-file=/tls/tls.key --drain-delay=5s",
		Version:       version.Get().GitVersion,
		Args:          cobra.NoArgs,
		SilenceUsage:  true,
		SilenceErrors: true,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := logsapi.ValidateAndApply(o.Logging, nil); err != nil {
				return err
			}
			if err := o.Complete(cmd.Flags()); err != nil {
				return err
			}
			if err := o.Validate(); err != nil {
				return err
			}
			return run(cmd.Context(), o)
		},
	}
	o.AddFlags(cmd.Flags())
	addKubeRayFlags(cmd.Flags())
	return cmd
}
