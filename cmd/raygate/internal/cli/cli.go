// Package cli has the commands of raygate: flags, output and exit codes.
package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
	"k8s.io/component-base/version"

	"github.com/raygate/raygate/cmd/raygate/internal/verb"
)

// Exit codes; package verb has those of calls.
const (
	exitOK         = 0
	exitFindings   = 1
	exitUnreadable = verb.ExitUsage
)

// errFindings means that the input has errors. The report has been printed.
var errFindings = errors.New("errors were found")

// errUnreadable means that part of the input is not valid YAML or JSON. The report has been printed.
var errUnreadable = errors.New("input could not be read")

// Run runs the command line and returns the exit code: 0 for success, 1 for errors in objects and failed calls, 2 for unreadable input and
// wrong usage. The help of a command describes its other codes.
func Run(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	// The first Ctrl-C ends a command in good order, the second one ends it at once.
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop)
	root := newRoot(os.Args[0])
	root.SetArgs(argsOf(os.Args[0], args))
	root.SetIn(stdin)
	root.SetOut(stdout)
	root.SetErr(stderr)
	err := root.ExecuteContext(ctx)
	failed, ok := errors.AsType[*verb.Failed](err)
	switch {
	case err == nil:
		return exitOK
	case ok:
		return failed.Code
	case errors.Is(err, errFindings):
		return exitFindings
	case errors.Is(err, errUnreadable):
		return exitUnreadable
	default:
		fmt.Fprintf(stderr, "Error: %v\n", err)
		return exitUnreadable
	}
}

const (
	// pluginName is the name under which kubectl finds the program as a plugin.
	pluginName = "kubectl-raygate"
	// completionName is the name under which kubectl finds what completes the arguments of the plugin.
	completionName = "kubectl_complete-raygate"
)

// argsOf returns the arguments of a process, which was started under the path program: kubectl gives those to complete.
func argsOf(program string, args []string) []string {
	if strings.HasPrefix(filepath.Base(program), completionName) {
		return append([]string{cobra.ShellCompRequestCmd}, args...)
	}
	return args
}

// newRoot returns all commands. program is the path under which the process was started.
func newRoot(program string) *cobra.Command {
	root := &cobra.Command{
		Use:   "raygate",
		Short: "Ray clusters, jobs and services on Kubernetes, from the command line",
		Long: `raygate works with RayCluster, RayJob, RayService and RayCronJob objects through the
gateway, with your rights in Kubernetes. It also checks these objects in files, without a
gateway.

--server or $RAYGATE_SERVER sets the address of the gateway. A local cluster has a settings
file for it (. .local/env). --token, $RAYGATE_TOKEN or a kubeconfig identifies you.

Exit code: 0 done, 1 refused or failed, 2 wrong use or unreadable input, 3 timeout,
4 the wanted state cannot be reached any more, 130 interrupted.`,
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	if strings.HasPrefix(filepath.Base(program), pluginName) {
		root.Annotations = map[string]string{cobra.CommandDisplayNameAnnotation: "kubectl raygate"}
	}
	root.AddGroup(&cobra.Group{ID: "gateway", Title: "Commands that use a gateway:"}, &cobra.Group{ID: "local", Title: "Commands without a gateway:"})
	for _, cmd := range verb.All(os.Getenv) {
		cmd.GroupID = "gateway"
		root.AddCommand(cmd)
	}
	for _, cmd := range []*cobra.Command{newValidate(), newExplain(), newMigrate(), newVersion()} {
		cmd.GroupID = "local"
		root.AddCommand(cmd)
	}
	root.SetCompletionCommandGroupID("local")
	root.SetHelpCommandGroupID("local")
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
