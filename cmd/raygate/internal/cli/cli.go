// Package cli holds the commands of raygate: flags, output and exit codes.
package cli

import (
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"
	"k8s.io/component-base/version"
)

// Exit codes.
const (
	exitOK         = 0
	exitFindings   = 1
	exitUnreadable = 2
)

// errFindings says that the input was read and found wrong. The report has been printed.
var errFindings = errors.New("errors were found")

// errUnreadable says that part of the input is no YAML or JSON. The report has been printed.
var errUnreadable = errors.New("input could not be read")

// Run runs the command line and returns the exit code: 0 for no errors, 1 for errors in the objects, 2 for input that
// cannot be read and for wrong use.
func Run(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	root := newRoot()
	root.SetArgs(args)
	root.SetIn(stdin)
	root.SetOut(stdout)
	root.SetErr(stderr)
	switch err := root.Execute(); {
	case err == nil:
		return exitOK
	case errors.Is(err, errFindings):
		return exitFindings
	case errors.Is(err, errUnreadable):
		return exitUnreadable
	default:
		fmt.Fprintf(stderr, "Error: %v\n", err)
		return exitUnreadable
	}
}

func newRoot() *cobra.Command {
	root := &cobra.Command{
		Use:   "raygate",
		Short: "Check Ray objects for Kubernetes before applying them",
		Long: `raygate checks RayCluster, RayJob, RayService and RayCronJob objects on your machine,
without a cluster, with the rules that the operator, the webhook and the gateway of
raygate apply.`,
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	root.AddCommand(newValidate(), newVersion())
	return root
}

func newVersion() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version of raygate",
		Args:  cobra.NoArgs,
		Run: func(cmd *cobra.Command, _ []string) {
			fmt.Fprintf(cmd.OutOrStdout(), "raygate %s\n", version.Get().GitVersion)
		},
	}
}
