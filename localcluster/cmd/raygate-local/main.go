package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"
)

// errReported ends the program with code 1; the error has been printed already.
var errReported = errors.New("reported already")

func main() {
	// A second signal does not interrupt the clean stop, whose duration is limited.
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer cancel()
	if err := command().ExecuteContext(ctx); err != nil {
		if !errors.Is(err, errReported) {
			fmt.Fprintln(os.Stderr, "raygate-local:", err)
		}
		os.Exit(1)
	}
}

func command() *cobra.Command {
	root := &cobra.Command{
		Use:           "raygate-local",
		Short:         "A Kubernetes control plane with simulated nodes, and raygate in it, on this machine",
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	root.CompletionOptions.DisableDefaultCmd = true
	root.AddCommand(controlPlaneCommand(), runCommand(), upCommand(), downCommand(), resetCommand(), statusCommand())
	return root
}
